//! How much of TLS a client of a database wants.

#[cfg(feature = "tls")]
use super::Address;
#[cfg(feature = "tls")]
use crate::tls;

/// How much of TLS is wanted. A client's configuration turns it on.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum TlsMode {
    /// None.
    #[default]
    Disabled,
    /// Encryption without verification: whoever stands in between can read and change everything.
    Required,
    /// The certificate must come from a trusted authority, whatever name is in it.
    VerifyCa,
    /// The certificate must come from a trusted authority and be for the server's name. It is what a URL means that asks for
    /// TLS and says no more.
    VerifyFull,
}

impl TlsMode {
    /// The mode of that name in a URL.
    #[cfg(feature = "tls")]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "disabled" => Self::Disabled,
            "required" => Self::Required,
            "verify_ca" => Self::VerifyCa,
            "verify_full" => Self::VerifyFull,
            _ => return None,
        })
    }
}

/// What is to be done about TLS.
#[cfg(feature = "tls")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Tls {
    pub(crate) mode: TlsMode,
    pub(crate) roots: tls::Roots,
    pub(crate) identity: Option<tls::Identity>,
    pub(crate) name: Option<String>,
}

#[cfg(feature = "tls")]
impl Tls {
    /// The configuration and the name to verify, if there is to be TLS; otherwise why it cannot be.
    pub(crate) fn client(
        &self,
        address: &Address,
    ) -> Result<Option<(tls::ClientConfig, String)>, String> {
        let builder = tls::ClientConfig::builder().roots(self.roots.clone());
        let builder = match self.mode {
            TlsMode::Disabled => return Ok(None),
            TlsMode::Required => builder.dangerous_accept_any_certificate(),
            TlsMode::VerifyCa => builder.accept_any_name(),
            TlsMode::VerifyFull => builder,
        };
        let builder = match &self.identity {
            Some(identity) => builder.identity(identity.clone()),
            None => builder,
        };
        let config = builder.build().map_err(|error| error.to_string())?;
        let host = self.name.clone().or_else(|| address.host());
        match (host, self.mode) {
            (Some(host), _) => Ok(Some((config, host))),
            (None, TlsMode::VerifyFull) => Err(
                "TLS over a Unix domain socket needs the name to verify: tls_server_name"
                    .to_owned(),
            ),
            // It is sent and not looked at.
            (None, _) => Ok(Some((config, "localhost".to_owned()))),
        }
    }
}
