//! What can be an argument.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt::{self, Write as _};
use std::rc::Rc;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::Command;

/// What can be an argument, or several.
///
/// | type | arguments |
/// |---|---|
/// | `str`, `String`, `[u8]`, `Vec<u8>`, `[u8; N]`, `Bytes` | one, as it is |
/// | integers, `f32`, `f64` | one, in decimal |
/// | `bool` | one, `1` or `0` |
/// | `Option` | one or none |
/// | slices, arrays, `Vec`, sets of these | as many as there are |
/// | tuples, maps of these | all in turn, keys before their values |
///
/// References to them, and `Box`, `Arc`, `Rc` and `Cow` of them, are what they refer to.
pub trait ToArg {
    /// Appends itself.
    fn append_to(&self, command: &mut Command);

    /// How many arguments it is.
    fn count(&self) -> usize {
        1
    }

    /// Appends several of them. Those of `u8` are one argument.
    #[doc(hidden)]
    fn append_all(list: &[Self], command: &mut Command)
    where
        Self: Sized,
    {
        for argument in list {
            argument.append_to(command);
        }
    }

    /// How many arguments several of them are.
    #[doc(hidden)]
    fn count_all(list: &[Self]) -> usize
    where
        Self: Sized,
    {
        list.iter().map(Self::count).sum()
    }
}

impl ToArg for str {
    #[inline]
    fn append_to(&self, command: &mut Command) {
        command.push(self.as_bytes());
    }
}

macro_rules! bytes_like {
    ($($type:ty),*) => {$(
        impl ToArg for $type {
            #[inline]
            fn append_to(&self, command: &mut Command) {
                command.push(self.as_ref());
            }
        }
    )*};
}

bytes_like!(String, Bytes, BytesMut);

impl ToArg for u8 {
    fn append_to(&self, command: &mut Command) {
        u64::from(*self).append_to(command);
    }

    #[inline]
    fn append_all(list: &[Self], command: &mut Command) {
        command.push(list);
    }

    fn count_all(_: &[Self]) -> usize {
        1
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl ToArg for $type {
            fn append_to(&self, command: &mut Command) {
                command.push(Decimal::of(format_args!("{self}")).as_bytes());
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, i128, isize, u16, u32, u64, u128, usize);

macro_rules! floats {
    ($($type:ty),*) => {$(
        /// The shortest text that is the same number again: in digits, or with an exponent where those would be
        /// many.
        impl ToArg for $type {
            fn append_to(&self, command: &mut Command) {
                let magnitude = self.abs();
                let is_plain = magnitude == 0.0 || (1e-5..1e17).contains(&magnitude);
                let text = if is_plain || !self.is_finite() {
                    Decimal::of(format_args!("{self}"))
                } else {
                    Decimal::of(format_args!("{self:e}"))
                };
                command.push(text.as_bytes());
            }
        }
    )*};
}

floats!(f32, f64);

impl ToArg for bool {
    fn append_to(&self, command: &mut Command) {
        command.push(if *self { b"1" } else { b"0" });
    }
}

/// Text of a number, without an allocation.
struct Decimal {
    text: [u8; Self::LONGEST],
    len: usize,
}

impl Decimal {
    /// The digits of `i128::MIN` with its sign; a double has 24 at most here.
    const LONGEST: usize = 40;

    fn of(number: fmt::Arguments<'_>) -> Self {
        let mut decimal = Self {
            text: [0; Self::LONGEST],
            len: 0,
        };
        let written = decimal.write_fmt(number);
        debug_assert!(written.is_ok(), "a number of more than 40 digits");
        decimal
    }

    fn as_bytes(&self) -> &[u8] {
        self.text.get(..self.len).unwrap_or_default()
    }
}

impl fmt::Write for Decimal {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let room = self.text.get_mut(self.len..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

macro_rules! references {
    ($($(#[$attribute:meta])* <$($lifetime:lifetime)?> $type:ty;)*) => {$(
        impl<$($lifetime,)? T: ToArg + ?Sized> ToArg for $type {
            #[inline]
            fn append_to(&self, command: &mut Command) {
                (**self).append_to(command);
            }

            fn count(&self) -> usize {
                (**self).count()
            }
        }
    )*};
}

references! {
    <> &T;
    <> &mut T;
    <> Box<T>;
    <> Arc<T>;
    <> Rc<T>;
}

impl<T: ToArg + ToOwned + ?Sized> ToArg for Cow<'_, T> {
    fn append_to(&self, command: &mut Command) {
        (**self).append_to(command);
    }

    fn count(&self) -> usize {
        (**self).count()
    }
}

impl<T: ToArg> ToArg for Option<T> {
    fn append_to(&self, command: &mut Command) {
        if let Some(argument) = self {
            argument.append_to(command);
        }
    }

    fn count(&self) -> usize {
        self.as_ref().map_or(0, T::count)
    }
}

impl<T: ToArg> ToArg for [T] {
    #[inline]
    fn append_to(&self, command: &mut Command) {
        T::append_all(self, command);
    }

    fn count(&self) -> usize {
        T::count_all(self)
    }
}

impl<T: ToArg, const N: usize> ToArg for [T; N] {
    #[inline]
    fn append_to(&self, command: &mut Command) {
        T::append_all(self, command);
    }

    fn count(&self) -> usize {
        T::count_all(self)
    }
}

impl<T: ToArg> ToArg for Vec<T> {
    #[inline]
    fn append_to(&self, command: &mut Command) {
        T::append_all(self, command);
    }

    fn count(&self) -> usize {
        T::count_all(self)
    }
}

impl<T: ToArg> ToArg for VecDeque<T> {
    fn append_to(&self, command: &mut Command) {
        for argument in self {
            argument.append_to(command);
        }
    }

    fn count(&self) -> usize {
        self.iter().map(T::count).sum()
    }
}

impl<T: ToArg, S> ToArg for HashSet<T, S> {
    /// In the order of the set, which is none.
    #[allow(clippy::iter_over_hash_type, reason = "a set has no other order")]
    fn append_to(&self, command: &mut Command) {
        for argument in self {
            argument.append_to(command);
        }
    }

    fn count(&self) -> usize {
        self.iter().map(T::count).sum()
    }
}

impl<T: ToArg> ToArg for BTreeSet<T> {
    fn append_to(&self, command: &mut Command) {
        for argument in self {
            argument.append_to(command);
        }
    }

    fn count(&self) -> usize {
        self.iter().map(T::count).sum()
    }
}

impl<K: ToArg, V: ToArg, S> ToArg for HashMap<K, V, S> {
    /// In the order of the map, which is none.
    #[allow(clippy::iter_over_hash_type, reason = "a map has no other order")]
    fn append_to(&self, command: &mut Command) {
        for (key, value) in self {
            key.append_to(command);
            value.append_to(command);
        }
    }

    fn count(&self) -> usize {
        self.iter()
            .map(|(key, value)| key.count() + value.count())
            .sum()
    }
}

impl<K: ToArg, V: ToArg> ToArg for BTreeMap<K, V> {
    fn append_to(&self, command: &mut Command) {
        for (key, value) in self {
            key.append_to(command);
            value.append_to(command);
        }
    }

    fn count(&self) -> usize {
        self.iter()
            .map(|(key, value)| key.count() + value.count())
            .sum()
    }
}

macro_rules! tuples {
    ($($($part:ident $index:tt)+;)*) => {$(
        impl<$($part: ToArg),+> ToArg for ($($part,)+) {
            fn append_to(&self, command: &mut Command) {
                $(self.$index.append_to(command);)+
            }

            fn count(&self) -> usize {
                0 $(+ self.$index.count())+
            }
        }
    )*};
}

tuples! {
    A 0 B 1;
    A 0 B 1 C 2;
    A 0 B 1 C 2 D 3;
}
