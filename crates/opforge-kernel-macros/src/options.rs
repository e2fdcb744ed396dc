//! The options of the attribute `#[kernel(..)]`, parsed.

use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitStr, Path, Result, Token};

/// What stands in the attribute's parentheses.
#[derive(Default)]
pub struct Options {
    pub init: Option<Path>,
    pub infer: Option<Path>,
    pub name: Option<LitStr>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Options::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            match key.to_string().as_str() {
                "init" => set(&mut options.init, &key, input)?,
                "infer" => set(&mut options.infer, &key, input)?,
                "name" => set(&mut options.name, &key, input)?,
                _ => return Err(Error::new(key.span(), "expected `init`, `infer` or `name`")),
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn set<T: Parse>(option: &mut Option<T>, key: &Ident, input: ParseStream<'_>) -> Result<()> {
    match option.replace(input.parse()?) {
        None => Ok(()),
        Some(_) => Err(Error::new(key.span(), format!("`{key}` stands twice"))),
    }
}
