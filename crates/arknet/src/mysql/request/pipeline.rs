//! Several statements that leave together.

use arknet_proto::mysql::command::Prepared;

use super::{Ask, Request, Taken, Units, sealed};
use crate::mysql::Error;
use crate::mysql::incoming::{Broken, Incoming};

/// Requests that are one statement each.
///
/// Not for users: it is public since the implementations for several name it.
pub trait One: Request<Output: Send, Units: Units> {}

impl<R: Request<Units = super::Unit<R>> + super::unit::Single> One for R {}

impl<R: sealed::Sealed> sealed::Sealed for Vec<R> {}

impl<R: One> Request for Vec<R> {
    type Output = Vec<R::Output>;
    type Units = Several<R::Units>;

    fn into_units(self) -> Several<R::Units> {
        Several(self.into_iter().map(R::into_units).collect())
    }
}

/// As many of one kind as there are.
#[derive(Debug)]
pub struct Several<U>(Vec<U>);

impl<U: Units> Units for Several<U> {
    type Output = Vec<U::Output>;

    fn count(&self) -> usize {
        self.0.len()
    }

    fn ask(&self, index: usize) -> Ask<'_> {
        // There is none at an index that was not counted.
        self.0.get(index).map_or(Ask::Ping, |unit| unit.ask(0))
    }

    fn is_stateless(&self, index: usize) -> bool {
        self.0.get(index).is_none_or(|unit| unit.is_stateless(0))
    }

    fn is_settled(&self, index: usize) -> bool {
        self.0.get(index).is_none_or(|unit| unit.is_settled(0))
    }

    fn take(&mut self, index: usize, incoming: &mut Incoming<'_>) -> Result<Taken, Broken> {
        match self.0.get_mut(index) {
            Some(unit) => unit.take(0, incoming),
            None => Ok(Taken::More),
        }
    }

    fn take_prepared(&mut self, index: usize, prepared: &Prepared) {
        if let Some(unit) = self.0.get_mut(index) {
            unit.take_prepared(0, prepared);
        }
    }

    fn settle(&mut self, index: usize, result: Result<(), Error>) {
        if let Some(unit) = self.0.get_mut(index) {
            unit.settle(0, result);
        }
    }

    fn finish(self) -> Self::Output {
        self.0.into_iter().map(U::finish).collect()
    }
}

/// As many as a tuple has.
#[derive(Debug)]
pub struct Each<T>(T);

macro_rules! tuple {
    ($count:literal: $($name:ident $index:tt)*) => {
        impl<$($name: sealed::Sealed),*> sealed::Sealed for ($($name,)*) {}

        impl<$($name: One),*> Request for ($($name,)*) {
            type Output = ($($name::Output,)*);
            type Units = Each<($($name::Units,)*)>;

            fn into_units(self) -> Self::Units {
                Each(($(self.$index.into_units(),)*))
            }
        }

        impl<$($name: Units),*> Units for Each<($($name,)*)> {
            type Output = ($($name::Output,)*);

            fn count(&self) -> usize {
                $count
            }

            fn ask(&self, index: usize) -> Ask<'_> {
                match index {
                    $($index => self.0.$index.ask(0),)*
                    _ => Ask::Ping,
                }
            }

            fn is_stateless(&self, index: usize) -> bool {
                match index {
                    $($index => self.0.$index.is_stateless(0),)*
                    _ => true,
                }
            }

            fn is_settled(&self, index: usize) -> bool {
                match index {
                    $($index => self.0.$index.is_settled(0),)*
                    _ => true,
                }
            }

            fn take(&mut self, index: usize, incoming: &mut Incoming<'_>) -> Result<Taken, Broken> {
                match index {
                    $($index => self.0.$index.take(0, incoming),)*
                    _ => Ok(Taken::More),
                }
            }

            fn take_prepared(&mut self, index: usize, prepared: &Prepared) {
                match index {
                    $($index => self.0.$index.take_prepared(0, prepared),)*
                    _ => {}
                }
            }

            fn settle(&mut self, index: usize, result: Result<(), Error>) {
                match index {
                    $($index => self.0.$index.settle(0, result),)*
                    _ => {}
                }
            }

            fn finish(self) -> Self::Output {
                ($(self.0.$index.finish(),)*)
            }
        }
    };
}

tuple!(1: A 0);
tuple!(2: A 0 B 1);
tuple!(3: A 0 B 1 C 2);
tuple!(4: A 0 B 1 C 2 D 3);
tuple!(5: A 0 B 1 C 2 D 3 E 4);
tuple!(6: A 0 B 1 C 2 D 3 E 4 F 5);
tuple!(7: A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuple!(8: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
tuple!(9: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8);
tuple!(10: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9);
tuple!(11: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10);
tuple!(12: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11);
