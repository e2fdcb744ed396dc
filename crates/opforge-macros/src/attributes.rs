//! `#[derive(Attributes)]`: how a value is written as a term, and read.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, GenericParam, Generics, Result, Type};

pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let DeriveInput { ident, generics, .. } = input;
    let (write, read) = match &input.data {
        Data::Struct(data) => of_struct(&data.fields, generics),
        Data::Enum(data) => of_enum(data.variants.iter().map(|variant| (&variant.ident, &variant.fields)), generics),
        Data::Union(_) => return Err(Error::new_spanned(ident, "expected a struct or an enum")),
    };
    let name = type_name(ident, generics);
    let mut bounded = generics.clone();
    for parameter in bounded.type_params_mut() {
        parameter.bounds.push(syn::parse_quote!(::opforge::term::Attributes));
    }
    let (of, ..) = bounded.split_for_impl();
    let (_, with, when) = generics.split_for_impl();
    Ok(quote! {
        impl #of ::opforge::term::Attributes for #ident #with #when {
            fn type_name() -> ::std::string::String {
                #name
            }
            fn write(&self) -> ::opforge::term::Term {
                #write
            }
            fn read(term: &::opforge::term::Term) -> ::opforge::Result<Self> {
                #read
            }
        }
    })
}

/// `Name`, or `Name<A,3>` with what the parameters are.
fn type_name(ident: &Ident, generics: &Generics) -> TokenStream {
    let parameters = generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(parameter) => {
            let parameter = &parameter.ident;
            Some(quote!(<#parameter as ::opforge::term::Attributes>::type_name()))
        }
        GenericParam::Const(parameter) => {
            let parameter = &parameter.ident;
            Some(quote!(#parameter.to_string()))
        }
        GenericParam::Lifetime(_) => None,
    });
    quote!(::opforge::term::type_name(stringify!(#ident), &[#(#parameters),*]))
}

/// The fields' names as terms have them: those of tuples are empty.
fn names(fields: &Fields) -> Vec<String> {
    fields.iter().map(|field| field.ident.as_ref().map_or_else(String::new, Ident::to_string)).collect()
}

/// Whether a field's type is a parameter, whose name says all where it has no attributes.
fn is_parameter(ty: &Type, generics: &Generics) -> bool {
    let Type::Path(path) = ty else { return false };
    generics.type_params().any(|parameter| path.path.is_ident(&parameter.ident))
}

/// The terms of fields, which stand in these variables.
fn written(fields: &Fields, variables: &[TokenStream], generics: &Generics) -> TokenStream {
    let terms = fields.iter().zip(variables).map(|(field, variable)| match is_parameter(&field.ty, generics) {
        true => quote!(::opforge::term::unless_named(#variable)),
        false => quote!(Some(::opforge::term::Attributes::write(#variable))),
    });
    let names = names(fields);
    quote!([#((#names, #terms)),*])
}

/// What `constructor` makes of fields that are read.
fn taken(constructor: &TokenStream, fields: &Fields, generics: &Generics) -> TokenStream {
    let values = fields.iter().zip(names(fields)).map(|(field, name)| match is_parameter(&field.ty, generics) {
        true => quote!(fields.next_or_name(#name)?),
        false => quote!(fields.next(#name)?),
    });
    let value = match fields {
        Fields::Named(_) => {
            let members = fields.iter().map(|field| &field.ident);
            quote!(#constructor { #(#members: #values),* })
        }
        Fields::Unnamed(_) => quote!(#constructor(#(#values),*)),
        Fields::Unit => quote!(#constructor),
    };
    quote! {
        #[allow(unused_mut)]
        let mut fields = fields;
        let value = #value;
        fields.end().map(|()| value)
    }
}

fn of_struct(fields: &Fields, generics: &Generics) -> (TokenStream, TokenStream) {
    let members = fields.members().map(|member| quote!(&self.#member)).collect::<Vec<_>>();
    let written = written(fields, &members, generics);
    let taken = taken(&quote!(Self), fields, generics);
    let write = quote!(::opforge::term::record(<Self as ::opforge::term::Attributes>::type_name(), #written));
    let read = quote! {
        let fields = ::opforge::term::Fields::of(term, &<Self as ::opforge::term::Attributes>::type_name())?;
        #taken
    };
    (write, read)
}

fn of_enum<'a>(
    variants: impl Iterator<Item = (&'a Ident, &'a Fields)>,
    generics: &Generics,
) -> (TokenStream, TokenStream) {
    let (mut writes, mut reads, mut accepted) = (Vec::new(), Vec::new(), Vec::new());
    for (ident, fields) in variants {
        let name = ident.to_string();
        let variables: Vec<Ident> = (0..fields.len()).map(|i| format_ident!("field{i}")).collect();
        let references: Vec<TokenStream> = variables.iter().map(|variable| quote!(#variable)).collect();
        let members = fields.members();
        let written = written(fields, &references, generics);
        let taken = taken(&quote!(Self::#ident), fields, generics);
        writes.push(quote! {
            Self::#ident { #(#members: #variables),* } => ::opforge::term::record(#name.to_owned(), #written)
        });
        reads.push(quote! {
            Some(#name) => {
                let fields = ::opforge::term::Fields::of(term, #name)?;
                #taken
            }
        });
        accepted.push(name);
    }
    let accepted = accepted.join(", ");
    let write = quote!(match self { #(#writes),* });
    let read = quote! {
        match term.head() {
            #(#reads)*
            _ => Err(::opforge::term::unexpected(&<Self as ::opforge::term::Attributes>::type_name(), term, #accepted)),
        }
    };
    (write, read)
}
