//! Graphs as text, which [`Graph::parse`] reads back.
//!
//! ```text
//! graph    = "opforge graph 1\n" {size "\n"} "graph(" uses ") {\n" {"  " line "\n"} "  return " uses "\n}\n"
//! size     = "size " name " from " number [" to " number]        a length that is free (of a DynamicGraph)
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
//! Where sizes are free, a number may be an expression in braces: of a size by its name (`{batch}`, `{2*batch*rows}`, `{(rows+1)//2}`, which is rounded down),
//! or of a length of an earlier result that inference finds (`{%5.2}`: dimension 2 of `%5`). Attributes that are floats may be multiples of them
//! and quotients, `{0.5*(rows)/(rows-1)}`. Results are as long as inference finds in any case; in their own line, `{%5.2}` says no more than that.
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
use std::panic::Location;
use std::str::FromStr;

use opforge::{Error, Result};

use crate::graph::{Captured, Graph, Origin};
use crate::pattern::{FORMAT, Pattern};

/// The first line of a graph's text, up to the version.
pub(crate) const MAGIC: &str = "opforge graph ";
/// The version of the text, which changes with its grammar and with names of operators.
pub(crate) const VERSION: usize = 1;

impl Display for Graph {
    /// The graph's text. Values that nobody uses are left out, the others numbered anew.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern().fmt(f)
    }
}

impl FromStr for Graph {
    type Err = Error;

    /// As [`Graph::parse`].
    #[track_caller]
    fn from_str(text: &str) -> Result<Graph> {
        Graph::parse(text)
    }
}

impl Graph {
    /// The graph that a text tells, as [`Display`] wrote it. What it captured is to be bound: [`Graph::bind`].
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// # use opforge_graph::{Graph, trace};
    /// let x = Tensor::new(&[[1f32, 2.0]], &Device::Cpu)?;
    /// let text = trace(&[&x], |x| Ok(vec![x[0].exp()?.t()?]))?.to_string();
    /// let expected = "opforge graph 1\ngraph(%0 f32[1, 2]) {\n  %1 f32[1, 2] = UnaryOp<Exp> %0 f32[1, 2]\n  return %1 f32[2, 1]\n}\n";
    /// assert_eq!(text, expected);
    /// let graph = Graph::parse(&text)?;
    /// assert_eq!(graph.to_string(), text);
    /// assert_eq!(graph.compile()?.run(&[&x])?[0].dims(), [2, 1]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`], which names the line: for texts of another form or version, operators that are not registered or refuse these tensors, memory that
    /// is not defined before it is used, tensors that are not within it, and sizes that are free. Nothing of what a text claims is allocated.
    #[track_caller]
    pub fn parse(text: &str) -> Result<Graph> {
        let at = Location::caller();
        let pattern = Pattern::read(text)?;
        match pattern.sizes.first() {
            None => pattern.fill(&[], opforge::Device::Cpu, at),
            Some(size) => Err(Error::format(FORMAT, format!("line 2: {size} is free: the graph is a DynamicGraph"))),
        }
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
            .filter(|&value| used[value] && matches!(self.values[value].origin, Origin::Captured(_) | Origin::Key(_)));
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
