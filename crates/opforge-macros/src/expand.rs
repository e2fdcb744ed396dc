//! From an ordinary function to the function and its signature as data.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, Error, Expr, ItemFn, Meta, PathArguments, Result, ReturnType, Stmt, Type, parse_quote};

use crate::declaration::{Declaration, Defaults, Parameter, declaration};
use crate::faces::Faces;
use crate::operator::Operator;

pub fn expand(defaults: Defaults, mut function: ItemFn) -> Result<TokenStream> {
    let declaration = declaration(&function, defaults)?;
    let faces = take(&mut function.attrs, "python").map(|attribute| Faces::of(&attribute)).transpose()?;
    let view = take(&mut function.attrs, "view").is_some();
    let operator = take(&mut function.attrs, "operator");
    let operator: Option<Operator> = operator.map(|attribute| attribute.parse_args()).transpose()?;
    let signature = signature(&function, &declaration, faces.as_ref(), view)?;
    function.block.stmts.insert(0, own_name(&function.sig.ident, faces.as_ref()));
    let write = if declaration.out { Some(take_body(&mut function, &declaration)) } else { None };
    let name = &function.sig.ident;
    // Spelled as if it stood in the file: of what other macros make, the compiler does not say that it is unused.
    let declared = quote_spanned! {name.span()=>
        #[allow(non_camel_case_types)]
        enum #name {}

        impl #name {
            const FUNCTION: ::opforge::declaration::Function = #signature;
        }
    };
    let write = write.map(|write| quote!(impl #name { #write }));
    let definition = operator.map(|operator| operator.definition(name));
    Ok(quote! {
        #[allow(clippy::too_many_arguments)]
        #[track_caller]
        #function

        #declared
        #write
        #definition
    })
}

/// `write`, which has the function's body and a last parameter `out`, and which the function calls from now on without a destination.
fn take_body(function: &mut ItemFn, declaration: &Declaration) -> TokenStream {
    let (name, inputs, output) = (&function.sig.ident, function.sig.inputs.iter(), &function.sig.output);
    let arguments = declaration.parameters.iter().map(|parameter| &parameter.name);
    let called = parse_quote!({ #name::write(#(#arguments,)* None) });
    let body = std::mem::replace(&mut *function.block, called);
    quote! {
        #[allow(clippy::too_many_arguments)]
        #[track_caller]
        fn write(#(#inputs,)* out: ::opforge::dispatch::Out<'_>) #output #body
    }
}

/// `OP`, the function's name in errors: that in Python.
fn own_name(name: &Ident, faces: Option<&Faces>) -> Stmt {
    let renamed = faces.and_then(|faces| faces.name.as_ref());
    let name = renamed.map_or_else(|| quote!(stringify!(#name)), ToTokens::to_token_stream);
    parse_quote! {
        #[allow(dead_code)]
        const OP: &str = #name;
    }
}

/// The attribute of this name, which is the macro's own and no other's.
fn take(attributes: &mut Vec<Attribute>, name: &str) -> Option<Attribute> {
    let place = attributes.iter().position(|attribute| attribute.path().is_ident(name))?;
    Some(attributes.remove(place))
}

fn signature(function: &ItemFn, declaration: &Declaration, faces: Option<&Faces>, view: bool) -> Result<TokenStream> {
    let Declaration { parameters, out } = declaration;
    let name = &function.sig.ident;
    let doc = function.attrs.iter().filter_map(documentation);
    let described = parameters.iter().map(parameter);
    let returns = spelled(returned(&function.sig.output)?.to_token_stream());
    let faces = faces.map_or_else(|| quote!(None), |Faces { value, .. }| quote!(Some(#value)));
    let arguments = parameters.iter().map(|parameter| argument(name, parameter));
    let call = if *out { quote!(#name::write(#(#arguments,)* out)) } else { quote!(#name(#(#arguments),*)) };
    Ok(quote! {
        ::opforge::declaration::Function {
            name: stringify!(#name),
            module: module_path!(),
            doc: concat!(#(#doc, "\n"),*),
            params: &[#(#described),*],
            returns: #returns,
            declared_faces: #faces,
            view: #view,
            call: &|values: &[::opforge::declaration::Value], out: ::opforge::dispatch::Out<'_>| {
                let _ = out;
                #[allow(unused_mut, unused_variables)]
                let mut values = values.iter();
                #call.map(Into::into)
            },
        }
    })
}

/// A line of documentation, as an expression.
fn documentation(attribute: &Attribute) -> Option<&Expr> {
    match &attribute.meta {
        Meta::NameValue(line) if line.path.is_ident("doc") => Some(&line.value),
        _ => None,
    }
}

fn parameter(Parameter { name, ty, default, keyword_only }: &Parameter) -> TokenStream {
    let default = default.as_ref().map_or_else(
        || quote!(None),
        |value| {
            let text = spelled(value.to_token_stream());
            quote!(Some(::opforge::declaration::Default {
                text: #text,
                value: &|| <#ty as ::opforge::declaration::Argument>::into_value(#value),
            }))
        },
    );
    quote! {
        ::opforge::declaration::Param {
            name: stringify!(#name),
            ty: <#ty as ::opforge::declaration::Argument>::TYPE,
            default: #default,
            keyword_only: #keyword_only,
        }
    }
}

/// The dynamic value that a parameter is given.
fn argument(function: &Ident, Parameter { name, .. }: &Parameter) -> TokenStream {
    quote!(::opforge::declaration::Argument::take(stringify!(#function), stringify!(#name), values.next())?)
}

/// `T` of `Result<T>`.
fn returned(output: &ReturnType) -> Result<&Type> {
    let error = || Error::new_spanned(output, "expected `-> Result<..>`");
    let ReturnType::Type(_, output) = output else { return Err(error()) };
    let Type::Path(path) = &**output else { return Err(error()) };
    match path.path.segments.last().map(|last| (&last.ident, &last.arguments)) {
        Some((name, PathArguments::AngleBracketed(of))) if name == "Result" => match of.args.first() {
            Some(syn::GenericArgument::Type(ty)) => Ok(ty),
            _ => Err(error()),
        },
        _ => Err(error()),
    }
}

/// Tokens as people write them: spaces after commas only.
fn spelled(tokens: TokenStream) -> String {
    let spell = |token| match token {
        TokenTree::Group(group) => {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::None => ("", ""),
            };
            format!("{open}{}{close}", spelled(group.stream()))
        }
        TokenTree::Punct(comma) if comma.as_char() == ',' => ", ".to_owned(),
        other => other.to_string(),
    };
    tokens.into_iter().map(spell).collect()
}
