//! The server's side of the protocol: requests are read, replies are written.
//!
//! It serves those who test against a Redis that they control in every byte. A [`RequestDecoder`] finds
//! the next request in what was received, however it arrives, within [`RequestLimits`]; a
//! [`ReplyWriter`] writes each kind of reply as RESP2 or RESP3 has it.
//!
//! ```
//! use arknet_proto::redis::server::{ReplyWriter, RequestDecoder, RequestLimits, Version};
//!
//! let mut decoder = RequestDecoder::new(RequestLimits::default());
//! let (received, mut wire) = (b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPING\r\n", Vec::new());
//!
//! let request = decoder.decode(received)?.expect("it is all there");
//! assert!(request.is("echo"));
//! ReplyWriter::new(Version::Resp3, &mut wire).bulk(request.argument(1).unwrap_or_default());
//! assert_eq!(wire, b"$2\r\nhi\r\n");
//!
//! let at = request.consumed();
//! let next = decoder.decode(&received[at..])?.expect("an inline one");
//! assert!(next.is("PING"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decoder;
mod error;
mod inline;
mod limits;
mod reply_writer;
mod request;

pub use decoder::RequestDecoder;
pub use error::RequestError;
pub use limits::RequestLimits;
pub use reply_writer::{ReplyWriter, Version};
pub use request::{Arguments, Request};
