//! The derive macros of arknet. Use them from there: `arknet::redis::FromReply`,
//! `arknet::mysql::FromRow`.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

mod attributes;
mod casing;
mod from_replies;
mod from_reply;
mod from_row;

/// Makes a type of a reply.
///
/// * A structure with named fields is made of a map, or of a list of names and values, such as the reply of
///   `HGETALL`. Names that it does not have are skipped, of those that come twice the last one counts, and a
///   missing one is an error, unless its field is an `Option` or has a default.
/// * A tuple structure is made of a list of exactly so many elements; one with a single field, of what makes
///   that field.
/// * An enumeration of variants without fields is made of text, their names.
///
/// | attribute | of | meaning |
/// |---|---|---|
/// | `#[redis(rename_all = "..")]` | type | names in `snake_case`, `SCREAMING_SNAKE_CASE`, `kebab-case`, `camelCase`, `PascalCase`, `lowercase` or `UPPERCASE`; by default they are as they are written |
/// | `#[redis(rename = "..")]` | field, variant | its name in the reply |
/// | `#[redis(default)]` | field | if it is missing, its type's default |
/// | `#[redis(skip)]` | field | never read: always its type's default |
/// | `#[redis(crate = "..")]` | type | where `arknet::redis` is found |
#[proc_macro_derive(FromReply, attributes(redis))]
pub fn from_reply(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    from_reply::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Names the results of a pipeline: the fields, in their order, are the types of its output.
#[proc_macro_derive(FromReplies)]
pub fn from_replies(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    from_replies::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a structure of a row.
///
/// * A structure with named fields is made of the columns that have their names, compared as written; other
///   columns are passed over. A column that is missing is an error when the first row is read, and so is one
///   whose values cannot be read as the field's type. Columns of one name fill fields of one name in order.
/// * A tuple structure is made of exactly so many columns, in their order; at most 16.
///
/// A structure that borrows text or bytes from the row has one lifetime, that of the row.
///
/// | attribute | of | meaning |
/// |---|---|---|
/// | `#[mysql(rename_all = "..")]` | type | columns in `snake_case`, `SCREAMING_SNAKE_CASE`, `kebab-case`, `camelCase`, `PascalCase`, `lowercase` or `UPPERCASE`; by default they are as the fields are written |
/// | `#[mysql(rename = "..")]` | field | its column's name |
/// | `#[mysql(default)]` | field | if there is no such column, its type's default. NULL is an error all the same, unless the field is an `Option` |
/// | `#[mysql(skip)]` | field | never read: always its type's default |
/// | `#[mysql(crate = "..")]` | type | where `arknet::mysql` is found |
#[proc_macro_derive(FromRow, attributes(mysql))]
pub fn from_row(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    from_row::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
