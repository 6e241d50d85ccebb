//! Sealing records into the caller's buffer: one copy, encryption in place, no allocation.
//!
//! rustls's encrypters return each record in a vector of its own; at 16 KiB a record that is
//! a third of the time (see `docs/why/tls-record-pump.md`).

use aws_lc_rs::aead::{self, Aad, LessSafeKey, UnboundKey};
use bytes::{BufMut, BytesMut};
use rustls::crypto::cipher::{Iv, Nonce};
use rustls::{ConnectionTrafficSecrets, SupportedCipherSuite};

use super::opener::parts;
use super::record;
use crate::tls::error::Error;

/// Both protocols write 1.2 into every record after the handshake.
const LEGACY_VERSION: [u8; 2] = [3, 3];

/// All three ciphers have tags of 128 bits.
const TAG: usize = 16;

/// The part of a GCM nonce that TLS 1.2 sends along (RFC 5288 section 3).
const EXPLICIT_NONCE: usize = 8;

/// The most that sealing adds to a record of application data.
pub(super) const MAX_OVERHEAD: usize = record::HEADER + EXPLICIT_NONCE + TAG;

pub(super) struct Sealer {
    key: LessSafeKey,
    iv: Iv,
    form: Form,
    sequence: u64,
    limit: u64,
}

/// How a record is laid out.
#[derive(Clone, Copy)]
enum Form {
    /// The type moves inside, behind the text.
    Tls13,
    /// AES-GCM of TLS 1.2: half of the nonce stands before the text.
    Tls12Gcm,
    /// ChaCha20-Poly1305 of TLS 1.2 (RFC 7905): nothing is added.
    Tls12ChaCha,
}

impl Sealer {
    pub(super) fn new(
        suite: SupportedCipherSuite,
        sequence: u64,
        secrets: ConnectionTrafficSecrets,
    ) -> Result<Self, Error> {
        use ConnectionTrafficSecrets as S;
        let algorithm = match &secrets {
            S::Aes128Gcm { .. } => &aead::AES_128_GCM,
            S::Aes256Gcm { .. } => &aead::AES_256_GCM,
            _ => &aead::CHACHA20_POLY1305,
        };
        let (form, limit) = match suite {
            SupportedCipherSuite::Tls13(suite) => (Form::Tls13, suite.common.confidentiality_limit),
            SupportedCipherSuite::Tls12(suite) => match &secrets {
                S::Chacha20Poly1305 { .. } => {
                    (Form::Tls12ChaCha, suite.common.confidentiality_limit)
                }
                _ => (Form::Tls12Gcm, suite.common.confidentiality_limit),
            },
        };
        let (key, iv) = parts(secrets)?;
        let key = UnboundKey::new(algorithm, key.as_ref())
            .map_err(|_| Error::Internal("the traffic key has a wrong length".to_owned()))?;
        Ok(Self {
            key: LessSafeKey::new(key),
            iv,
            form,
            sequence,
            limit,
        })
    }

    /// Records that may still be sealed with this key.
    pub(super) fn remaining(&self) -> u64 {
        self.limit.saturating_sub(self.sequence)
    }

    /// Records that one key may seal, for messages.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    #[cfg(test)]
    pub(super) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Appends one record with `plain`, at most [`record::MAX_FRAGMENT`] bytes.
    pub(super) fn seal(
        &mut self,
        kind: u8,
        plain: &[u8],
        outgoing: &mut BytesMut,
    ) -> Result<(), Error> {
        let failed = || Error::Internal("a record could not be sealed".to_owned());
        // The nonce must never repeat: the number is spent even if sealing fails.
        let sequence = self.sequence;
        self.sequence = sequence.checked_add(1).ok_or_else(failed)?;
        let nonce = Nonce::new(&self.iv, sequence).0;
        let size =
            |added: usize| u16::try_from(plain.len().saturating_add(added)).map_err(|_| failed());

        let begin = outgoing.len();
        outgoing.reserve(plain.len().saturating_add(MAX_OVERHEAD));
        let (aad, start) = match self.form {
            Form::Tls13 => {
                let header = header(record::APPLICATION_DATA, size(1 + TAG)?);
                outgoing.put_slice(&header);
                let start = outgoing.len();
                outgoing.put_slice(plain);
                outgoing.put_u8(kind);
                (AdditionalData::tls13(header), start)
            }
            Form::Tls12Gcm => {
                let (_, explicit) = nonce.split_at(nonce.len() - EXPLICIT_NONCE);
                outgoing.put_slice(&header(kind, size(EXPLICIT_NONCE + TAG)?));
                outgoing.put_slice(explicit);
                let start = outgoing.len();
                outgoing.put_slice(plain);
                (AdditionalData::tls12(sequence, kind, size(0)?), start)
            }
            Form::Tls12ChaCha => {
                outgoing.put_slice(&header(kind, size(TAG)?));
                let start = outgoing.len();
                outgoing.put_slice(plain);
                (AdditionalData::tls12(sequence, kind, size(0)?), start)
            }
        };
        let nonce = aead::Nonce::assume_unique_for_key(nonce);
        let (_, text) = outgoing.split_at_mut(start);
        match self
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(aad), text)
        {
            Ok(tag) => {
                outgoing.put_slice(tag.as_ref());
                Ok(())
            }
            Err(_) => {
                // Whatever is there now, it must not reach the wire as text.
                outgoing.truncate(begin);
                Err(failed())
            }
        }
    }
}

fn header(kind: u8, length: u16) -> [u8; record::HEADER] {
    let [high, low] = length.to_be_bytes();
    let [major, minor] = LEGACY_VERSION;
    [kind, major, minor, high, low]
}

/// What is authenticated along with the text: in TLS 1.3 the header as sent (RFC 8446
/// section 5.2), in TLS 1.2 the sequence number and the header of the text (RFC 5246
/// section 6.2.3.3).
enum AdditionalData {
    Tls13([u8; record::HEADER]),
    Tls12([u8; 8 + record::HEADER]),
}

impl AdditionalData {
    fn tls13(header: [u8; record::HEADER]) -> Self {
        Self::Tls13(header)
    }

    fn tls12(sequence: u64, kind: u8, length: u16) -> Self {
        let [a, b, c, d, e, f, g, h] = sequence.to_be_bytes();
        let [i, j, k, l, m] = header(kind, length);
        Self::Tls12([a, b, c, d, e, f, g, h, i, j, k, l, m])
    }
}

impl AsRef<[u8]> for AdditionalData {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Tls13(header) => header,
            Self::Tls12(pseudo_header) => pseudo_header,
        }
    }
}
