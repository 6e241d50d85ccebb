//! A certificate with its private key: what a server, or a client under mTLS, shows.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rcgen::{Certificate, KeyPair};

use super::{Error, Usage, Validity, leaf};

/// The environment variable that carries the passphrase to `openssl`: a command line can be read
/// by every user of the machine.
const PASSPHRASE_VARIABLE: &str = "ARKNET_TEST_PASSPHRASE";

/// A certificate and its key, in PEM and DER.
pub struct Identity {
    subject: String,
    certificate: Certificate,
    key: KeyPair,
}

/// Where [`Identity::write_to`] put the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The certificate, PEM.
    pub cert: PathBuf,
    /// The private key, PKCS#8 PEM, readable by this user only.
    pub key: PathBuf,
}

impl Identity {
    /// Makes a certificate for `names` that no authority vouches for.
    ///
    /// # Errors
    ///
    /// As [`Authority::issue`](super::Authority::issue).
    pub fn self_signed(names: &[&str], usage: Usage) -> Result<Self, Error> {
        Self::make(names, |key| {
            leaf(names, usage, Validity::Now)?.self_signed(key)
        })
    }

    /// Makes a key and lets `sign` make its certificate.
    pub(super) fn make(
        names: &[&str],
        sign: impl FnOnce(&KeyPair) -> Result<Certificate, rcgen::Error>,
    ) -> Result<Self, Error> {
        let subject = names.join(", ");
        let made = KeyPair::generate().and_then(|key| Ok((sign(&key)?, key)));
        match made {
            Ok((certificate, key)) => Ok(Self {
                subject,
                certificate,
                key,
            }),
            Err(source) => Err(Error::Generate { subject, source }),
        }
    }

    /// The certificate in PEM.
    #[must_use]
    pub fn cert_pem(&self) -> String {
        self.certificate.pem()
    }

    /// The certificate in DER.
    #[must_use]
    pub fn cert_der(&self) -> Vec<u8> {
        self.certificate.der().to_vec()
    }

    /// The private key in PKCS#8 PEM.
    #[must_use]
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// The private key in PKCS#8 DER.
    #[must_use]
    pub fn key_der(&self) -> Vec<u8> {
        self.key.serialize_der()
    }

    /// The private key in PKCS#8 PEM, encrypted under `passphrase` (PBES2, AES-256-CBC).
    ///
    /// Runs `openssl pkcs8`; [`ENCRYPTED_KEY_PEM`](super::ENCRYPTED_KEY_PEM) needs no program.
    ///
    /// # Errors
    ///
    /// When `openssl` is not installed or refuses, with what it said.
    pub fn encrypted_key_pem(&self, passphrase: &str) -> Result<String, Error> {
        encrypt(&self.key_pem(), passphrase).map_err(|error| Error::Openssl(error.to_string()))
    }

    /// Writes `<stem>.pem` and `<stem>-key.pem` into `dir`, for peers that read files.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn write_to(&self, dir: impl AsRef<Path>, stem: &str) -> Result<Files, Error> {
        let cert = dir.as_ref().join(format!("{stem}.pem"));
        let key = dir.as_ref().join(format!("{stem}-key.pem"));
        fs::write(&cert, self.cert_pem()).map_err(|source| Error::Write {
            path: cert.clone(),
            source,
        })?;
        write_private(&key, &self.key_pem()).map_err(|source| Error::Write {
            path: key.clone(),
            source,
        })?;
        Ok(Files { cert, key })
    }
}

/// Names the subject; never shows the key.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("subject", &self.subject)
            .finish_non_exhaustive()
    }
}

fn write_private(path: &Path, contents: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(contents.as_bytes())
}

fn encrypt(key_pem: &str, passphrase: &str) -> io::Result<String> {
    let mut openssl = Command::new("openssl")
        .args(["pkcs8", "-topk8", "-v2", "aes256", "-passout"])
        .arg(format!("env:{PASSPHRASE_VARIABLE}"))
        .env(PASSPHRASE_VARIABLE, passphrase)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // A key is smaller than a pipe's buffer, so this cannot wait for openssl to write first. A
    // failed write means that openssl ended, and its own message says more.
    if let Some(mut stdin) = openssl.stdin.take() {
        let _ = stdin.write_all(key_pem.as_bytes());
    }
    let output = openssl.wait_with_output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(format!("{}: {said}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(io::Error::other)
}
