//! `#[redis(..)]` and `#[mysql(..)]` on types, fields and variants.

use syn::{Attribute, LitStr, Path};

use crate::casing::Casing;

/// Whose attributes are read.
#[derive(Clone, Copy)]
pub(crate) enum Namespace {
    Redis,
    Mysql,
}

impl Namespace {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Mysql => "mysql",
        }
    }

    fn library(self) -> Path {
        match self {
            Self::Redis => syn::parse_quote!(::arknet::redis),
            Self::Mysql => syn::parse_quote!(::arknet::mysql),
        }
    }

    fn of(self, attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
        attributes
            .iter()
            .filter(move |attribute| attribute.path().is_ident(self.name()))
    }
}

/// On a type.
pub(crate) struct OfType {
    /// Where the library is found.
    pub(crate) library: Path,
    pub(crate) casing: Casing,
}

impl OfType {
    pub(crate) fn parse(namespace: Namespace, attributes: &[Attribute]) -> syn::Result<Self> {
        let mut found = Self {
            library: namespace.library(),
            casing: Casing::AsWritten,
        };
        for attribute in namespace.of(attributes) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("crate") {
                    let path: LitStr = meta.value()?.parse()?;
                    found.library = path.parse_with(Path::parse_mod_style)?;
                    return Ok(());
                }
                if meta.path.is_ident("rename_all") {
                    let casing: LitStr = meta.value()?.parse()?;
                    let Some(parsed) = Casing::parse(&casing.value()) else {
                        return Err(syn::Error::new(casing.span(), "not a spelling"));
                    };
                    found.casing = parsed;
                    return Ok(());
                }
                Err(meta.error("expected `rename_all` or `crate`"))
            })?;
        }
        Ok(found)
    }
}

/// On a field or a variant.
#[derive(Default)]
pub(crate) struct OfMember {
    pub(crate) rename: Option<String>,
    pub(crate) default: bool,
    pub(crate) skip: bool,
}

impl OfMember {
    pub(crate) fn parse(namespace: Namespace, attributes: &[Attribute]) -> syn::Result<Self> {
        let mut found = Self::default();
        for attribute in namespace.of(attributes) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    let name: LitStr = meta.value()?.parse()?;
                    found.rename = Some(name.value());
                } else if meta.path.is_ident("default") {
                    found.default = true;
                } else if meta.path.is_ident("skip") {
                    found.skip = true;
                } else {
                    return Err(meta.error("expected `rename`, `default` or `skip`"));
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}
