//! What the attribute is given: the parameters that may be left out, and those that are given by name.

use proc_macro2::Ident;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, FnArg, ItemFn, Pat, Result, Token, Type};

/// `a = 1, *, b, c = None`: as Python writes parameters; those after the star are given by name. What is said of none need not be named.
pub struct Defaults(Vec<Entry>);

enum Entry {
    Star,
    Parameter(Ident, Option<Expr>),
}

impl Parse for Defaults {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let entries = Punctuated::<Entry, Token![,]>::parse_terminated(input)?;
        Ok(Defaults(entries.into_iter().collect()))
    }
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.parse::<Option<Token![*]>>()?.is_some() {
            return Ok(Entry::Star);
        }
        let name = input.parse()?;
        let default = input.parse::<Option<Token![=]>>()?.map(|_| input.parse()).transpose()?;
        Ok(Entry::Parameter(name, default))
    }
}

/// A parameter of the function with what the attribute says of it.
pub struct Parameter {
    pub name: Ident,
    pub ty: Type,
    pub default: Option<Expr>,
    pub keyword_only: bool,
}

/// The function's parameters; the attribute names some of them, in order.
pub fn parameters(function: &ItemFn, Defaults(entries): Defaults) -> Result<Vec<Parameter>> {
    let mut parameters = function.sig.inputs.iter().map(parameter).collect::<Result<Vec<_>>>()?;
    let (mut next, mut keyword_only) = (0, false);
    for entry in entries {
        match entry {
            Entry::Star => keyword_only = true,
            Entry::Parameter(name, default) => {
                let after = parameters[next..].iter().position(|parameter| parameter.name == name);
                let Some(after) = after else {
                    return Err(Error::new(name.span(), "expected a later parameter of the function"));
                };
                next += after + 1;
                let parameter = &mut parameters[next - 1];
                (parameter.default, parameter.keyword_only) = (default, keyword_only);
            }
        }
    }
    Ok(parameters)
}

fn parameter(argument: &FnArg) -> Result<Parameter> {
    let FnArg::Typed(argument) = argument else {
        return Err(Error::new_spanned(argument, "expected a function that is no method"));
    };
    let Pat::Ident(name) = &*argument.pat else {
        return Err(Error::new_spanned(&argument.pat, "expected a name"));
    };
    let (name, ty) = (name.ident.clone(), (*argument.ty).clone());
    Ok(Parameter { name, ty, default: None, keyword_only: false })
}
