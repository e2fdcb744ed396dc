//! A call that may become part of a program.

use std::sync::Arc;

use opforge_runtime::HostKernel;
use opforge_tile::forms::{Move, Normalize, Part as Computed, Windowed};
use smallvec::SmallVec;

use crate::operator::{Lowering, Metas, Operator, Reduce};
use crate::{Meta, Result, Shape};

/// Rows of reductions up to this length are folded by one thread whatever else there is, so that blocks of them have the bits of the whole.
const LONGEST_ROW: usize = 1 << 15;
/// Rows of reductions from this length on are folded along themselves.
const SHORTEST_ROW: usize = 32;

/// An operator on tensors of these metas.
#[derive(Debug)]
pub struct Part {
    /// The operator.
    pub op: Box<dyn Operator>,
    /// What it does with elements.
    pub kind: Kind,
    /// Its inputs.
    pub inputs: SmallVec<[Meta; 3]>,
    /// Its outputs.
    pub outputs: Metas,
}

/// What can be computed block by block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A function of single elements.
    Map,
    /// A function of single elements and of numbers of their channels, the second dimension.
    Channels,
    /// A function of rows, or of elements in rows.
    Rows,
    /// All elements combined to one, the sum for example. It ends a program.
    Total,
    /// A product of matrices, or a convolution, which functions of single elements may follow. It begins a program.
    Product {
        /// How many matrices the result is of: images.
        matrices: usize,
        /// Columns of one.
        columns: usize,
    },
}

impl Kind {
    /// That of a call which can be computed block by block with the same bits, and cannot fail.
    pub fn of(op: &dyn Operator, lowering: &Lowering, inputs: &[&Meta], outputs: &[&Meta]) -> Option<Self> {
        let row = |is_row: bool| is_row.then_some(Kind::Rows);
        match lowering {
            _ if op.has_effects() => None,
            Lowering::Fill(_) | Lowering::Move(Move::Copy) => Some(Kind::Map),
            Lowering::Tile(tile) => (!tile.refuses_elements(inputs[0].dtype)).then_some(Kind::Map),
            Lowering::Reduce(reduce) if is_total(reduce, inputs[0], outputs[0]) => Some(Kind::Total),
            Lowering::Reduce(reduce) => row(is_row_of(inputs[0], &reduce.axes)),
            Lowering::Search(search) => row(is_row_of(inputs[0], &[search.axis])),
            Lowering::Rows(rows) => {
                let has_rows = |input: &&&Meta| input.rank() == outputs[0].rank();
                row(inputs.iter().filter(has_rows).all(|input| ends_with(input, rows.axis)))
            }
            Lowering::Contract(_) => {
                Some(Kind::Product { matrices: 1, columns: outputs[0].dims().last().copied().unwrap_or(1) })
            }
            // A row for each channel.
            Lowering::Windowed(Windowed::Convolution { part: Computed::Input | Computed::Output, .. }) => {
                let (batch, plane) = outputs[0].dims().split_at(2);
                Some(Kind::Product { matrices: batch[0], columns: plane.iter().product() })
            }
            Lowering::Normalize(Normalize::Channels) => Some(Kind::Channels),
            Lowering::Normalize(Normalize::Rows { .. } | Normalize::RootMeanSquare { .. }) => Some(Kind::Rows),
            _ => None,
        }
    }
}

impl Part {
    /// The call.
    pub fn new(op: &dyn Operator, kind: Kind, inputs: &[&Meta], outputs: &[&Meta]) -> Self {
        let owned = |metas: &[&Meta]| metas.iter().map(|&meta| meta.clone()).collect::<Vec<Meta>>();
        Part { op: op.boxed(), kind, inputs: owned(inputs).into(), outputs: owned(outputs).into() }
    }

    /// The inputs, then the outputs.
    pub(super) fn metas(&self) -> impl Iterator<Item = &Meta> {
        self.inputs.iter().chain(&self.outputs)
    }

    /// The same function of `len` elements that lie one after the other, if each tensor has as many, contiguous, or one.
    pub(super) fn flattened(&self, len: usize) -> Option<Part> {
        self.reshaped(|meta| match meta.elem_count() {
            count if count == len && meta.layout.is_contiguous() => Some(Shape::from(len)),
            1 => Some(Shape::from(())),
            _ => None,
        })
        .filter(|part| part.kind == Kind::Map)
    }

    /// The same function of matrices below each other, if each tensor is those, row by row; a column or a row that is repeated; or one element.
    pub(super) fn of_matrices(&self, [matrices, rows, columns]: [usize; 3]) -> Option<Part> {
        let channels = channel_axis(self.outputs[0].dims(), [matrices, rows]);
        // Rows are channels only if they are the second dimension: those of a square product may be as many as its columns.
        if self.kind == Kind::Channels && channels != Some(1) {
            return None;
        }
        let after = channels.map(|axis| self.outputs[0].rank() - axis);
        self.reshaped(|meta| {
            let (dims, strides) = (meta.dims(), meta.layout.stride());
            // Whether nothing is read along other dimensions than one, counted from the last.
            let is_only = |kept: usize| {
                let other = |d: &usize| dims.len() - d != kept;
                (0..dims.len()).filter(other).all(|d| dims[d] == 1 || strides[d] == 0)
            };
            let is_along = |kept: usize, len: usize| {
                let at = dims.len().checked_sub(kept);
                at.is_some_and(|d| dims[d] == len && strides[d] == 1) && is_only(kept)
            };
            match meta.elem_count() {
                _ if self.kind == Kind::Channels && meta.rank() == 1 => (strides == [1]).then(|| Shape::from(rows)),
                count if count == matrices * rows * columns && meta.layout.is_contiguous() => {
                    Some(Shape::from((matrices, rows, columns)))
                }
                1 => Some(Shape::from(())),
                _ if is_along(1, columns) => Some(Shape::from(columns)),
                _ => after.filter(|&after| is_along(after, rows)).map(|_| Shape::from((rows, 1))),
            }
        })
    }

    /// The same function of contiguous tensors of other shapes, of single elements and perhaps of numbers of their channels.
    fn reshaped(&self, shape: impl Fn(&Meta) -> Option<Shape>) -> Option<Part> {
        let reshaped = |meta: &Meta| Some(Meta::contiguous(meta.dtype, shape(meta)?));
        let inputs = self.inputs.iter().map(reshaped).collect::<Option<_>>()?;
        let outputs = self.outputs.iter().map(reshaped).collect::<Option<_>>()?;
        let kind = self.kind;
        matches!(kind, Kind::Map | Kind::Channels).then(|| Part { op: self.op.boxed(), kind, inputs, outputs })
    }

    /// The kernel of the whole call.
    pub(super) fn kernel(&self) -> Result<Arc<dyn HostKernel>> {
        let (inputs, outputs): (Vec<&Meta>, Vec<&Meta>) = (self.inputs.iter().collect(), self.outputs.iter().collect());
        self.op.lower(&inputs, &outputs)?.kernel(self.op.name(), &inputs, &outputs)
    }

    /// The multiplications and additions of the whole call.
    pub(super) fn flops(&self) -> usize {
        let (inputs, outputs): (Vec<&Meta>, Vec<&Meta>) = (self.inputs.iter().collect(), self.outputs.iter().collect());
        self.op.lower(&inputs, &outputs).map_or(0, |lowering| lowering.work(&inputs, &outputs).flops)
    }
}

/// Which dimension is that of the rows of several matrices.
fn channel_axis(dims: &[usize], [matrices, rows]: [usize; 2]) -> Option<usize> {
    (0..dims.len()).find(|&d| dims[d] == rows && rows > 1 && dims[..d].iter().product::<usize>() == matrices)
}

/// Whether a reduction makes one element of parts of a row.
fn is_total(reduce: &Reduce, input: &Meta, output: &Meta) -> bool {
    let is_whole = reduce.axes.len() == input.rank() && input.layout.is_contiguous();
    is_whole && reduce.kernel("total", input, output).is_ok_and(|kernel| kernel.parts().is_some())
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
