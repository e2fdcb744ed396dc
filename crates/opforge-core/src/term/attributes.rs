//! What can be written as a term: attributes of operators, and operators themselves.

use smallvec::{Array, SmallVec};

use super::Term;
use crate::{DType, Error, Result, Scalar, Shape};

/// A value that is written as a [`Term`] and read from one: `read(write(x)) == x`, to the bit.
///
/// Structs and enums derive it (`#[derive(Attributes)]`): a struct is its name with its fields, `Softmax(dim=1, kind=Plain)`; parameters of types belong
/// to the name, `UnaryOp<Sin>`, and a field that is one of them is left out where its name says all.
pub trait Attributes: Sized {
    /// The name of the type, with its parameters.
    fn type_name() -> String;
    /// The value as a term.
    fn write(&self) -> Term;
    /// The value that was written.
    ///
    /// # Errors
    /// For the terms of other types, and numbers that this one does not have.
    fn read(term: &Term) -> Result<Self>;
}

/// The fields of a term, which are read one after the other.
pub struct Fields<'a> {
    owner: String,
    rest: &'a [(String, Term)],
}

impl<'a> Fields<'a> {
    /// Those of a term that begins with this name.
    ///
    /// # Errors
    /// For other terms.
    pub fn of(term: &'a Term, head: &str) -> Result<Self> {
        match term {
            Term::Named(found, fields) if found == head => Ok(Fields { owner: head.to_owned(), rest: fields }),
            _ => Err(unexpected(head, term, head)),
        }
    }

    fn next_term(&mut self, name: &str) -> Option<&'a Term> {
        let ((_, term), rest) = self.rest.split_first().filter(|((found, _), _)| found == name)?;
        self.rest = rest;
        Some(term)
    }

    /// The next field, which has this name.
    ///
    /// # Errors
    /// If it is another, or holds what the type is not.
    pub fn next<T: Attributes>(&mut self, name: &'static str) -> Result<T> {
        match self.next_term(name) {
            Some(term) => T::read(term),
            None => Err(self.missing(name)),
        }
    }

    /// The next field, or what its type's name alone says.
    ///
    /// # Errors
    /// As [`Fields::next`].
    pub fn next_or_name<T: Attributes>(&mut self, name: &'static str) -> Result<T> {
        match self.next_term(name) {
            Some(term) => T::read(term),
            None => T::read(&Term::name(T::type_name())).map_err(|_| self.missing(name)),
        }
    }

    /// Fails if fields are left.
    ///
    /// # Errors
    /// That one.
    pub fn end(self) -> Result<()> {
        match self.rest.first() {
            None => Ok(()),
            Some((name, term)) => Err(Error::value(self.owner, name.clone(), term, "no further attribute")),
        }
    }

    #[cold]
    fn missing(&self, name: &'static str) -> Error {
        let found = self.rest.first().map_or_else(|| "none".to_owned(), |(name, term)| format!("{name}={term}"));
        let name = if name.is_empty() { "a value" } else { name };
        Error::value(self.owner.clone(), "attribute", found, name)
    }
}

/// A type's name with what its parameters are.
pub fn type_name(name: &str, parameters: &[String]) -> String {
    if parameters.is_empty() { name.to_owned() } else { format!("{name}<{}>", parameters.join(",")) }
}

/// A struct's term: fields that a type's name says are left out.
pub fn record<const N: usize>(head: String, fields: [(&'static str, Option<Term>); N]) -> Term {
    let given = fields.into_iter().filter_map(|(name, term)| Some((name.to_owned(), term?)));
    Term::Named(head, given.collect())
}

/// A field's term, unless its type's name says all.
pub fn unless_named<T: Attributes>(value: &T) -> Option<Term> {
    Some(value.write()).filter(|term| !matches!(term, Term::Named(_, fields) if fields.is_empty()))
}

/// The error of a term that is none of `owner`'s.
#[cold]
pub fn unexpected(owner: &str, term: &Term, accepted: &str) -> Error {
    let text: String = term.to_string().chars().take(80).collect();
    Error::value(owner.to_owned(), "attribute", text, accepted)
}

/// Integers.
macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Attributes for $ty {
            fn type_name() -> String {
                stringify!($ty).to_owned()
            }
            fn write(&self) -> Term {
                Term::Int(*self as i128)
            }
            fn read(term: &Term) -> Result<Self> {
                let number = if let Term::Int(number) = term { <$ty>::try_from(*number).ok() } else { None };
                number.ok_or_else(|| unexpected("number", term, stringify!($ty)))
            }
        }
    )*};
}

integers!(usize, i64, u32, u64);

impl Attributes for bool {
    fn type_name() -> String {
        "bool".to_owned()
    }
    fn write(&self) -> Term {
        Term::name(self.to_string())
    }
    fn read(term: &Term) -> Result<Self> {
        match term.head() {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => Err(unexpected("bool", term, "true or false")),
        }
    }
}

impl Attributes for f32 {
    fn type_name() -> String {
        "f32".to_owned()
    }
    fn write(&self) -> Term {
        Term::Float(f64::from(*self))
    }
    fn read(term: &Term) -> Result<Self> {
        // What was written is exact in f32.
        f64::read(term).map(|number| number as f32)
    }
}

impl Attributes for f64 {
    fn type_name() -> String {
        "f64".to_owned()
    }
    fn write(&self) -> Term {
        Term::Float(*self)
    }
    fn read(term: &Term) -> Result<Self> {
        if let Term::Float(number) = term { Ok(*number) } else { Err(unexpected("number", term, "a float")) }
    }
}

impl Attributes for String {
    fn type_name() -> String {
        "String".to_owned()
    }
    fn write(&self) -> Term {
        Term::Text(self.clone())
    }
    fn read(term: &Term) -> Result<Self> {
        if let Term::Text(text) = term { Ok(text.clone()) } else { Err(unexpected("text", term, "a string")) }
    }
}

/// A list, item by item.
fn items<T: Attributes>(term: &Term) -> Result<Vec<T>> {
    match term {
        Term::List(terms) => terms.iter().map(T::read).collect(),
        _ => Err(unexpected("list", term, "[..]")),
    }
}

fn list<'a, T: Attributes + 'a>(items: impl IntoIterator<Item = &'a T>) -> Term {
    Term::List(items.into_iter().map(T::write).collect())
}

impl<T: Attributes> Attributes for Vec<T> {
    fn type_name() -> String {
        "Vec".to_owned()
    }
    fn write(&self) -> Term {
        list(self)
    }
    fn read(term: &Term) -> Result<Self> {
        items(term)
    }
}

impl<A: Array<Item: Attributes>> Attributes for SmallVec<A> {
    fn type_name() -> String {
        "Vec".to_owned()
    }
    fn write(&self) -> Term {
        list(self)
    }
    fn read(term: &Term) -> Result<Self> {
        Ok(items(term)?.into())
    }
}

impl<T: Attributes, const N: usize> Attributes for [T; N] {
    fn type_name() -> String {
        "Array".to_owned()
    }
    fn write(&self) -> Term {
        list(self)
    }
    fn read(term: &Term) -> Result<Self> {
        items(term)?.try_into().map_err(|_| unexpected("list", term, &format!("{N} values")))
    }
}

impl<T: Attributes> Attributes for Option<T> {
    fn type_name() -> String {
        "Option".to_owned()
    }
    fn write(&self) -> Term {
        match self {
            None => Term::name("None"),
            Some(value) => record("Some".to_owned(), [("", Some(value.write()))]),
        }
    }
    fn read(term: &Term) -> Result<Self> {
        if term.head() == Some("None") {
            return Ok(None);
        }
        let mut fields = Fields::of(term, "Some")?;
        let value = fields.next("")?;
        fields.end().map(|()| Some(value))
    }
}

impl Attributes for Shape {
    fn type_name() -> String {
        "Shape".to_owned()
    }
    fn write(&self) -> Term {
        list(self.dims())
    }
    fn read(term: &Term) -> Result<Self> {
        let shape = Shape::from(items::<usize>(term)?);
        shape.check("attribute", 16).map(|()| shape)
    }
}

impl Attributes for DType {
    fn type_name() -> String {
        "DType".to_owned()
    }
    fn write(&self) -> Term {
        Term::name(self.as_str())
    }
    fn read(term: &Term) -> Result<Self> {
        Ok(term.head().ok_or_else(|| unexpected("dtype", term, "a dtype"))?.parse()?)
    }
}

impl Attributes for Scalar {
    fn type_name() -> String {
        "Scalar".to_owned()
    }
    fn write(&self) -> Term {
        match *self {
            Scalar::Bool(truth) => truth.write(),
            Scalar::Int(number) => number.write(),
            Scalar::UInt(number) => record("UInt".to_owned(), [("", Some(number.write()))]),
            Scalar::Float(number) => number.write(),
            Scalar::Complex(re, im) => record("Complex".to_owned(), [("", Some(re.write())), ("", Some(im.write()))]),
        }
    }
    fn read(term: &Term) -> Result<Self> {
        match term {
            Term::Int(_) => i64::read(term).map(Scalar::Int),
            Term::Float(number) => Ok(Scalar::Float(*number)),
            Term::Named(head, _) if head == "UInt" => {
                let mut fields = Fields::of(term, "UInt")?;
                let number = fields.next("")?;
                fields.end().map(|()| Scalar::UInt(number))
            }
            Term::Named(head, _) if head == "Complex" => {
                let mut fields = Fields::of(term, "Complex")?;
                let number = Scalar::Complex(fields.next("")?, fields.next("")?);
                fields.end().map(|()| number)
            }
            _ => bool::read(term).map(Scalar::Bool).map_err(|_| unexpected("scalar", term, "a number")),
        }
    }
}
