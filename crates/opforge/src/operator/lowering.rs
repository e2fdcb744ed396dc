//! What an operator computes, as a value: interpreters read it, and make kernels of it.

use std::fmt::Debug;
use std::sync::Arc;

use opforge_runtime::Kernel;

use super::{Reduce, Rows, Tile};
use crate::{Error, Layout, Meta, Result};

/// What an operator computes of inputs and outputs of these metas.
pub enum Lowering {
    /// The input itself, laid out so: nothing is computed.
    View(Layout),
    /// A function of the elements that stand at the same place of each input, which are broadcast to the outputs' shape.
    Tile(Tile),
    /// Elements combined along axes.
    Reduce(Reduce),
    /// Passes over rows.
    Rows(Rows),
    /// A kernel of the CPU, of which nothing else is known.
    Opaque(Arc<dyn Kernel>),
}

impl Lowering {
    /// The kernel of the CPU.
    ///
    /// # Errors
    /// For a view, and what the kernel cannot be made for.
    pub fn kernel(self, op: &'static str, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        match self {
            Lowering::View(_) => Err(Error::value(op, "out", "a tensor", "nothing: a view has no kernel")),
            Lowering::Tile(tile) => tile.kernel(op, inputs, outputs),
            Lowering::Reduce(reduce) => reduce.kernel(op, inputs[0], outputs[0]),
            Lowering::Rows(rows) => rows.kernel(op, inputs, outputs),
            Lowering::Opaque(kernel) => Ok(kernel),
        }
    }
}

/// What is known of a kernel alone.
pub fn opaque(kernel: Result<Arc<dyn Kernel>>) -> Result<Lowering> {
    kernel.map(Lowering::Opaque)
}

impl Debug for Lowering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Lowering::View(layout) => f.debug_tuple("View").field(layout).finish(),
            Lowering::Tile(tile) => tile.fmt(f),
            Lowering::Reduce(reduce) => reduce.fmt(f),
            Lowering::Rows(rows) => rows.fmt(f),
            Lowering::Opaque(_) => f.write_str("Opaque"),
        }
    }
}
