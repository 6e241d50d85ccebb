//! `FromRow`: structures from a row of MySQL.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Field, Fields, GenericParam, Lifetime, LitStr};

use crate::attributes::{Namespace, OfMember, OfType};

/// The longest tuple that is read as a row.
const MAX_POSITIONS: usize = 16;

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let of_type = OfType::parse(Namespace::Mysql, &input.attrs)?;
    let Data::Struct(data) = &input.data else {
        return Err(refused(input, "a row becomes a structure, not this"));
    };
    let row = lifetime_of(input)?;
    let Bodies { plan, read } = match &data.fields {
        Fields::Named(fields) => {
            let fields: Vec<_> = fields.named.iter().collect();
            by_name(&of_type, &fields)?
        }
        Fields::Unnamed(fields) => {
            let fields: Vec<_> = fields.unnamed.iter().collect();
            by_position(input, &of_type, &row, &fields)?
        }
        Fields::Unit => return Err(refused(input, "there are no fields for the row's values")),
    };
    let (name, library) = (&input.ident, &of_type.library);
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter
            .bounds
            .push(syn::parse_quote!(#library::FromValue<#row>));
    }
    if generics.lifetimes().next().is_none() {
        generics
            .params
            .insert(0, GenericParam::Lifetime(syn::parse_quote!(#row)));
    }
    let (declared, _, bounds) = generics.split_for_impl();
    let (_, arguments, _) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #declared #library::FromRow<#row> for #name #arguments #bounds {
            fn plan(
                columns: &#library::Columns,
            ) -> ::core::result::Result<#library::Plan, #library::DecodeError> {
                #plan
            }

            fn from_cells<__Cells: #library::Cells<#row>>(
                cells: &mut __Cells,
                plan: &#library::Plan,
            ) -> ::core::result::Result<Self, #library::DecodeError> {
                #read
            }
        }
    })
}

/// What the two functions do.
struct Bodies {
    plan: TokenStream,
    read: TokenStream,
}

/// The row's lifetime: the structure's own, if it borrows.
fn lifetime_of(input: &DeriveInput) -> syn::Result<Lifetime> {
    let mut lifetimes = input.generics.lifetimes();
    let first = lifetimes.next().map(|found| found.lifetime.clone());
    if let Some(second) = lifetimes.next() {
        let reason = "a row has one lifetime, which all borrowed fields share";
        return Err(syn::Error::new_spanned(second, reason));
    }
    Ok(first.unwrap_or_else(|| syn::parse_quote!('__row)))
}

/// Named fields, each from the column of its name.
fn by_name(of_type: &OfType, fields: &[&Field]) -> syn::Result<Bodies> {
    let library = &of_type.library;
    let (mut planned, mut declared, mut matched, mut built) = (vec![], vec![], vec![], vec![]);
    // As the plan numbers them.
    let mut number = 0_u16;
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let member = OfMember::parse(Namespace::Mysql, &field.attrs)?;
        if member.skip {
            built.push(quote!(#ident: ::core::default::Default::default()));
            continue;
        }
        let written = syn::ext::IdentExt::unraw(ident).to_string();
        let name = member
            .rename
            .unwrap_or_else(|| of_type.casing.apply(&written));
        let name = LitStr::new(&name, ident.span());
        let (place, ty) = (format_ident!("field{number}"), &field.ty);
        planned.push(match member.default {
            true => quote!(.optional_field::<#ty>(#name)?),
            false => quote!(.field::<#ty>(#name)?),
        });
        declared.push(quote! {
            let mut #place: ::core::option::Option<#ty> = ::core::option::Option::None;
        });
        matched.push(quote! {
            ::core::option::Option::Some(#number) => {
                #place = ::core::option::Option::Some(plan.read(cells)?);
            }
        });
        built.push(match member.default {
            true => quote!(#ident: ::core::option::Option::unwrap_or_default(#place)),
            false => quote!(#ident: plan.filled(#place)?),
        });
        number = number.saturating_add(1);
    }
    Ok(Bodies {
        plan: quote! {
            ::core::result::Result::Ok(#library::Plan::named(columns)#(#planned)*.build())
        },
        read: quote! {
            #(#declared)*
            for place in plan.places() {
                match place {
                    #(#matched)*
                    _ => plan.skip(cells)?,
                }
            }
            ::core::result::Result::Ok(Self { #(#built),* })
        },
    })
}

/// Unnamed fields, from the columns in their order.
fn by_position(
    input: &DeriveInput,
    of_type: &OfType,
    row: &Lifetime,
    fields: &[&Field],
) -> syn::Result<Bodies> {
    let library = &of_type.library;
    let own = Namespace::Mysql.name();
    for field in fields {
        if let Some(attribute) = field.attrs.iter().find(|a| a.path().is_ident(own)) {
            let reason = "fields of a tuple have no names to be changed";
            return Err(syn::Error::new_spanned(attribute, reason));
        }
    }
    if fields.is_empty() || fields.len() > MAX_POSITIONS {
        return Err(refused(input, "a row by position has 1 to 16 fields"));
    }
    let types = fields.iter().map(|field| &field.ty);
    let parts: Vec<_> = (0..fields.len())
        .map(|number| format_ident!("part{number}"))
        .collect();
    let tuple = quote!(<(#(#types,)*) as #library::FromRow<#row>>);
    Ok(Bodies {
        plan: quote!(#tuple::plan(columns)),
        read: quote! {
            let (#(#parts,)*) = #tuple::from_cells(cells, plan)?;
            ::core::result::Result::Ok(Self(#(#parts),*))
        },
    })
}

fn refused(input: &DeriveInput, reason: &str) -> syn::Error {
    syn::Error::new_spanned(&input.ident, reason)
}
