//! A call that may become part of a program.

use opforge_tile::forms::{Move, Normalize};
use smallvec::SmallVec;

use crate::Meta;
use crate::operator::{Lowering, Metas, Operator};

/// Rows of reductions up to this length are folded by one thread whatever else there is, so that blocks of them have the bits of the whole.
const LONGEST_ROW: usize = 1 << 15;
/// Rows of reductions from this length on are folded along themselves.
const SHORTEST_ROW: usize = 32;

/// An operator on tensors of these metas.
#[derive(Debug)]
pub struct Part {
    /// The operator.
    pub op: Box<dyn Operator>,
    /// Its inputs.
    pub inputs: SmallVec<[Meta; 3]>,
    /// Its outputs.
    pub outputs: Metas,
}

impl Part {
    /// Whether a call can be computed block by block with the same bits, and cannot fail.
    pub fn is_possible(op: &dyn Operator, lowering: &Lowering, inputs: &[&Meta], outputs: &[&Meta]) -> bool {
        !op.has_effects() && streams(lowering, inputs, outputs)
    }

    /// The call.
    pub fn new(op: &dyn Operator, inputs: &[&Meta], outputs: &[&Meta]) -> Self {
        let owned = |metas: &[&Meta]| metas.iter().map(|&meta| meta.clone()).collect::<Vec<Meta>>();
        Part { op: op.boxed(), inputs: owned(inputs).into(), outputs: owned(outputs).into() }
    }

    /// The inputs, then the outputs.
    pub(super) fn metas(&self) -> impl Iterator<Item = &Meta> {
        self.inputs.iter().chain(&self.outputs)
    }
}

/// Whether what is computed reads and writes tensors once from one end to the other, and an element's bits do not depend on what else there is.
fn streams(lowering: &Lowering, inputs: &[&Meta], outputs: &[&Meta]) -> bool {
    match lowering {
        Lowering::Fill(_) | Lowering::Move(Move::Copy) => true,
        Lowering::Tile(tile) => !tile.refuses_elements(inputs[0].dtype),
        Lowering::Reduce(reduce) => is_row_of(inputs[0], &reduce.axes),
        Lowering::Search(search) => is_row_of(inputs[0], &[search.axis]),
        Lowering::Rows(rows) => {
            inputs.iter().all(|input| input.rank() != outputs[0].rank() || ends_with(input, rows.axis))
        }
        Lowering::Normalize(form) => matches!(form, Normalize::Rows { .. } | Normalize::RootMeanSquare { .. }),
        _ => false,
    }
}

/// Whether elements along an axis lie next to each other, in a row that is not too long.
fn ends_with(meta: &Meta, axis: usize) -> bool {
    meta.layout.stride()[axis] <= 1 && meta.dims()[axis] <= LONGEST_ROW
}

/// Whether the axes are the last ones and their elements lie one after the other.
fn is_row_of(input: &Meta, axes: &[usize]) -> bool {
    let first = input.rank() - axes.len();
    let mut len = 1;
    for axis in (first..input.rank()).rev() {
        if !axes.contains(&axis) || input.layout.stride()[axis] != len {
            return false;
        }
        len *= input.dims()[axis];
    }
    (SHORTEST_ROW..=LONGEST_ROW).contains(&len)
}
