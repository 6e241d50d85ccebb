//! Certificates and keys from PEM text, with errors that say what is wrong with it.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::error::Error;

/// The largest PEM file that is read. The bundle of a whole system has 0.2 MiB; anything far
/// above is a wrong path, perhaps a device without an end.
pub(super) const MAX_PEM_BYTES: u64 = 8 * 1024 * 1024;

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::ReadFile {
        path: path.to_owned(),
        source: Arc::new(source),
    };
    let mut text = Vec::new();
    let file = File::open(path).map_err(failed)?;
    let read = file
        .take(MAX_PEM_BYTES.saturating_add(1))
        .read_to_end(&mut text)
        .map_err(failed)?;
    if read as u64 > MAX_PEM_BYTES {
        return Err(Error::FileTooLarge {
            path: path.to_owned(),
        });
    }
    Ok(text)
}

/// All certificates of `text`, in its order; at least one.
pub(super) fn certificates(
    text: &[u8],
    what: &'static str,
) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates = CertificateDer::pem_slice_iter(text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| invalid(what, &error))?;
    if certificates.is_empty() {
        return Err(Error::NoCertificate { what });
    }
    Ok(certificates)
}

/// The first private key of `text`.
pub(super) fn private_key(text: &[u8]) -> Result<PrivateKeyDer<'static>, Error> {
    match PrivateKeyDer::from_pem_slice(text) {
        Ok(_) if is_encrypted(text) => Err(Error::EncryptedKey),
        Ok(key) => Ok(key),
        Err(_) if is_encrypted(text) => Err(Error::EncryptedKey),
        Err(pem::Error::NoItemsFound) => Err(Error::NoPrivateKey),
        Err(error) => Err(invalid("the private key", &error)),
    }
}

/// PKCS#8 says so in the section's name, the older OpenSSL form in a header (RFC 1421).
fn is_encrypted(text: &[u8]) -> bool {
    const MARKS: [&[u8]; 2] = [b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED"];
    MARKS
        .iter()
        .any(|mark| text.windows(mark.len()).any(|window| window == *mark))
}

/// The parser's own words may quote the text's lines, which may be a key's: only its kind is
/// passed on.
fn invalid(what: &'static str, error: &pem::Error) -> Error {
    let reason = match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no END line",
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is malformed",
        pem::Error::Base64Decode(_) => "a section is not valid base64",
        pem::Error::SectionTooLarge => "a section is too large",
        _ => "it cannot be read",
    };
    Error::InvalidPem {
        what,
        reason: reason.to_owned(),
    }
}
