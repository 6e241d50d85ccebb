//! What can be sent.

use bytes::Bytes;

use super::message::Message;

/// The payload of a message: bytes that are borrowed for the call, and copied, or owned ones, which large messages
/// should be so that they are not copied.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Payload<'a> {
    /// Borrowed for the call.
    Borrowed(&'a [u8]),
    /// Owned, or shared with others.
    Owned(Bytes),
    /// A message that was received.
    Received(Message),
}

impl Payload<'_> {
    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
            Self::Received(message) => message,
        }
    }

    /// The bytes, if they are owned so that they can be shared.
    #[inline]
    pub(super) fn shared(&self) -> Option<&Bytes> {
        match self {
            Self::Borrowed(_) => None,
            Self::Owned(bytes) => Some(bytes),
            Self::Received(message) => message.shared(),
        }
    }

    /// How many bytes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are none. An empty message is a message where the framing has such.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes as an owned value; borrowed ones are copied.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
            Self::Owned(bytes) => bytes,
            Self::Received(message) => message.into_bytes(),
        }
    }
}

macro_rules! borrowed {
    ($($type:ty => $bytes:expr;)*) => {$(
        impl<'a> From<&'a $type> for Payload<'a> {
            #[inline]
            fn from(value: &'a $type) -> Self {
                let bytes: fn(&$type) -> &[u8] = $bytes;
                Self::Borrowed(bytes(value))
            }
        }
    )*};
}

borrowed! {
    [u8] => |value| value;
    str => |value| value.as_bytes();
    String => |value| value.as_bytes();
    Vec<u8> => |value| value;
    Bytes => |value| value;
    Message => |value| value;
}

impl<'a, const N: usize> From<&'a [u8; N]> for Payload<'a> {
    #[inline]
    fn from(value: &'a [u8; N]) -> Self {
        Self::Borrowed(value)
    }
}

impl From<Message> for Payload<'_> {
    #[inline]
    fn from(value: Message) -> Self {
        Self::Received(value)
    }
}

impl From<Bytes> for Payload<'_> {
    #[inline]
    fn from(value: Bytes) -> Self {
        Self::Owned(value)
    }
}

impl From<Vec<u8>> for Payload<'_> {
    fn from(value: Vec<u8>) -> Self {
        Self::Owned(value.into())
    }
}

impl From<String> for Payload<'_> {
    fn from(value: String) -> Self {
        Self::Owned(value.into())
    }
}
