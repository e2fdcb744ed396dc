//! What an operator computes, as a value: interpreters read it, and make kernels of it.
//!
//! A tile function, a reduction and a function of rows can be traced (`opforge-trace`); a form (`opforge_tile::forms`) is plain data.
//! [`Lowering::Opaque`] is a kernel of which nothing else is known: that of operators that users bring, and of quantized blocks; [`Lowering::Function`] is a
//! user's function of tensors, which is no kernel. `tests/operators/forms` reads
//! forms naively in f64, knowing nothing else, and expects what the kernels give for every call that samples and their gradients make.

use std::fmt::Debug;
use std::sync::Arc;

use opforge_core::Scalar;
use opforge_cpu::{arange, dense, distance, elementwise, forms, fourier, reduce, scan};
use opforge_runtime::{HostKernel, Kernel};
use opforge_tile::forms::{
    Attention, Contract, Dense, Distances, Draws, Fourier, Index, Move, Normalize, Recurrent, Scan, Search, Sort,
    Spread, Windowed,
};

use super::{Reduce, Rows, Tile};
use crate::{Error, Layout, Meta, Result, Tensor};

/// A function of an operator's inputs that gives its outputs, the first of them at least: those behind are inputs that it changes.
pub type TensorFunction = dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync;

/// What an operator computes of inputs and outputs of these metas.
pub enum Lowering {
    /// The input itself, laid out so: nothing is computed.
    View(Layout),
    /// One number everywhere.
    Fill(Scalar),
    /// `start + i step` for element `i` of a vector.
    Range {
        /// The first number.
        start: Scalar,
        /// The distance between numbers.
        step: Scalar,
    },
    /// A function of the elements that stand at the same place of each input, which are broadcast to the outputs' shape.
    Tile(Tile),
    /// Elements combined along axes.
    Reduce(Reduce),
    /// The variance along axes, or its root.
    Spread(Spread),
    /// The index of an extreme element along an axis.
    Search(Search),
    /// Running results along an axis.
    Scan(Scan),
    /// Passes over rows.
    Rows(Rows),
    /// Normalisation: elements less their mean, divided by their standard deviation; and its gradient.
    Normalize(Normalize),
    /// Products of matrices.
    Contract(Contract),
    /// Distances between rows, and their gradient.
    Distances(Distances),
    /// Attention, and its gradients.
    Attention(Attention),
    /// A recurrent cell over a sequence, and its gradients.
    Recurrent(Recurrent),
    /// Elements moved as they are.
    Move(Move),
    /// Elements read or written at integer indices: gather, scatter and their like.
    Index(Index),
    /// Convolutions, pooling and resampling: elements made of those under windows.
    Windowed(Windowed),
    /// The indices that sort, and search in sorted numbers.
    Sort(Sort),
    /// Factorisations, inverses and functions of matrices.
    Dense(Dense),
    /// Fourier transforms of lines.
    Fourier(Fourier),
    /// Numbers drawn at random.
    Random(Draws),
    /// The input's bytes on another device, which interpreters copy there; both tensors are contiguous.
    Transfer,
    /// A kernel of the CPU, of which nothing else is known: that of an operator that users bring.
    Opaque(Arc<dyn HostKernel>),
    /// A kernel of the tensors' own device, whichever it is: that of a graph.
    Prepared(Arc<dyn Kernel>),
    /// A function that the calling thread runs, and that makes calls of its own: that of an operator in another language. Graphs run it between kernels.
    Function(Arc<TensorFunction>),
}

impl Lowering {
    /// The kernel of the CPU.
    ///
    /// # Errors
    /// For what has no kernel of its own, and what the kernel cannot be made for.
    pub fn kernel(self, op: &'static str, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
        let output = outputs[0];
        match self {
            Lowering::View(_) => Err(Error::value(op, "out", "a tensor", "nothing: a view has no kernel")),
            Lowering::Transfer => Err(Error::value(op, "device", "the CPU's", "another device than the input's")),
            Lowering::Fill(value) => elementwise::fill(op, value, output),
            Lowering::Range { start, step } => arange::arange(op, start, step, output),
            Lowering::Tile(tile) => tile.kernel(op, inputs, outputs),
            Lowering::Reduce(reduce) => Ok(reduce.kernel(op, inputs[0], output)?),
            Lowering::Spread(form) => reduce::spread(op, &form, inputs[0], output),
            Lowering::Search(Search { extreme, axis }) => reduce::arg_reduce(op, extreme, inputs[0], axis, output),
            Lowering::Scan(form) => scan::scan(op, form, inputs[0], output),
            Lowering::Rows(rows) => rows.kernel(op, inputs, outputs),
            Lowering::Normalize(form) => forms::normalized(op, form, inputs, outputs),
            Lowering::Attention(form) => forms::attended(op, form, inputs, outputs),
            Lowering::Recurrent(form) => forms::recurred(op, form, inputs, outputs),
            Lowering::Contract(form) => forms::contract(op, form, inputs, output),
            Lowering::Distances(form) => distance::distances(op, form, inputs, output),
            Lowering::Move(form) => forms::moved(op, &form, inputs, output),
            Lowering::Index(form) => forms::indexed(op, form, inputs, output),
            Lowering::Windowed(form) => forms::windowed(op, &form, inputs, outputs),
            Lowering::Sort(form) => forms::sorted(op, form, inputs, output),
            Lowering::Dense(form) => dense::dense(op, form, inputs, outputs),
            Lowering::Fourier(form) => fourier::fourier(op, form, inputs[0], output),
            Lowering::Random(form) => forms::drawn(op, &form, inputs, output),
            Lowering::Opaque(kernel) => Ok(kernel),
            Lowering::Prepared(_) => Err(Error::value(op, "form", "a kernel", "what a kernel is made of")),
            Lowering::Function(_) => Err(Error::value(op, "form", "a function of tensors", "what a kernel is made of")),
        }
    }
}

impl Debug for Lowering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Lowering::View(layout) => f.debug_tuple("View").field(layout).finish(),
            Lowering::Fill(value) => f.debug_tuple("Fill").field(value).finish(),
            Lowering::Range { start, step } => {
                f.debug_struct("Range").field("start", start).field("step", step).finish()
            }
            Lowering::Tile(tile) => tile.fmt(f),
            Lowering::Reduce(reduce) => reduce.fmt(f),
            Lowering::Spread(form) => form.fmt(f),
            Lowering::Search(form) => form.fmt(f),
            Lowering::Scan(form) => form.fmt(f),
            Lowering::Rows(rows) => rows.fmt(f),
            Lowering::Normalize(form) => form.fmt(f),
            Lowering::Attention(form) => form.fmt(f),
            Lowering::Recurrent(form) => form.fmt(f),
            Lowering::Contract(form) => form.fmt(f),
            Lowering::Distances(form) => form.fmt(f),
            Lowering::Move(form) => form.fmt(f),
            Lowering::Index(form) => form.fmt(f),
            Lowering::Windowed(form) => form.fmt(f),
            Lowering::Sort(form) => form.fmt(f),
            Lowering::Dense(form) => form.fmt(f),
            Lowering::Fourier(form) => form.fmt(f),
            Lowering::Random(form) => form.fmt(f),
            Lowering::Transfer => f.write_str("Transfer"),
            Lowering::Opaque(_) => f.write_str("Opaque"),
            Lowering::Prepared(_) => f.write_str("Prepared"),
            Lowering::Function(_) => f.write_str("Function"),
        }
    }
}
