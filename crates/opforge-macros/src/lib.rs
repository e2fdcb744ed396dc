//! The attribute of `opforge` that declares a function, which `opforge::function` documents.

mod declaration;
mod expand;
mod faces;

use proc_macro::TokenStream;

/// See `opforge::function`.
#[proc_macro_attribute]
pub fn function(defaults: TokenStream, item: TokenStream) -> TokenStream {
    let defaults = syn::parse_macro_input!(defaults as declaration::Defaults);
    let function = syn::parse_macro_input!(item as syn::ItemFn);
    expand::expand(defaults, function).unwrap_or_else(|error| error.to_compile_error()).into()
}
