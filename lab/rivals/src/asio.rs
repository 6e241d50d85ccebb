//! The Boost.Asio program: found, or compiled once, or missing for a reason.
//!
//! The sources travel inside this binary and the result is kept beside it under the hash of
//! everything it was made from, so a second start costs nothing and a stale program is impossible.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::failure::Failure;

/// The oldest Boost whose Asio the sources are written for: Debian's 1.81.
const OLDEST: u32 = 108_100;

const FLAGS: [&str; 4] = ["-std=c++20", "-O3", "-DNDEBUG", "-pthread"];

const SOURCES: [(&str, &str); 6] = [
    ("traffic.hpp", include_str!("../cpp/traffic.hpp")),
    ("echo.hpp", include_str!("../cpp/echo.hpp")),
    ("drive.cpp", include_str!("../cpp/drive.cpp")),
    ("callback.cpp", include_str!("../cpp/callback.cpp")),
    ("coroutine.cpp", include_str!("../cpp/coroutine.cpp")),
    ("main.cpp", include_str!("../cpp/main.cpp")),
];

/// The program, or why this machine cannot have it.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    /// Compiled and there.
    Ready(PathBuf),
    /// A compiler or the headers are missing.
    Missing(String),
}

/// Looks for the program and compiles it when it is not there yet.
///
/// # Errors
///
/// When the compiler and the headers are there and the sources still do not compile.
pub(crate) fn program() -> Result<Program, Failure> {
    let Some(compiler) = answer(Command::new("g++").arg("--version")) else {
        return Ok(Program::Missing("g++ is missing: install g++".to_owned()));
    };
    let boost = match boost_version() {
        Some(version) if version >= OLDEST => version,
        Some(version) => {
            return Ok(Program::Missing(format!(
                "Boost {version} is older than {OLDEST}"
            )));
        }
        None => {
            let why = "the Boost headers are missing: install libboost1.81-dev";
            return Ok(Program::Missing(why.to_owned()));
        }
    };
    let folder = folder(&compiler, boost).map_err(Failure::io("placing the Boost.Asio echo"))?;
    let program = folder.join("asio-echo");
    if !program.exists() {
        compile(&folder, &program)?;
    }
    Ok(Program::Ready(program))
}

/// `BOOST_VERSION` of the headers that the compiler finds.
fn boost_version() -> Option<u32> {
    let mut preprocessor = Command::new("g++")
        .args(["-E", "-P", "-x", "c++", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let source = b"#include <boost/version.hpp>\nBOOST_VERSION\n";
    let written = preprocessor.stdin.take()?.write_all(source);
    let output = preprocessor.wait_with_output().ok()?;
    written.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().last()?.parse().ok()
}

fn answer(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A folder beside this binary, named after all that the program is made from.
fn folder(compiler: &str, boost: u32) -> io::Result<PathBuf> {
    let mut hash = blake3::Hasher::new();
    hash.update(compiler.as_bytes())
        .update(&boost.to_le_bytes());
    for part in FLAGS
        .iter()
        .chain(SOURCES.iter().flat_map(|(name, text)| [name, text]))
    {
        hash.update(&(part.len() as u64).to_le_bytes())
            .update(part.as_bytes());
    }
    let name = hash.finalize().to_hex();
    let binary = std::env::current_exe()?;
    let beside = binary.parent().unwrap_or(Path::new("."));
    Ok(beside.join("arknet-rivals-cpp").join(&name.as_str()[..16]))
}

/// Compiles into a name of this process's own and renames: an interrupted compiler leaves nothing
/// that looks finished, and two processes do not meet.
fn compile(folder: &Path, program: &Path) -> Result<(), Failure> {
    let io = || Failure::io("compiling the Boost.Asio echo");
    fs::create_dir_all(folder).map_err(io())?;
    for (name, text) in SOURCES {
        fs::write(folder.join(name), text).map_err(io())?;
    }
    let units = SOURCES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| name.ends_with(".cpp"));
    let unfinished = format!("asio-echo.{}", std::process::id());
    let Output { status, stderr, .. } = Command::new("g++")
        .current_dir(folder)
        .args(FLAGS)
        .args(units)
        .args(["-o", &unfinished])
        .output()
        .map_err(io())?;
    if !status.success() {
        return Err(Failure::Compile(
            String::from_utf8_lossy(&stderr).into_owned(),
        ));
    }
    fs::rename(folder.join(unfinished), program).map_err(io())
}
