//! Signatures by Ed25519 (RFC 8032) with a secret of 64 bytes, where a usual signer takes the 32 that it is made of:
//! MariaDB makes its secret from the password itself.

use curve25519_dalek::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use sha2::{Digest, Sha512};

/// A key that signs: a scalar, and the prefix that goes into the digest that takes the place of a random number.
pub(super) struct Signer {
    scalar: Scalar,
    prefix: [u8; 32],
    public: [u8; 32],
}

impl Signer {
    /// From the SHA-512 of `secret`: the seed of RFC 8032, or a password of any length.
    pub(super) fn new(secret: &[u8]) -> Self {
        let digest: [u8; 64] = Sha512::digest(secret).into();
        let (mut scalar, mut prefix) = ([0; 32], [0; 32]);
        let (low, high) = digest.split_at(32);
        scalar.copy_from_slice(low);
        prefix.copy_from_slice(high);
        let scalar = Scalar::from_bytes_mod_order(clamp_integer(scalar));
        let public = EdwardsPoint::mul_base(&scalar).compress().to_bytes();
        Self {
            scalar,
            prefix,
            public,
        }
    }

    /// The key that verifies.
    #[cfg(test)]
    pub(super) fn public(&self) -> [u8; 32] {
        self.public
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        let r = wide(&[&self.prefix, message]);
        let point = EdwardsPoint::mul_base(&r).compress().to_bytes();
        let k = wide(&[&point, &self.public, message]);
        let s = (k * self.scalar + r).to_bytes();
        let mut signature = [0; 64];
        let (low, high) = signature.split_at_mut(32);
        low.copy_from_slice(&point);
        high.copy_from_slice(&s);
        signature
    }
}

/// The SHA-512 of the parts as a number.
fn wide(parts: &[&[u8]]) -> Scalar {
    let mut digest = Sha512::new();
    for part in parts {
        digest.update(part);
    }
    Scalar::from_bytes_mod_order_wide(&digest.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    /// RFC 8032, section 7.1, tests 1 to 3.
    #[test]
    fn signatures_are_those_of_the_rfc() {
        for (secret, public, message, signature) in [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
                "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
            ),
            (
                "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
                "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
            ),
            (
                "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
                "af82",
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
            ),
        ] {
            let signer = Signer::new(&bytes(secret));
            assert_eq!(signer.public().to_vec(), bytes(public));
            assert_eq!(signer.sign(&bytes(message)).to_vec(), bytes(signature));
        }
    }
}
