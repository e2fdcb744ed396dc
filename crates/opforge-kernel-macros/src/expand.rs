//! From the user's function to the functions of the binary interface.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Error, FnArg, ItemFn, Lifetime, Pat, Path, Result, Safety, Type};

use crate::names;
use crate::options::Options;

pub fn expand(options: &Options, function: &ItemFn) -> Result<TokenStream> {
    check_form(function)?;
    let own = &function.sig.ident;
    let symbol = options.name.as_ref().map_or_else(|| own.to_string(), |name| name.value());
    names::check(&symbol, options.name.as_ref().map_or_else(|| own.span(), |name| name.span()))?;

    let parameters = function.sig.inputs.iter().enumerate().map(|(i, argument)| Parameter::new(i, argument));
    let parameters = parameters.collect::<Result<Vec<_>>>()?;
    let roles = parameters.iter().map(Parameter::role);
    let main = main_entry(&symbol, own, &parameters, options.init.as_ref());
    let init = options.init.as_ref().map(|init| init_entry(&symbol, init));
    let infer = options.infer.as_ref().map(|infer| infer_entry(&symbol, infer));
    Ok(quote! {
        #function

        #[allow(unsafe_code, clippy::undocumented_unsafe_blocks)]
        const _: () = {
            #[cfg(panic = "abort")]
            ::core::compile_error!("kernels need `panic = \"unwind\"`: their panics become errors");

            const SIGNATURE: ::opforge_kernel::export::Signature = ::opforge_kernel::export::Signature(&[#(#roles),*]);
            #main
            #init
            #infer
        };
    })
}

fn main_entry(symbol: &str, function: &Ident, parameters: &[Parameter], init: Option<&Path>) -> TokenStream {
    let takes = parameters.iter().map(Parameter::take);
    let variables = parameters.iter().map(|parameter| &parameter.variable);
    let init = init.map_or_else(|| quote!(::opforge_kernel::export::no_init), ToTokens::to_token_stream);
    quote! {
        #[unsafe(export_name = #symbol)]
        unsafe extern "C" fn __opforge_main(
            nparam: ::core::ffi::c_int,
            params: *mut *mut ::core::ffi::c_void,
            ndims: *mut ::core::ffi::c_int,
            shapes: *mut *mut i64,
            dtypes: *mut *const ::core::ffi::c_char,
            stream: *mut ::core::ffi::c_void,
            extra: *mut ::core::ffi::c_void,
        ) -> ::core::ffi::c_int {
            let call = ::opforge_kernel::export::Main { nparam, params, ndims, shapes, dtypes, stream, extra };
            // SAFETY: whoever calls this keeps the promises of the interface's header, which are all that `run` asks for.
            unsafe {
                call.run(SIGNATURE, #init, |call| {
                    #(#takes)*
                    let outcome = #function(#(#variables),*);
                    ::core::result::Result::Ok(::opforge_kernel::export::Outcome::result(outcome))
                })
            }
        }
    }
}

fn init_entry(symbol: &str, init: &Path) -> TokenStream {
    let symbol = format!("{symbol}Init");
    quote! {
        #[unsafe(export_name = #symbol)]
        unsafe extern "C" fn __opforge_init(
            ndims: *mut ::core::ffi::c_int,
            shapes: *mut *mut i64,
            dtypes: *mut *const ::core::ffi::c_char,
            extra: *mut ::core::ffi::c_void,
        ) -> ::core::ffi::c_int {
            let call = ::opforge_kernel::export::InitCall { ndims, shapes, dtypes, extra };
            // SAFETY: whoever calls this keeps the promises of the interface's header, which are all that `run` asks for.
            unsafe { call.run(SIGNATURE, #init) }
        }
    }
}

fn infer_entry(symbol: &str, infer: &Path) -> TokenStream {
    let symbol = format!("{symbol}Infer");
    quote! {
        #[unsafe(export_name = #symbol)]
        unsafe extern "C" fn __opforge_infer(
            ninput: ::core::ffi::c_int,
            ndims: *const ::core::ffi::c_int,
            shapes: *const *const i64,
            dtypes: *const *const ::core::ffi::c_char,
            extra: *mut ::core::ffi::c_void,
            outputs: *mut ::core::ffi::c_void,
        ) -> ::core::ffi::c_int {
            let call = ::opforge_kernel::export::InferCall { ninput, ndims, shapes, dtypes, extra, outputs };
            // SAFETY: whoever calls this keeps the promises of the interface's header, which are all that `run` asks for.
            unsafe { call.run(SIGNATURE, #infer) }
        }
    }
}

/// A parameter of the user's function.
struct Parameter {
    /// What errors call it.
    name: String,
    variable: Ident,
    /// Its type without the names of lifetimes, which only the function itself knows.
    ty: Type,
}

impl Parameter {
    fn new(i: usize, argument: &FnArg) -> Result<Self> {
        let FnArg::Typed(typed) = argument else {
            return Err(Error::new(argument.span(), "a kernel is a function of its own, without `self`"));
        };
        let mut ty = (*typed.ty).clone();
        AnyLifetime.visit_type_mut(&mut ty);
        let name = name(&typed.pat).unwrap_or_else(|| format!("argument {i}"));
        Ok(Parameter { name, variable: format_ident!("argument_{i}"), ty })
    }

    fn role(&self) -> TokenStream {
        let Parameter { name, ty, .. } = self;
        quote_spanned!(ty.span()=> (#name, <#ty as ::opforge_kernel::Parameter>::ROLE))
    }

    fn take(&self) -> TokenStream {
        let Parameter { variable, ty, .. } = self;
        quote_spanned!(ty.span()=> let #variable = <#ty as ::opforge_kernel::Argument<'_, _>>::take(call)?;)
    }
}

/// The name that a pattern gives, such as `x` in `mut x` and in `InPlace(mut x)`.
fn name(pattern: &Pat) -> Option<String> {
    match pattern {
        Pat::Ident(pattern) => Some(pattern.ident.to_string()),
        Pat::TupleStruct(pattern) if pattern.elems.len() == 1 => name(&pattern.elems[0]),
        _ => None,
    }
}

struct AnyLifetime;

impl VisitMut for AnyLifetime {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        *lifetime = Lifetime::new("'_", lifetime.span());
    }
}

/// The function can be called with arguments of the parameters' types.
fn check_form(function: &ItemFn) -> Result<()> {
    let sig = &function.sig;
    if let Some(generic) = sig.generics.params.iter().find(|param| !matches!(param, syn::GenericParam::Lifetime(_))) {
        let message =
            "a kernel's types are fixed: take `AnyView` and `AnyViewMut`, and call generic code by `dispatch!`";
        return Err(Error::new(generic.span(), message));
    }
    if let Some(token) = sig.asyncness {
        return Err(Error::new(token.span(), "a kernel is done when it returns: it cannot be `async`"));
    }
    match &sig.safety {
        Safety::Unsafe(token) => Err(Error::new(token.span(), "a kernel is safe to call")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_str;

    use super::*;

    fn expanded(options: &str, function: &str) -> Result<String> {
        expand(&parse_str(options)?, &parse_str(function)?).map(|tokens| tokens.to_string())
    }

    #[test]
    fn functions_are_exported_under_the_names_of_the_interface() {
        let main = expanded("", "fn add(x: View<'_, f32>) {}").unwrap();
        assert!(main.contains("\"add\"") && !main.contains("\"addInit\"") && !main.contains("\"addInfer\""));
        let all = expanded("init = a::b, infer = c, name = \"Add\",", "fn add(x: View<'_, f32>) {}").unwrap();
        ["\"Add\"", "\"AddInit\"", "\"AddInfer\""].iter().for_each(|symbol| assert!(all.contains(symbol), "{symbol}"));
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        for (options, function, part) in [
            ("", "fn add<T>(x: View<'_, T>) {}", "dispatch!"),
            ("", "async fn add(x: View<'_, f32>) {}", "async"),
            ("", "unsafe fn add(x: View<'_, f32>) {}", "safe to call"),
            ("", "fn add(&self) {}", "self"),
            ("", "fn exp(x: View<'_, f32>) {}", "belongs to a function"),
            ("name = \"AddInit\"", "fn add(x: View<'_, f32>) {}", "belongs to another kernel"),
            ("output = x", "fn add(x: View<'_, f32>) {}", "expected `init`"),
            ("init = a, init = b", "fn add(x: View<'_, f32>) {}", "stands twice"),
        ] {
            let error = expanded(options, function).unwrap_err().to_string();
            assert!(error.contains(part), "{function}: {error}");
        }
    }
}
