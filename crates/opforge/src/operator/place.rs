//! Where parts of tensors lie in the whole.
//!
//! Random draws, and indices into a dimension that is split, lower to forms with the part in them. So their bits are those of one process, and
//! nothing is made whole to be cut, or sent to be looked up.

use opforge_tile::forms::{Portion, Segment};

/// Where parts of an operator's inputs and outputs lie in the whole, for operators whose elements depend on that ([`Role::Placed`](super::Role::Placed),
/// [`Role::Lookup`](super::Role::Lookup)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The parts of the inputs.
    pub inputs: Vec<Portion>,
    /// The parts of the outputs.
    pub outputs: Vec<Portion>,
}

impl Place {
    /// Inputs and outputs that are no parts.
    pub const WHOLE: Place = Place { inputs: Vec::new(), outputs: Vec::new() };

    /// The part of an input along a dimension; none where that is all of it.
    pub fn of_input(&self, input: usize, dim: usize) -> Option<Segment> {
        self.inputs.get(input).and_then(|portion| portion.segment(dim))
    }

    /// The part of an output; none where that is all of it.
    pub fn of_output(&self, output: usize) -> Option<&Portion> {
        self.outputs.get(output).filter(|portion| !portion.is_whole())
    }
}
