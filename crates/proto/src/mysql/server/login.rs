//! Whether a client is who it says: the server's side of the plugins.

use crate::mysql::auth::{CachingSha2, FAST, FULL, Native, Plugin, Secret, WANT_KEY};

/// What the server says next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Yes.
    Yes,
    /// No.
    No,
    /// These bytes as data of the plugin, and then yes.
    SayAndYes(Vec<u8>),
    /// These bytes as data of the plugin; the client answers.
    Say(Vec<u8>),
    /// What the client sent is to be decrypted with the server's private key.
    Decrypt(Vec<u8>),
}

/// One account being proved.
#[derive(Clone, Debug)]
pub(super) struct Login {
    plugin: Plugin,
    password: Secret,
    challenge: [u8; 20],
    /// Whether `caching_sha2_password` has seen the password.
    cached: bool,
    /// Whether nobody listens.
    private: bool,
    public_key: Option<Vec<u8>>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Answer,
    /// The password as it is, or a request for the key.
    Password,
    /// The password encrypted.
    Sealed,
}

impl Login {
    pub(super) fn new(
        plugin: Plugin,
        password: Secret,
        challenge: [u8; 20],
        cached: bool,
        private: bool,
        public_key: Option<Vec<u8>>,
    ) -> Self {
        Self {
            plugin,
            password,
            challenge,
            cached,
            private,
            public_key,
            stage: Stage::Answer,
        }
    }

    pub(super) fn handle(&mut self, said: &[u8]) -> Verdict {
        let password = self.password.expose();
        match (self.plugin, self.stage) {
            (Plugin::NativePassword, _) => yes_if(Native::verify(password, &self.challenge, said)),
            (Plugin::CachingSha2Password, Stage::Answer) => self.handle_answer(said),
            (Plugin::CachingSha2Password, Stage::Password) => self.handle_password(said),
            (Plugin::CachingSha2Password, Stage::Sealed) => Verdict::Decrypt(said.to_vec()),
            _ => Verdict::No,
        }
    }

    fn handle_answer(&mut self, said: &[u8]) -> Verdict {
        if said.is_empty() {
            return yes_if(self.password.is_empty());
        }
        let is_right = CachingSha2::verify(self.password.expose(), &self.challenge, said);
        if self.cached && is_right {
            return Verdict::SayAndYes(vec![FAST]);
        }
        self.stage = Stage::Password;
        Verdict::Say(vec![FULL])
    }

    fn handle_password(&mut self, said: &[u8]) -> Verdict {
        if self.private {
            return yes_if(said.strip_suffix(&[0]) == Some(self.password.expose()));
        }
        match (&self.public_key, said) {
            (Some(key), [WANT_KEY]) => {
                self.stage = Stage::Sealed;
                Verdict::Say(key.clone())
            }
            // A client that has the key sends what it encrypted at once.
            (Some(_), sealed) => Verdict::Decrypt(sealed.to_vec()),
            (None, _) => Verdict::No,
        }
    }

    pub(super) fn handle_decrypted(&self, plain: &[u8]) -> Verdict {
        let unmasked: Vec<_> = plain
            .iter()
            .zip(self.challenge.iter().cycle())
            .map(|(byte, key)| byte ^ key)
            .collect();
        yes_if(unmasked.strip_suffix(&[0]) == Some(self.password.expose()))
    }
}

fn yes_if(is_right: bool) -> Verdict {
    if is_right { Verdict::Yes } else { Verdict::No }
}
