//! What a row can be read as.

use std::any::type_name;

use super::cells::{Cell, Cells};
use super::error::{CellError, DecodeError, Fault};
use super::from_value::FromValue;
use crate::mysql::columns::Columns;
use crate::mysql::kind::Kind;
use crate::mysql::value::{Value, ValueRef};

/// A type that a row can be read as: a tuple of [`FromValue`]s in the order of the columns, a single one of them for
/// rows of one column, a `Vec` of [`Value`]s for any row, a structure by name.
///
/// ```
/// use arknet_proto::mysql::row::{Cells, DecodeError, FromRow, Plan};
/// use arknet_proto::mysql::Columns;
///
/// struct Player<'a> {
///     id: u64,
///     name: &'a str,
/// }
///
/// // What a derive would write.
/// impl<'a> FromRow<'a> for Player<'a> {
///     fn plan(columns: &Columns) -> Result<Plan, DecodeError> {
///         let plan = Plan::named(columns)
///             .field::<u64>("id")?
///             .field::<&str>("name")?;
///         Ok(plan.build())
///     }
///
///     fn from_cells<C: Cells<'a>>(cells: &mut C, plan: &Plan) -> Result<Self, DecodeError> {
///         let (mut id, mut name) = (None, None);
///         for place in plan.places() {
///             match place {
///                 Some(0) => id = Some(plan.read(cells)?),
///                 Some(1) => name = Some(plan.read(cells)?),
///                 _ => plan.skip(cells)?,
///             }
///         }
///         Ok(Self { id: plan.filled(id)?, name: plan.filled(name)? })
///     }
/// }
/// ```
pub trait FromRow<'a>: Sized {
    /// Finds out, once for a result set, whether its rows can be read as this type, and how.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: the columns are too few or too many, or of other types, or have other names.
    fn plan(columns: &Columns) -> Result<Plan, DecodeError>;

    /// Reads all cells of a row, by a plan that was made for its columns.
    ///
    /// # Errors
    ///
    /// [`DecodeError`].
    fn from_cells<C: Cells<'a>>(cells: &mut C, plan: &Plan) -> Result<Self, DecodeError>;
}

/// Where the cells of a row go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// For each column, the field that it fills. Empty where fields are in the order of the columns.
    places: Vec<Option<u16>>,
}

/// A plan that is being made for a type with named fields.
#[derive(Debug)]
pub struct NamedPlan<'c> {
    columns: &'c Columns,
    places: Vec<Option<u16>>,
    fields: u16,
}

impl Plan {
    /// Cell after cell, in the order of the columns.
    #[must_use]
    pub fn positional() -> Self {
        Self::default()
    }

    /// Each cell to the field that has its column's name.
    #[must_use]
    pub fn named(columns: &Columns) -> NamedPlan<'_> {
        NamedPlan {
            columns,
            places: vec![None; columns.len()],
            fields: 0,
        }
    }

    /// For each column in order, the number of the field that it fills, as they were given to
    /// [`NamedPlan::field`].
    #[inline]
    pub fn places(&self) -> impl Iterator<Item = Option<u16>> {
        self.places.iter().copied()
    }

    /// Reads the next cell.
    ///
    /// # Errors
    ///
    /// [`DecodeError`].
    #[inline]
    pub fn read<'a, T: FromValue<'a>>(&self, cells: &mut impl Cells<'a>) -> Result<T, DecodeError> {
        next(cells)
    }

    /// Passes the next cell over.
    ///
    /// # Errors
    ///
    /// [`Fault::Malformed`].
    #[inline]
    pub fn skip<'a>(&self, cells: &mut impl Cells<'a>) -> Result<(), DecodeError> {
        cells.next_cell().map(drop)
    }

    /// A field that was filled, as a plan that was made for the type sees to.
    ///
    /// # Errors
    ///
    /// [`Fault::Columns`] if the plan was made for another type.
    #[inline]
    pub fn filled<T>(&self, field: Option<T>) -> Result<T, DecodeError> {
        let found = self.places.len();
        let expected = found + 1;
        field.ok_or_else(|| Fault::Columns { expected, found }.into())
    }
}

impl NamedPlan<'_> {
    /// The next field is filled by the first column of this name that no field before it has taken.
    ///
    /// # Errors
    ///
    /// [`Fault::NoColumn`], or [`Fault::Cell`] if its values cannot be read as `T`.
    pub fn field<'a, T: FromValue<'a>>(mut self, name: &str) -> Result<Self, DecodeError> {
        if self.place::<T>(name)? {
            return Ok(self);
        }
        Err(Fault::NoColumn {
            name: name.to_owned(),
        }
        .into())
    }

    /// The next field is filled as by [`field`](Self::field), and by nothing where there is no such column.
    ///
    /// # Errors
    ///
    /// [`Fault::Cell`] if the column's values cannot be read as `T`.
    pub fn optional_field<'a, T: FromValue<'a>>(mut self, name: &str) -> Result<Self, DecodeError> {
        self.place::<T>(name)?;
        Ok(self)
    }

    /// Whether there is a column for the next field.
    fn place<'a, T: FromValue<'a>>(&mut self, name: &str) -> Result<bool, DecodeError> {
        let number = self.fields;
        self.fields = self.fields.saturating_add(1);
        let mut columns = self.columns.iter().zip(&mut self.places).enumerate();
        let found = columns
            .find(|(_, (column, place))| place.is_none() && column.name() == name.as_bytes());
        let Some((index, (column, place))) = found else {
            return Ok(false);
        };
        check::<T>(index, column.kind())?;
        *place = Some(number);
        Ok(true)
    }

    /// The plan. Columns that no field has taken are passed over.
    #[must_use]
    pub fn build(self) -> Plan {
        Plan {
            places: self.places,
        }
    }
}

/// Whether values of a column can be read as `T`.
fn check<'a, T: FromValue<'a>>(column: usize, kind: Kind) -> Result<(), DecodeError> {
    if kind == Kind::Null || T::accepts(kind) {
        return Ok(());
    }
    let (expected, reason) = (type_name::<T>(), CellError::Type);
    Err(Fault::Cell {
        column,
        kind,
        expected,
        reason,
    }
    .into())
}

/// Reads the next cell.
#[inline(always)]
pub(super) fn next<'a, T: FromValue<'a>>(cells: &mut impl Cells<'a>) -> Result<T, DecodeError> {
    let cell = cells.next_cell()?;
    match T::from_cell(cell) {
        Ok(value) => Ok(value),
        Err(reason) => Err(refused::<T>(cells.position(), cell, reason)),
    }
}

#[cold]
fn refused<T>(position: usize, cell: Cell<'_>, reason: CellError) -> DecodeError {
    let (column, kind) = (position.saturating_sub(1), cell.kind());
    Fault::Cell {
        column,
        kind,
        expected: type_name::<T>(),
        reason,
    }
    .into()
}

fn count(columns: &Columns, expected: usize) -> Result<(), DecodeError> {
    let found = columns.len();
    if found != expected {
        return Err(Fault::Columns { expected, found }.into());
    }
    Ok(())
}

fn kind(columns: &Columns, index: usize) -> Kind {
    columns
        .slots()
        .get(index)
        .map_or(Kind::Null, |slot| slot.kind)
}

impl<'a, T: FromValue<'a>> FromRow<'a> for T {
    fn plan(columns: &Columns) -> Result<Plan, DecodeError> {
        count(columns, 1)?;
        check::<T>(0, kind(columns, 0))?;
        Ok(Plan::positional())
    }

    #[inline]
    fn from_cells<S: Cells<'a>>(cells: &mut S, _plan: &Plan) -> Result<Self, DecodeError> {
        next(cells)
    }
}

macro_rules! dynamic {
    ($($type:ty)*) => {$(
        impl<'a> FromRow<'a> for Vec<$type> {
            fn plan(_columns: &Columns) -> Result<Plan, DecodeError> {
                Ok(Plan::positional())
            }

            fn from_cells<S: Cells<'a>>(cells: &mut S, _plan: &Plan) -> Result<Self, DecodeError> {
                let mut values = Self::with_capacity(cells.remaining());
                while cells.remaining() > 0 {
                    values.push(next(cells)?);
                }
                Ok(values)
            }
        }
    )*};
}

dynamic!(ValueRef<'a> Value);

macro_rules! tuple {
    ($count:literal: $($name:ident $index:literal)*) => {
        impl<'a, $($name: FromValue<'a>),*> FromRow<'a> for ($($name,)*) {
            fn plan(columns: &Columns) -> Result<Plan, DecodeError> {
                count(columns, $count)?;
                $(check::<$name>($index, kind(columns, $index))?;)*
                Ok(Plan::positional())
            }

            #[inline]
            fn from_cells<S: Cells<'a>>(cells: &mut S, _plan: &Plan) -> Result<Self, DecodeError> {
                Ok(($(next::<$name>(cells)?,)*))
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
