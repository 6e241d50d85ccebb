//! Opening records: rustls's own decrypters, which work in place and allocate nothing.

use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter,
};
use rustls::{ConnectionTrafficSecrets, ContentType, ProtocolVersion, SupportedCipherSuite};

use crate::tls::error::Error;

pub(super) struct Opener {
    decrypter: Box<dyn MessageDecrypter>,
    sequence: u64,
}

impl Opener {
    pub(super) fn new(
        suite: SupportedCipherSuite,
        sequence: u64,
        secrets: ConnectionTrafficSecrets,
    ) -> Result<Self, Error> {
        let (key, iv) = parts(secrets)?;
        let decrypter = match suite {
            SupportedCipherSuite::Tls13(suite) => suite.aead_alg.decrypter(key, iv),
            SupportedCipherSuite::Tls12(suite) => {
                // Of a 12-byte GCM nonce only the salt is fixed; the rest is in each record
                // (RFC 5288 section 3).
                let fixed = suite.aead_alg.key_block_shape().fixed_iv_len;
                let iv = iv.as_ref().get(..fixed).unwrap_or_default();
                suite.aead_alg.decrypter(key, iv)
            }
        };
        Ok(Self {
            decrypter,
            sequence,
        })
    }

    /// Opens the payload of a record in place.
    pub(super) fn open<'a>(
        &mut self,
        kind: u8,
        payload: &'a mut [u8],
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let record = InboundOpaqueMessage::new(
            ContentType::from(kind),
            // The version that authenticates a record: 1.2 in both protocols.
            ProtocolVersion::TLSv1_2,
            payload,
        );
        let plain = self.decrypter.decrypt(record, self.sequence)?;
        self.sequence = self
            .sequence
            .checked_add(1)
            .ok_or_else(|| Error::Misbehaved("the peer used up its sequence numbers".to_owned()))?;
        Ok(plain)
    }
}

/// Key and nonce base of whichever cipher.
pub(super) fn parts(secrets: ConnectionTrafficSecrets) -> Result<(AeadKey, Iv), Error> {
    use ConnectionTrafficSecrets as S;
    match secrets {
        S::Aes128Gcm { key, iv } | S::Aes256Gcm { key, iv } | S::Chacha20Poly1305 { key, iv } => {
            Ok((key, iv))
        }
        _ => Err(Error::Internal("an unknown cipher was agreed".to_owned())),
    }
}
