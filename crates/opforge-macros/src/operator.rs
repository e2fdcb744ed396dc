//! `#[operator(dtypes, samples, Types, .., name = "..", gradient = false)]`: the function's entry in the registry.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Result, Token, Type};

/// What the attribute says.
pub struct Operator {
    dtypes: Expr,
    samples: Expr,
    /// What the file's operators are, or are made of.
    types: Vec<Type>,
    /// Another name than the function's.
    name: Option<Expr>,
    /// Whether it has a gradient, as most have.
    gradient: Option<Expr>,
}

impl Parse for Operator {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let dtypes = input.parse()?;
        input.parse::<Token![,]>().map_err(|error| Error::new(error.span(), "expected `, samples`"))?;
        let samples = input.parse()?;
        let (mut types, mut name, mut gradient) = (Vec::new(), None, None);
        while input.parse::<Option<Token![,]>>()?.is_some() {
            if !(input.peek(syn::Ident) && input.peek2(Token![=])) {
                types.push(input.parse()?);
            } else if input.fork().parse::<Ident>().is_ok_and(|given| given == "gradient") {
                gradient = Some(named(input, "gradient")?);
            } else {
                name = Some(named(input, "name")?);
            }
        }
        Ok(Operator { dtypes, samples, types, name, gradient })
    }
}

impl Operator {
    /// The constant `DEFINITION`.
    pub fn definition(&self, function: &Ident) -> TokenStream {
        let Operator { dtypes, samples, types, name, gradient } = self;
        let gradient = gradient.as_ref().map_or_else(|| quote!(true), ToTokens::to_token_stream);
        let name = name.as_ref().map_or_else(|| quote!(stringify!(#function)), ToTokens::to_token_stream);
        let doc = format!("The operator of [`{function}`](fn@{function}) as the registry knows it.");
        quote! {
            #[doc = #doc]
            pub const DEFINITION: ::opforge::declaration::Definition = ::opforge::declaration::Definition {
                name: #name,
                function: &#function::FUNCTION,
                dtypes: #dtypes,
                differentiable: #gradient,
                samples: ::opforge::declaration::included(#samples),
                readers: &[#(<#types>::READERS),*],
            };
        }
    }
}

/// The value of `name = value`.
pub fn named(input: ParseStream<'_>, name: &str) -> Result<Expr> {
    let expected = |_| input.error(format!("expected `{name} = ..`"));
    let given: Ident = input.parse().map_err(expected)?;
    if given != name {
        return Err(Error::new(given.span(), format!("expected `{name} = ..`")));
    }
    input.parse::<Token![=]>()?;
    input.parse()
}
