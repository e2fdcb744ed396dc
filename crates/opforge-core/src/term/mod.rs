//! Values as text and back: operators with their attributes.
//!
//! ```text
//! term   = number | string | name ["(" field, .. ")"] | "[" term, .. "]" | hole
//! field  = term | name "=" term
//! name   = letters, digits and "_", perhaps followed by names in "<" and ">"
//! number = an integer, or a float with a point, an exponent or one of the words inf, -inf and nan
//! hole   = "{" any text without braces "}"
//! ```
//!
//! A hole stands for a number that is not known yet: whoever writes it knows what its text means, and [fills](Term::filled) it.
//!
//! Floats are written with as many digits as tell them from all others; NaN with bits of its own is `nan(bits)`.
//!
//! An operator's text is its type's name with its fields. The one parser knows no operator: `#[derive(Attributes)]` makes both directions,
//! `#[operator(dtypes, samples, Types)]` enters the operators of a file, those of its gradient too, into the registry's table, and tests look for
//! operators that are missing there.

mod attributes;
mod parse;

pub use attributes::{Attributes, Fields, record, type_name, unexpected, unless_named};
pub use parse::Parser;

use std::fmt::{self, Display};

use crate::Result;

/// What is written: a tree, whose leaves are numbers and names.
#[derive(Debug, Clone)]
pub enum Term {
    /// An integer of any dtype.
    Int(i128),
    /// A float, to the bit.
    Float(f64),
    /// A string.
    Text(String),
    /// A name with fields; those without a name have an empty one.
    Named(String, Vec<(String, Term)>),
    /// Several values.
    List(Vec<Term>),
    /// A number that is not known yet.
    Hole(String),
}

impl Term {
    /// A name alone.
    pub fn name(name: impl Into<String>) -> Term {
        Term::Named(name.into(), Vec::new())
    }

    /// The name, of what has one.
    pub fn head(&self) -> Option<&str> {
        match self {
            Term::Named(head, _) => Some(head),
            _ => None,
        }
    }

    /// The term with what `fill` makes of the texts of its holes.
    ///
    /// # Errors
    /// Those of `fill`.
    pub fn filled(&self, fill: &mut impl FnMut(&str) -> Result<Term>) -> Result<Term> {
        Ok(match self {
            Term::Hole(text) => fill(text)?,
            Term::List(terms) => Term::List(terms.iter().map(|term| term.filled(fill)).collect::<Result<_>>()?),
            Term::Named(head, fields) => {
                let fields = fields.iter().map(|(name, term)| Ok((name.clone(), term.filled(fill)?)));
                Term::Named(head.clone(), fields.collect::<Result<_>>()?)
            }
            Term::Int(_) | Term::Float(_) | Term::Text(_) => self.clone(),
        })
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Int(number) => write!(f, "{number}"),
            Term::Float(number) if !number.is_nan() => write!(f, "{number:?}"),
            Term::Float(nan) if nan.to_bits() == f64::NAN.to_bits() => f.write_str("nan"),
            Term::Float(nan) => write!(f, "nan({})", nan.to_bits()),
            Term::Hole(text) => write!(f, "{{{text}}}"),
            Term::Text(text) => write!(f, "\"{}\"", text.escape_default()),
            Term::Named(head, fields) if fields.is_empty() => f.write_str(head),
            Term::Named(head, fields) => {
                write!(f, "{head}(")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    let (comma, equals) = (if i == 0 { "" } else { ", " }, if name.is_empty() { "" } else { "=" });
                    write!(f, "{comma}{name}{equals}{value}")?;
                }
                f.write_str(")")
            }
            Term::List(terms) => {
                f.write_str("[")?;
                for (i, term) in terms.iter().enumerate() {
                    write!(f, "{}{term}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
        }
    }
}

#[cfg(test)]
mod tests;
