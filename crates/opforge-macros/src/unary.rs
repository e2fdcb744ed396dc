//! `#[unary(samples = from..to, reference = f)]`: an operator, from the block that says what it does with one element.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, ImplItem, ItemImpl, Path, Result, Token, Type};

use crate::operator::named;

/// The items of the tile function; all others are those of `Unary`.
const OF_TILE: [&str; 7] = ["INT", "BOOL", "PICOSECONDS", "SIGN", "float", "int", "boolean"];

/// What the attribute says: the inputs of samples, and what the function should give for one.
pub struct Samples {
    range: Expr,
    reference: Expr,
}

impl Parse for Samples {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let range = named(input, "samples")?;
        input.parse::<Token![,]>()?;
        let reference = named(input, "reference")?;
        input.parse::<Option<Token![,]>>()?;
        Ok(Samples { range, reference })
    }
}

pub fn expand(Samples { range, reference }: Samples, block: ItemImpl) -> Result<TokenStream> {
    let (path, ty) = header(&block)?;
    let function = format_ident!("{}", snake_case(&ty.to_string()), span = ty.span());
    let doc = format!("The tile function of [`{function}`](fn@{function}).");
    let attributes = &block.attrs;
    let (tile, operator): (Vec<_>, Vec<_>) = block.items.iter().partition(|item| is_of_tile(item));
    // Spelled as if it stood in the file, for what the compiler says of it.
    let impls = quote_spanned! {block.impl_token.span=>
        impl ::opforge::ops::prelude::UnaryFn for #ty {
            #(#tile)*
        }

        impl #path for #ty {
            const NAME: &'static str = stringify!(#function);
            #(#operator)*
        }
    };
    Ok(quote! {
        #[doc = #doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ::opforge::operator::Attributes)]
        pub struct #ty;

        #impls

        #[::opforge::function(out)]
        #(#attributes)*
        #[operator(
            ::opforge::family::unary_dtypes::<#ty>(),
            || ::opforge::family::unary_samples(#ty, #range, #reference),
            #ty,
            gradient = <#ty as #path>::DIFFERENTIABLE
        )]
        pub fn #function(input: &Tensor) -> Result<Tensor> {
            ::opforge::family::unary_promoted(#ty, input, out)
        }
    })
}

/// The trait and the name in `impl Unary for Name`.
fn header(block: &ItemImpl) -> Result<(&Path, &Ident)> {
    let expected = |tokens: &dyn ToTokens| Error::new_spanned(tokens, "expected `impl Unary for Name`");
    let (path, _) = block.trait_.as_ref().ok_or_else(|| expected(&block.self_ty))?;
    if path.segments.last().is_none_or(|last| last.ident != "Unary") {
        return Err(expected(path));
    }
    match &*block.self_ty {
        Type::Path(ty) if block.generics.params.is_empty() => {
            Ok((path, ty.path.get_ident().ok_or_else(|| expected(ty))?))
        }
        ty => Err(expected(ty)),
    }
}

fn is_of_tile(item: &ImplItem) -> bool {
    match item {
        ImplItem::Const(item) => OF_TILE.iter().any(|name| item.ident == name),
        ImplItem::Fn(item) => OF_TILE.iter().any(|name| item.sig.ident == name),
        _ => false,
    }
}

/// `BesselJ0` as `bessel_j0`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
