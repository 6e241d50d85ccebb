//! TLS for every stream endpoint: configuration, identities, errors, and the record pump.
//!
//! rustls does the handshake, with aws-lc-rs named explicitly; its process-wide default
//! provider is never read. After the handshake arknet seals and opens the records itself, in
//! the connection's own buffers, because that is where the time of a small message goes (see
//! `docs/why/tls-record-pump.md`). Nothing here touches a socket.
//!
//! What holds by default:
//!
//! * TLS 1.2 and 1.3, nothing older; 0-RTT data is neither sent nor accepted.
//! * A client verifies the chain and the name of its server, against the roots of the
//!   system or the authorities it was given. An IP address is checked against the IP names
//!   of the certificate, and is not sent as a server name.
//! * Sessions are resumed: the client remembers tickets, the server seals them under keys
//!   that rotate by themselves and keeps nothing per session.
//! * A stream that ends without `close_notify` was cut: [`Error::Truncated`].
//!
//! ```no_run
//! use arknet::tls::{Authorities, ClientConfig, Identity, ServerConfig};
//!
//! # fn main() -> Result<(), arknet::tls::Error> {
//! let identity = Identity::from_pem_files("server.pem", "server.key")?;
//! let server = ServerConfig::builder().identity(identity).alpn(["chat/1"]).build()?;
//!
//! let client = ClientConfig::builder()
//!     .roots(Authorities::from_pem_file("authority.pem")?)
//!     .alpn(["chat/1"])
//!     .build()?;
//!
//! // Later: new handshakes present the renewed certificate, open connections stay.
//! server.reload(Identity::from_pem_files("server.pem", "server.key")?);
//! # let _ = client;
//! # Ok(())
//! # }
//! ```

mod alert;
mod authorities;
mod certificate_fault;
mod client;
mod error;
mod identity;
mod info;
mod options;
mod pem;
mod provider;
mod pump;
mod server;
mod verify;

#[cfg(test)]
mod tests;

pub use alert::Alert;
pub use authorities::{Authorities, Roots};
pub use certificate_fault::CertificateFault;
pub use client::{ClientConfig, ClientConfigBuilder};
pub use error::{Error, ErrorKind};
pub use identity::Identity;
pub use info::{Info, Version};
// Not for users: the endpoints drive it, and benches measure it.
#[doc(hidden)]
pub use pump::{Pump, Received};
pub use server::{ClientAuth, ServerConfig, ServerConfigBuilder};
