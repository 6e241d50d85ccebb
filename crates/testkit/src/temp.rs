//! Private temporary folders: for sockets, keys and whatever else a test puts on disk.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// Tries for a free name. The names are random, so that a second try is rare already.
const ATTEMPTS: usize = 16;

/// A new folder, readable by this user only, removed with all its contents when the value is
/// dropped.
///
/// The path is kept short (`<temp>/<prefix>-<pid>-<8 hex digits>`), because a Unix domain socket's
/// path may have 107 bytes on Linux.
#[derive(Debug)]
pub struct TempDir {
    path: PathBuf,
}

impl TempDir {
    /// Makes a folder whose name begins with `prefix` in [`env::temp_dir`].
    ///
    /// # Errors
    ///
    /// When the folder cannot be made, with its path in the message.
    pub fn new(prefix: &str) -> io::Result<Self> {
        let parent = env::temp_dir();
        let mut last = io::ErrorKind::AlreadyExists.into();
        for _ in 0..ATTEMPTS {
            let path = parent.join(format!("{prefix}-{}-{:08x}", process::id(), random()));
            match make_private(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(named(&path, &error)),
            }
        }
        Err(named(&parent.join(prefix), &last))
    }

    /// Where the folder is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of `name` inside the folder; nothing is created.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }
}

impl AsRef<Path> for TempDir {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // A folder that cannot be removed is the system's to clean: a panic here would hide the
        // test's own.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Randomness without a dependency: the standard library seeds its hash maps with it.
fn random() -> u32 {
    (RandomState::new().build_hasher().finish() >> 32) as u32
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("make temporary folder {}: {error}", path.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_removed_with_its_contents() {
        let dir = TempDir::new("arknet-temp").unwrap();
        let path = dir.path().to_owned();
        fs::create_dir(dir.join("inner")).unwrap();
        fs::write(dir.join("inner/file"), b"contents").unwrap();
        drop(dir);
        assert!(!path.exists());
    }

    #[test]
    fn two_folders_never_share_a_path() {
        let first = TempDir::new("arknet-temp").unwrap();
        let second = TempDir::new("arknet-temp").unwrap();
        assert_ne!(first.path(), second.path());
    }

    #[cfg(unix)]
    #[test]
    fn is_private_to_this_user() {
        use std::os::unix::fs::PermissionsExt;
        let dir = TempDir::new("arknet-temp").unwrap();
        let mode = fs::metadata(dir.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn a_failure_names_the_path() {
        let error = TempDir::new("no-such-folder/arknet").unwrap_err();
        assert!(
            error.to_string().contains("no-such-folder/arknet"),
            "{error}"
        );
    }
}
