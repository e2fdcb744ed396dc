//! Moving elements without changing them: between any two layouts, mirrored, and joined.

mod cat;
mod extend;
mod far;
mod nest;
mod plan;
mod row;
pub(crate) mod run;
pub(crate) mod tile;
mod transpose;
mod triangle;

use std::sync::Arc;

use opforge_core::{Error, Meta, Result};
use opforge_runtime::HostKernel;

pub use cat::cat;
pub use extend::extend;
pub(crate) use nest::{Axis, Nest, byte_steps};
pub(crate) use plan::{Plan, Shared};
pub use triangle::triangle;

struct CopyKernel(Plan);

impl HostKernel for CopyKernel {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: the plan was made for the layouts that the caller promises of the pointers.
        unsafe { self.0.run(inputs[0], outputs[0]) };
        Ok(())
    }

    fn cost(&self) -> u64 {
        self.0.cost()
    }
}

/// The kernel that copies its input's elements to the same indices of its output.
///
/// Shapes and dtypes must be equal. Strides are free, but the output may not overlap itself; a stride of 0 in the input repeats elements, so
/// this also expands broadcasts.
///
/// # Errors
/// Shape or dtype mismatch; an output that overlaps itself.
pub fn copy(op: &'static str, input: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    flip(op, input, &[], output)
}

/// As [`copy`], with the input read backwards along `axes`; naming an axis twice is the same as once.
///
/// # Errors
/// As [`copy`]; an axis beyond the rank.
pub fn flip(op: &'static str, input: &Meta, axes: &[usize], output: &Meta) -> Result<Arc<dyn HostKernel>> {
    if input.dims() != output.dims() {
        return Err(Error::shapes(op, input.shape(), output.shape(), "an output of the input's shape"));
    }
    if let Some(axis) = axes.iter().find(|&&a| a >= input.rank()) {
        return Err(Error::index(op, "dims", axis, format!("dimensions of the shape {:?}", input.shape())));
    }
    check_output(op, input, output)?;
    Ok(Arc::new(CopyKernel(Plan::new(input, output, axes))))
}

/// Refuses an output of another dtype, or one whose elements share memory.
pub(crate) fn check_output(op: &'static str, input: &Meta, output: &Meta) -> Result<()> {
    if input.dtype != output.dtype {
        return Err(Error::dtype(op, "output", output.dtype, input.dtype));
    }
    if output.layout.may_overlap_itself() {
        return Err(Error::value(op, "output", format!("{:?}", output.layout), "a layout without overlaps"));
    }
    Ok(())
}
