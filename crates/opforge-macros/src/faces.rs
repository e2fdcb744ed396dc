//! `#[python(torch, method, name = "..", results(a, b))]`: where Python shows a function.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Meta, Result, Token};

/// What the attribute says.
pub struct Faces {
    /// Another name than the Rust function's.
    pub name: Option<Expr>,
    /// All of it, as an expression of type `opforge::declaration::Faces`.
    pub value: TokenStream,
}

impl Faces {
    pub fn of(attribute: &Attribute) -> Result<Faces> {
        let said = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
        let fields = said.iter().map(field).collect::<Result<Vec<_>>>()?;
        let value = quote!(::opforge::declaration::Faces { #(#fields,)* ..::opforge::declaration::Faces::NOWHERE });
        Ok(Faces { name: said.iter().find_map(name), value })
    }
}

fn name(face: &Meta) -> Option<Expr> {
    face.require_name_value().ok().filter(|face| face.path.is_ident("name")).map(|face| face.value.clone())
}

fn field(face: &Meta) -> Result<TokenStream> {
    match face {
        Meta::Path(face) => Ok(quote!(#face: true)),
        Meta::NameValue(face) => {
            let (path, value) = (&face.path, &face.value);
            Ok(quote!(#path: Some(#value)))
        }
        Meta::List(face) => {
            let names = face.parse_args_with(Punctuated::<Expr, Token![,]>::parse_terminated)?;
            let (path, names) = (&face.path, names.iter());
            Ok(quote!(#path: &[#(stringify!(#names)),*]))
        }
    }
}
