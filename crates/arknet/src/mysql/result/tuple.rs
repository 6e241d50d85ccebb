//! One result after the other, each of a type of its own.

use std::sync::Arc;

use arknet_proto::mysql::row::{DecodeError, Row};
use arknet_proto::mysql::{Columns, OkPacket};

use super::{Collect, FromResult};
use crate::mysql::Error;

/// Gives each result to one of its parts. Those behind the last part are forgotten.
#[derive(Debug, Default)]
pub struct Parts<T> {
    parts: T,
    ended: usize,
}

macro_rules! tuple {
    ($count:literal: $($name:ident $index:tt)*) => {
        impl<$($name: FromResult),*> FromResult for ($($name,)*) {
            type Collector = Parts<($($name::Collector,)*)>;
        }

        impl<$($name: Collect),*> Collect for Parts<($($name,)*)> {
            type Output = ($($name::Output,)*);
            const KEEPS: bool = $($name::KEEPS)||*;

            fn columns(&mut self, columns: &Arc<Columns>) -> Result<(), DecodeError> {
                match self.ended {
                    $($index => self.parts.$index.columns(columns),)*
                    _ => Ok(()),
                }
            }

            #[inline]
            fn row(&mut self, row: Row<'_>) -> Result<(), DecodeError> {
                match self.ended {
                    $($index => self.parts.$index.row(row),)*
                    _ => Ok(()),
                }
            }

            fn end(&mut self, ok: &OkPacket<'_>) {
                match self.ended {
                    $($index => self.parts.$index.end(ok),)*
                    _ => {}
                }
                self.ended = self.ended.saturating_add(1);
            }

            fn finish(self) -> Result<Self::Output, Error> {
                if self.ended < $count {
                    return Err(Error::Results { expected: $count, found: self.ended });
                }
                Ok(($(self.parts.$index.finish()?,)*))
            }
        }
    };
}

tuple!(2: A 0 B 1);
tuple!(3: A 0 B 1 C 2);
tuple!(4: A 0 B 1 C 2 D 3);
tuple!(5: A 0 B 1 C 2 D 3 E 4);
tuple!(6: A 0 B 1 C 2 D 3 E 4 F 5);
tuple!(7: A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuple!(8: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
