//! Graphs as text, which [`Graph::parse`] reads back.
//!
//! ```text
//! graph    = "opforge graph 1\n" "graph(" uses ") {\n" {"  " line "\n"} "  return " uses "\n}\n"
//! line     = "%" number " = captured " string " " type           memory that was there before the graph, by its name
//!          | "%" number " = key"                                 a key of random numbers, anew for each run
//!          | uses " = " operator [" " uses]                      a call: what it writes, what is called, what it reads
//! uses     = [use {", " use}]
//! use      = "%" number " " type                                 a tensor: part of the memory of this number
//! type     = dtype dims [" stride " dims] [" from " number]      strides and the first element, where it is not contiguous from 0 on
//! dims     = "[" [number {", " number}] "]"
//! operator = a term, as opforge::term tells
//! ```
//!
//! Numbers count what is defined, from 0 on: arguments, what is captured and keys, then the results of calls. A call that writes to a number that is there
//! changes that memory in place; one that writes to the next number makes memory as large as the tensor. So
//!
//! ```text
//! opforge graph 1
//! graph(%0 f32[2, 3]) {
//!   %1 = captured "weight" f32[4, 3]
//!   %2 f32[2, 4] = Linear %0 f32[2, 3], %1 f32[4, 3]
//!   %2 f32[2, 4] = UnaryOp<Relu> %2 f32[2, 4]
//!   return %2 f32[4, 2] stride [1, 4]
//! }
//! ```
//!
//! is the transpose of `relu(x weight^T)`, in the memory of the product.

use std::fmt::{self, Display};

use opforge::Meta;

use crate::graph::{Captured, Graph, Origin, Use};

/// The first line of a graph's text, up to the version.
pub(crate) const MAGIC: &str = "opforge graph ";
/// The version of the text, which changes with its grammar and with names of operators.
pub(crate) const VERSION: usize = 1;

impl Display for Graph {
    /// The graph's text. Values that nobody uses are left out, the others numbered anew.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.numbers();
        let list = |uses: &[Use]| uses.iter().map(|x| Numbered(x, &numbers).to_string()).collect::<Vec<_>>().join(", ");
        writeln!(f, "{MAGIC}{VERSION}\ngraph({}) {{", list(&self.inputs))?;
        for (value, number) in numbers.iter().enumerate().filter_map(|(value, number)| Some((value, (*number)?))) {
            match &self.values[value].origin {
                Origin::Captured(captured) => {
                    writeln!(f, "  %{number} = captured {:?} {}", captured.label(number), Type(&captured.stored))?;
                }
                Origin::Key => writeln!(f, "  %{number} = key")?,
                Origin::Input(_) | Origin::Made | Origin::Packed(_) => {}
            }
        }
        for node in &self.nodes {
            let space = if node.inputs.is_empty() { "" } else { " " };
            writeln!(f, "  {} = {}{space}{}", list(&node.outputs), node.op.term(), list(&node.inputs))?;
        }
        let space = if self.outputs.is_empty() { "" } else { " " };
        writeln!(f, "  return{space}{}\n}}", list(&self.outputs))
    }
}

impl Captured {
    /// The name in texts and files: its own, or one made of its number.
    pub(crate) fn label(&self, number: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("%{number}"))
    }
}

impl Graph {
    /// The numbers of values in the text, of those that are used.
    pub(crate) fn numbers(&self) -> Vec<Option<usize>> {
        let calls = || self.nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs));
        let mut used = vec![false; self.values.len()];
        calls().chain(&self.outputs).for_each(|x| used[x.value] = true);
        let given = (0..self.values.len())
            .filter(|&value| used[value] && matches!(self.values[value].origin, Origin::Captured(_) | Origin::Key));
        let made = self.nodes.iter().flat_map(|node| &node.outputs).map(|x| x.value);
        let mut numbers = vec![None; self.values.len()];
        let mut next = 0;
        for value in self.inputs.iter().map(|x| x.value).chain(given).chain(made) {
            if numbers[value].is_none() {
                numbers[value] = Some(next);
                next += 1;
            }
        }
        numbers
    }
}

/// A tensor with the number of its value.
struct Numbered<'a>(&'a Use, &'a [Option<usize>]);

impl Display for Numbered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Numbered(x, numbers) = self;
        // Every value that is used has a number.
        write!(f, "%{} {}", numbers[x.value].unwrap_or(usize::MAX), Type(&x.meta))
    }
}

/// A dtype and a layout.
struct Type<'a>(&'a Meta);

impl Display for Type<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Meta { dtype, layout } = self.0;
        write!(f, "{dtype}{:?}", layout.dims())?;
        if !layout.is_contiguous() {
            write!(f, " stride {:?}", layout.stride())?;
        }
        match layout.start_offset() {
            0 => Ok(()),
            start => write!(f, " from {start}"),
        }
    }
}
