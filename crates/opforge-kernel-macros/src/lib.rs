//! The attribute of `opforge-kernel`, which documents it.

mod expand;
mod names;
mod options;

use proc_macro::TokenStream;

/// See `opforge_kernel::kernel`.
#[proc_macro_attribute]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = syn::parse_macro_input!(options as options::Options);
    let function = syn::parse_macro_input!(item as syn::ItemFn);
    expand::expand(&options, &function)
        .unwrap_or_else(|error| {
            let error = error.to_compile_error();
            quote::quote!(#function #error)
        })
        .into()
}
