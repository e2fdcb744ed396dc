//! Recurrent layers: all steps of a sequence in one kernel, the matrix product of each step included.

mod backward;
mod cell;
mod forward;
mod parts;

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;

use cell::{Gru, Lstm, Plain};
pub use opforge_tile::forms::CellKind;

/// What an element of a state costs, in elements of a plain loop.
const ELEMENT: usize = 8;

/// The lengths of a layer's tensors.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    steps: usize,
    batch: usize,
    hidden: usize,
}

/// Evaluates an expression for the cell and the element type in question.
macro_rules! by_cell {
    ($op:expr, $kind:expr, $dtype:expr, $cell:ident, $E:ident => $value:expr) => {
        match $dtype {
            DType::F32 => by_cell!(@cell $kind, f32, $cell, $E => $value),
            DType::F64 => by_cell!(@cell $kind, f64, $cell, $E => $value),
            other => return Err(Error::UnsupportedDTypeForOp(other, $op)),
        }
    };
    (@cell $kind:expr, $ty:ty, $cell:ident, $E:ident => $value:expr) => {{
        type $E = $ty;
        match $kind {
            CellKind::Lstm => { let $cell = Lstm; $value }
            CellKind::Gru => { let $cell = Gru; $value }
            CellKind::Tanh => { let $cell = Plain { relu: false }; $value }
            CellKind::Relu => { let $cell = Plain { relu: true }; $value }
        }
    }};
}

/// The kernel that runs a cell over a sequence, from the last step to the first if `reverse`.
///
/// Inputs, contiguous and of one dtype (f32 or f64): the input's gates `[steps, batch, gates hidden]`, the state's weight `[gates hidden, hidden]`
/// and bias `[gates hidden]`, the first hidden state `[batch, hidden]` and, if the cell has one, cell state. Outputs: the hidden states `[steps,
/// batch, hidden]`, the cell states if there are any, and what backward needs, `[steps, batch, saved hidden]`.
///
/// # Errors
/// Other dtypes, shapes or layouts.
pub fn forward(
    op: &'static str,
    kind: CellKind,
    reverse: bool,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    let states = 1 + usize::from(kind.has_cell());
    count(op, inputs, 3 + states)?;
    count(op, outputs, states + 1)?;
    let sizes = sizes(op, kind, inputs[0])?;
    let step = |blocks: usize| vec![sizes.steps, sizes.batch, blocks * sizes.hidden];
    let (wide, state) = (kind.gates() * sizes.hidden, vec![sizes.batch, sizes.hidden]);
    let mut given = vec![step(kind.gates()), vec![wide, sizes.hidden], vec![wide]];
    given.extend(vec![state; states]);
    let mut made = vec![step(1); states];
    made.push(step(kind.saved()));
    check(op, inputs[0].dtype, inputs.iter().chain(outputs), given.iter().chain(&made))?;
    Ok(by_cell!(op, kind, inputs[0].dtype, cell, E => forward::kernel::<_, E>(op, cell, sizes, reverse, inputs)?))
}

/// The gradients of [`forward`].
///
/// Inputs, like there: what it saved, its hidden states, the first one, its weight, the gradients of the hidden states; then, if the cell has one,
/// the cell states, the first one, and the cell states' gradients. Outputs: the gradients of the gates, the input's and the state's, of the first
/// hidden state and, if there is one, of the first cell state.
///
/// # Errors
/// As [`forward`].
pub fn backward(
    op: &'static str,
    kind: CellKind,
    reverse: bool,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    let has_cell = kind.has_cell();
    count(op, inputs, if has_cell { 8 } else { 5 })?;
    count(op, outputs, if has_cell { 4 } else { 3 })?;
    let sizes = sizes(op, kind, outputs[0])?;
    let step = |blocks: usize| vec![sizes.steps, sizes.batch, blocks * sizes.hidden];
    let state = vec![sizes.batch, sizes.hidden];
    let weight = vec![kind.gates() * sizes.hidden, sizes.hidden];
    let mut given = vec![step(kind.saved()), step(1), state.clone(), weight, step(1)];
    let mut made = vec![step(kind.gates()), step(kind.gates()), state.clone()];
    if has_cell {
        given.extend([step(1), state.clone(), step(1)]);
        made.push(state);
    }
    check(op, inputs[0].dtype, inputs.iter().chain(outputs), given.iter().chain(&made))?;
    Ok(by_cell!(op, kind, inputs[0].dtype, cell, E => backward::kernel::<_, E>(op, cell, sizes, reverse)?))
}

fn count(op: &'static str, tensors: &[&Meta], n: usize) -> Result<()> {
    if tensors.len() == n { Ok(()) } else { Err(Error::value(op, "tensors", tensors.len(), n)) }
}

fn sizes(op: &'static str, kind: CellKind, gates: &Meta) -> Result<Sizes> {
    match *gates.dims() {
        [steps, batch, wide] if wide % kind.gates() == 0 => Ok(Sizes { steps, batch, hidden: wide / kind.gates() }),
        _ => {
            let accepted = format!("[steps, batch, {} hidden]", kind.gates());
            Err(Error::shape(op, "gates", format!("{:?}", gates.shape()), accepted))
        }
    }
}

fn check<'a>(
    op: &'static str,
    dtype: DType,
    metas: impl Iterator<Item = &'a &'a Meta>,
    shapes: impl Iterator<Item = &'a Vec<usize>>,
) -> Result<()> {
    for (meta, shape) in metas.zip(shapes) {
        if meta.dtype != dtype {
            return Err(Error::dtypes(op, dtype, meta.dtype));
        }
        if meta.dims() != &shape[..] || !meta.layout.is_contiguous() {
            return Err(Error::shape(op, "tensors", format!("{:?}", meta.layout), format!("{shape:?}, contiguous")));
        }
    }
    Ok(())
}
