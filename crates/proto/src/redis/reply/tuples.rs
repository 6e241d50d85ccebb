//! Tuples: a list of exactly so many elements, each of a type of its own.

use super::super::error::DecodeError;
use super::collections::{elements, room, vec};
use super::walk::Walk;
use super::{FromReply, Reply};

macro_rules! tuples {
    ($($len:literal: $($part:ident)+;)*) => {$(
        impl<$($part: FromReply),+> FromReply for ($($part,)+) {
            #[inline]
            fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
                let mut walk = Walk::new(elements(reply, "a list")?);
                exactly($len, walk.len())?;
                Ok(($(walk.one::<$part>()?,)+))
            }

            /// Of lists of so many, or, as RESP2 writes pairs, of a flat list in groups of so many.
            fn vec_from_reply(reply: Reply<'_>) -> Result<Vec<Self>, DecodeError> {
                let mut flat = Walk::new(match reply {
                    Reply::Map(pairs) if $len == 2 => pairs.into_elements(),
                    list => elements(list, "a list")?,
                });
                let is_map = matches!(reply, Reply::Map(_));
                if $len == 1 || (!is_map && is_list(flat.peek())) {
                    return vec(reply);
                }
                let groups = groups_of($len, flat.len())?;
                let mut list = Vec::with_capacity(room::<Self>(groups));
                while !flat.is_empty() {
                    list.push(($(flat.one::<$part>()?,)+));
                }
                Ok(list)
            }
        }
    )*};
}

tuples! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
    9: A B C D E F G H I;
    10: A B C D E F G H I J;
    11: A B C D E F G H I J K;
    12: A B C D E F G H I J K L;
}

fn exactly(expected: usize, found: usize) -> Result<(), DecodeError> {
    if expected == found {
        Ok(())
    } else {
        Err(DecodeError::Length { expected, found })
    }
}

/// How many groups of `each` there are in `found` elements.
fn groups_of(each: usize, found: usize) -> Result<usize, DecodeError> {
    let groups = found / each;
    exactly(found.next_multiple_of(each), found)?;
    Ok(groups)
}

/// Whether the first element is a list itself, and so every one is.
fn is_list(first: Option<Reply<'_>>) -> bool {
    matches!(first, Some(Reply::Array(_) | Reply::Set(_)))
}
