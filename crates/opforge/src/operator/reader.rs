//! How operators come back from text: what knows the operators of a type, and reads them from terms.

use opforge_core::term::{Attributes, Term};

use super::Operator;
use crate::Result;

/// Reads the operators of one type.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    /// The type's name, with which its terms begin.
    pub name: fn() -> String,
    /// The operator that was written as a term.
    pub read: fn(&Term) -> Result<Box<dyn Operator>>,
}

impl Reader {
    /// The reader of a type's operators.
    pub const fn of<T: Operator + Attributes>() -> Reader {
        Reader { name: T::type_name, read: |term| Ok(Box::new(T::read(term)?)) }
    }
}

/// A type whose operators can be read: itself. Functions that families make operators of have a constant of the same name.
pub trait Readable {
    /// The readers.
    const READERS: &'static [Reader];
}

impl<T: Operator + Attributes> Readable for T {
    const READERS: &'static [Reader] = &[Reader::of::<T>()];
}
