//! `FromReplies`: a structure from the tuple of a pipeline's results.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Fields};

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new_spanned(
            &input.ident,
            "the results of a pipeline become a structure, not this",
        ));
    };
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let types: Vec<_> = data.fields.iter().map(|field| &field.ty).collect();
    let parts: Vec<_> = (0..types.len())
        .map(|number| format_ident!("part{number}"))
        .collect();
    let built = match &data.fields {
        Fields::Named(fields) => {
            let names = fields.named.iter().map(|field| &field.ident);
            quote!(Self { #(#names: #parts),* })
        }
        Fields::Unnamed(_) => quote!(Self(#(#parts),*)),
        Fields::Unit => {
            return Err(syn::Error::new_spanned(
                name,
                "there are no fields for results",
            ));
        }
    };
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::core::convert::From<(#(#types,)*)> for #name #arguments #bounds {
            fn from((#(#parts,)*): (#(#types,)*)) -> Self {
                #built
            }
        }
    })
}
