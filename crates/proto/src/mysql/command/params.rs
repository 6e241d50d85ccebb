//! The parameters of a statement.

use super::{Param, ToParam};

/// Values for all question marks of a statement, in order: `()`, a tuple of up to 16, an array, a slice or a `Vec`.
pub trait Params {
    /// How many there are.
    fn count(&self) -> usize;

    /// Shows them one after the other. Called more than once, with the same result each time.
    fn for_each<V: FnMut(Param<'_>)>(&self, visit: V);
}

impl<P: Params + ?Sized> Params for &P {
    fn count(&self) -> usize {
        P::count(self)
    }

    fn for_each<V: FnMut(Param<'_>)>(&self, visit: V) {
        P::for_each(self, visit);
    }
}

impl<T: ToParam> Params for [T] {
    fn count(&self) -> usize {
        self.len()
    }

    fn for_each<V: FnMut(Param<'_>)>(&self, mut visit: V) {
        for value in self {
            visit(value.to_param());
        }
    }
}

impl<T: ToParam> Params for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }

    fn for_each<V: FnMut(Param<'_>)>(&self, visit: V) {
        self.as_slice().for_each(visit);
    }
}

impl<T: ToParam, const N: usize> Params for [T; N] {
    fn count(&self) -> usize {
        N
    }

    fn for_each<V: FnMut(Param<'_>)>(&self, visit: V) {
        self.as_slice().for_each(visit);
    }
}

impl Params for () {
    fn count(&self) -> usize {
        0
    }

    fn for_each<V: FnMut(Param<'_>)>(&self, _visit: V) {}
}

macro_rules! tuple {
    ($count:literal: $($name:ident $index:tt)*) => {
        impl<$($name: ToParam),*> Params for ($($name,)*) {
            #[inline]
            fn count(&self) -> usize {
                $count
            }

            #[inline]
            fn for_each<Visitor: FnMut(Param<'_>)>(&self, mut visit: Visitor) {
                $(visit(self.$index.to_param());)*
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
tuple!(13: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12);
tuple!(14: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13);
tuple!(15: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13 O 14);
tuple!(16: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13 O 14 P 15);
