//! The attributes of `opforge`: that which declares a function, documented by `opforge::function`, that which makes an operator of a function of
//! one element, documented by `opforge::family::unary`, and `Attributes`, documented by `opforge::term::Attributes`.

mod attributes;
mod declaration;
mod expand;
mod faces;
mod operator;
mod unary;

use proc_macro::TokenStream;

/// See `opforge::function`.
#[proc_macro_attribute]
pub fn function(defaults: TokenStream, item: TokenStream) -> TokenStream {
    let defaults = syn::parse_macro_input!(defaults as declaration::Defaults);
    let function = syn::parse_macro_input!(item as syn::ItemFn);
    expand::expand(defaults, function).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// See `opforge::term::Attributes`.
#[proc_macro_derive(Attributes)]
pub fn attributes(item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as syn::DeriveInput);
    attributes::expand(&item).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// See `opforge::family::unary`.
#[proc_macro_attribute]
pub fn unary(samples: TokenStream, block: TokenStream) -> TokenStream {
    let samples = syn::parse_macro_input!(samples as unary::Samples);
    let block = syn::parse_macro_input!(block as syn::ItemImpl);
    unary::expand(samples, block).unwrap_or_else(|error| error.to_compile_error()).into()
}
