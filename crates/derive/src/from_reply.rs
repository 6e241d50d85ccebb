//! `FromReply`: structures and enumerations from a reply.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DataEnum, DeriveInput, Field, Fields, LitByteStr, LitStr, Path};

use crate::attributes::{Namespace, OfMember, OfType};

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let of_type = OfType::parse(Namespace::Redis, &input.attrs)?;
    let body = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => {
                let fields: Vec<_> = fields.named.iter().collect();
                from_fields(input, &of_type, &fields)?
            }
            Fields::Unnamed(fields) => {
                let fields: Vec<_> = fields.unnamed.iter().collect();
                from_list(&of_type.library, &fields)?
            }
            Fields::Unit => {
                let reason = "a structure without fields cannot be made of a reply";
                return Err(syn::Error::new_spanned(&input.ident, reason));
            }
        },
        Data::Enum(data) => from_text(input, &of_type, data)?,
        Data::Union(_) => {
            let reason = "a union cannot be made of a reply";
            return Err(syn::Error::new_spanned(&input.ident, reason));
        }
    };
    let (name, library) = (&input.ident, &of_type.library);
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter
            .bounds
            .push(syn::parse_quote!(#library::FromReply));
    }
    let (generics, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #generics #library::FromReply for #name #arguments #bounds {
            fn from_reply(
                reply: #library::Reply<'_>,
            ) -> ::core::result::Result<Self, #library::DecodeError> {
                #body
            }
        }
    })
}

/// Named fields, from a map.
fn from_fields(
    input: &DeriveInput,
    of_type: &OfType,
    fields: &[&Field],
) -> syn::Result<TokenStream> {
    let library = &of_type.library;
    let of = LitStr::new(&input.ident.to_string(), input.ident.span());
    let mut declared = Vec::new();
    let mut matched = Vec::new();
    let mut built = Vec::new();
    for (number, field) in fields.iter().enumerate() {
        let Some(ident) = &field.ident else { continue };
        let member = OfMember::parse(Namespace::Redis, &field.attrs)?;
        if member.skip {
            built.push(quote!(#ident: ::core::default::Default::default()));
            continue;
        }
        let written = syn::ext::IdentExt::unraw(ident).to_string();
        let name = member
            .rename
            .unwrap_or_else(|| of_type.casing.apply(&written));
        let name = LitStr::new(&name, ident.span());
        let bytes = LitByteStr::new(name.value().as_bytes(), ident.span());
        let (place, ty) = (format_ident!("field{number}"), &field.ty);
        declared.push(quote! {
            let mut #place: ::core::option::Option<#ty> = ::core::option::Option::None;
        });
        matched.push(quote! {
            #bytes => #place = ::core::option::Option::Some(value.decode()?),
        });
        built.push(if member.default {
            quote!(#ident: ::core::option::Option::unwrap_or_default(#place))
        } else {
            quote!(#ident: #library::Fields::required(#place, #of, #name)?)
        });
    }
    Ok(quote! {
        let mut fields = #library::Fields::new(reply)?;
        #(#declared)*
        while let ::core::option::Option::Some((name, value)) = fields.next()? {
            match name {
                #(#matched)*
                _ => {}
            }
        }
        ::core::result::Result::Ok(Self { #(#built),* })
    })
}

/// Unnamed fields: one, or a list.
fn from_list(library: &Path, fields: &[&Field]) -> syn::Result<TokenStream> {
    for field in fields {
        if let Some(attribute) = field.attrs.iter().find(|a| a.path().is_ident("redis")) {
            let reason = "fields of a list have no names to be changed";
            return Err(syn::Error::new_spanned(attribute, reason));
        }
    }
    if let [field] = fields {
        let ty = &field.ty;
        return Ok(quote! {
            <#ty as #library::FromReply>::from_reply(reply).map(Self)
        });
    }
    let types = fields.iter().map(|field| &field.ty);
    let parts: Vec<_> = (0..fields.len())
        .map(|number| format_ident!("part{number}"))
        .collect();
    Ok(quote! {
        let (#(#parts,)*) = <(#(#types,)*) as #library::FromReply>::from_reply(reply)?;
        ::core::result::Result::Ok(Self(#(#parts),*))
    })
}

/// Variants, from their names.
fn from_text(input: &DeriveInput, of_type: &OfType, data: &DataEnum) -> syn::Result<TokenStream> {
    let library = &of_type.library;
    let mut matched = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            let reason = "a variant that is made of text has no fields";
            return Err(syn::Error::new_spanned(variant, reason));
        }
        let member = OfMember::parse(Namespace::Redis, &variant.attrs)?;
        let ident = &variant.ident;
        let name = member
            .rename
            .unwrap_or_else(|| of_type.casing.apply(&ident.to_string()));
        let bytes = LitByteStr::new(name.as_bytes(), ident.span());
        matched.push(quote! {
            #bytes => ::core::result::Result::Ok(Self::#ident),
        });
    }
    let expected = format!("a variant of {}", input.ident);
    Ok(quote! {
        let text = match reply {
            #library::Reply::Bulk(text) | #library::Reply::Simple(text) => text,
            #library::Reply::Verbatim { text, .. } => text,
            other => return ::core::result::Result::Err(other.unexpected(#expected)),
        };
        match text {
            #(#matched)*
            _ => ::core::result::Result::Err(reply.unfit(#expected)),
        }
    })
}
