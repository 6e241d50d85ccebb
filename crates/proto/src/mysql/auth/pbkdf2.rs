//! PBKDF2 with HMAC-SHA-512 (RFC 8018), for one block of output.

use sha2::{Digest, Sha512};

/// Bytes of a block of SHA-512.
const BLOCK: usize = 128;

/// The first 32 bytes that PBKDF2 derives.
pub(super) fn derive(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 32] {
    let keyed = Keyed::new(password);
    let mut last = keyed.digest(&[salt, &1_u32.to_be_bytes()]);
    let mut sum = last;
    for _ in 1..rounds {
        last = keyed.digest(&[&last]);
        for (sum, byte) in sum.iter_mut().zip(last) {
            *sum ^= byte;
        }
    }
    let mut key = [0; 32];
    key.copy_from_slice(sum.split_at(32).0);
    key
}

/// HMAC-SHA-512 (RFC 2104) with its two digests begun: the key is put into them once, not in every round.
struct Keyed {
    inner: Sha512,
    outer: Sha512,
}

impl Keyed {
    fn new(key: &[u8]) -> Self {
        let mut block = [0; BLOCK];
        if key.len() > BLOCK {
            let digest: [u8; 64] = Sha512::digest(key).into();
            block.split_at_mut(64).0.copy_from_slice(&digest);
        } else {
            block.split_at_mut(key.len()).0.copy_from_slice(key);
        }
        Self {
            inner: Sha512::new_with_prefix(block.map(|byte| byte ^ 0x36)),
            outer: Sha512::new_with_prefix(block.map(|byte| byte ^ 0x5c)),
        }
    }

    fn digest(&self, parts: &[&[u8]]) -> [u8; 64] {
        let mut inner = self.inner.clone();
        for part in parts {
            inner.update(part);
        }
        self.outer
            .clone()
            .chain_update(inner.finalize())
            .finalize()
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 4231, test cases 1 and 6, the second of which has a key longer than a block.
    #[test]
    fn digests_are_those_of_the_rfc() {
        assert_eq!(
            hex(&Keyed::new(&[0x0b; 20]).digest(&[b"Hi ", b"There"])),
            "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854"
        );
        assert_eq!(
            hex(&Keyed::new(&[0xaa; 131])
                .digest(&[b"Test Using Larger Than Block-Size Key - Hash Key First"])),
            "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598"
        );
    }

    /// The vectors that are used everywhere for PBKDF2 with SHA-512.
    #[test]
    fn keys_are_those_of_others() {
        assert_eq!(
            hex(&derive(b"password", b"salt", 1)),
            "867f70cf1ade02cff3752599a3a53dc4af34c7a669815ae5d513554e1c8cf252"
        );
        assert_eq!(
            hex(&derive(b"password", b"salt", 4096)),
            "d197b1b33db0143e018b12f3d1d1479e6cdebdcc97c5c0f87f6902e072f457b5"
        );
    }
}
