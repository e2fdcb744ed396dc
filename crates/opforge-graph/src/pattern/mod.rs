//! Graphs with the sizes left open: what a text says, and what several traces have in common. [`Pattern::fill`] makes a graph of it.

pub(crate) mod expression;
mod fill;
mod fit;
mod read;
mod unify;
mod write;

#[cfg(test)]
mod tests;

use std::panic::Location;
use std::sync::Arc;

use opforge::term::Term;
use opforge::{DType, Meta};

use expression::Expression;
pub(crate) use unify::{Sample, unify};

use crate::graph::Use;

/// The format that errors of texts name.
pub(crate) const FORMAT: &str = "graph";

/// A size that calls are free to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// The name, by which shapes and attributes are told.
    pub name: Arc<str>,
    /// The least that it can be.
    pub min: usize,
    /// The most that it can be.
    pub max: usize,
}

/// Lines of a graph's text.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub sizes: Vec<Size>,
    pub inputs: Vec<Part>,
    pub lines: Vec<Line>,
    pub outputs: Vec<Part>,
}

/// A line of the text, with its number.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub number: usize,
    pub says: Says,
}

#[derive(Debug, Clone)]
pub(crate) enum Says {
    /// Memory of this number was there before, stored like this.
    Captured { value: usize, name: String, stored: Type },
    /// A key of random numbers.
    Key { value: usize },
    /// A call.
    Call { term: Term, inputs: Vec<Part>, outputs: Vec<Part>, at: Option<&'static Location<'static>> },
}

/// A tensor: a number, and a part of that memory.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub value: usize,
    pub is: Type,
}

/// A dtype and a layout.
#[derive(Debug, Clone)]
pub(crate) struct Type {
    pub dtype: DType,
    pub dims: Vec<Expression>,
    /// None where it is contiguous.
    pub stride: Option<Vec<Expression>>,
    pub start: Expression,
}

impl From<&Meta> for Type {
    fn from(meta: &Meta) -> Type {
        let numbers = |numbers: &[usize]| numbers.iter().map(|&n| Expression::from(n as i128)).collect();
        let layout = &meta.layout;
        let stride = (!layout.is_contiguous()).then(|| numbers(layout.stride()));
        let start = Expression::from(layout.start_offset() as i128);
        Type { dtype: meta.dtype, dims: numbers(layout.dims()), stride, start }
    }
}

impl Part {
    /// A tensor with the number of its value in the text.
    pub fn of(x: &Use, numbers: &[Option<usize>]) -> Part {
        // Every value that is used has a number.
        Part { value: numbers[x.value].unwrap_or(usize::MAX), is: Type::from(&x.meta) }
    }
}
