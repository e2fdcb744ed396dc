//! Indexing kernels: reading and writing at indices that other tensors hold.
//!
//! Indices may be of any integer dtype; one that is negative or beyond the axis is an [`Error::Index`]. Each is checked when it is read. Where a
//! tensor is changed in place all are checked before anything is written; a new one is then of no use.

mod combine;
mod each;
mod exchange;
mod frequent;
mod gather;
mod ids;
mod lines;
pub(crate) mod nonzero;
mod scatter;
mod tuples;
mod write;

use std::sync::Arc;

use opforge_core::{Error, Meta, Result, Shape};
use opforge_runtime::HostKernel;
use smallvec::SmallVec;

use crate::copy::{byte_steps, check_output};
use crate::memory::scratch::buffer;
pub use exchange::exchange;
use gather::Gather;
use ids::Ids;
pub use nonzero::nonzero;
pub use opforge_tile::forms::{Combine, Indices, Special};
use scatter::{Loops, Scatter};
pub use tuples::{get, put};

/// The kernel that reads its first input at the indices of its second, along `axis`: the axis is replaced by the dimensions of `ids`.
///
/// With `ids` of one dimension this is `index_select`; along the first axis of a table it is an embedding.
///
/// # Errors
/// Shape or dtype mismatch; an axis beyond the rank; indices that are not integers. Running it: an index out of range.
pub fn index_select(
    op: &'static str,
    input: &Meta,
    ids: &Meta,
    axis: usize,
    indices: impl Into<Indices>,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    check_axis(op, axis, input)?;
    check_output(op, input, output)?;
    let (before, after) = (&input.dims()[..axis], &input.dims()[axis + 1..]);
    let dims: Shape = before.iter().chain(ids.dims()).chain(after).copied().collect();
    if dims != *output.shape() {
        return Err(Error::shape(op, "output", format!("{:?}", output.shape()), format!("{dims:?}")));
    }
    // Each operand's steps along the output's dimensions.
    let along =
        |before: &[isize], middle: &[isize], after: &[isize]| -> Steps { [before, middle, after].concat().into() };
    let (id_steps, input_steps) = (steps(ids), steps(input));
    let id_steps = along(&vec![0; before.len()], &id_steps, &vec![0; after.len()]);
    let axis_step = input_steps[axis];
    let input_steps = along(&input_steps[..axis], &vec![0; ids.rank()], &input_steps[axis + 1..]);
    let ids = Ids::new(op, ids, input.dims()[axis], indices)?;
    Ok(Arc::new(Gather::new(ids, &id_steps, axis_step, &input_steps, output)))
}

/// The kernel for `output[.., i, ..] = input[.., ids[.., i, ..], ..]`, `i` along `axis`.
///
/// `ids` has the output's shape, which beside the axis is nowhere longer than the input's.
///
/// # Errors
/// As [`index_select`].
pub fn gather(
    op: &'static str,
    input: &Meta,
    ids: &Meta,
    axis: usize,
    indices: impl Into<Indices>,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    check_axis(op, axis, input)?;
    check_output(op, input, output)?;
    check_within(op, ids, input, Some(axis))?;
    if ids.dims() != output.dims() {
        return Err(Error::shapes(op, ids.shape(), output.shape(), "an output of the indices' shape"));
    }
    let id_steps = steps(ids);
    let mut input_steps = steps(input);
    let axis_step = std::mem::take(&mut input_steps[axis]);
    let ids = Ids::new(op, ids, input.dims()[axis], indices)?;
    Ok(Arc::new(Gather::new(ids, &id_steps, axis_step, &input_steps, output)))
}

/// The kernel that copies `base` to the output and then, for every `i`, has `output[.., ids[.., i, ..], ..]` meet `src[.., i, ..]`, `i` along `axis`.
///
/// Inputs are `base`, `ids` and `src`; the output may be the base itself. `ids` is nowhere longer than `src`, and beside the axis nowhere longer
/// than the base. `f16` and `bf16` are summed in `f32` and rounded once, and floats of which many are added to one place in `f64`. Results do not
/// depend on the number of threads.
///
/// # Errors
/// As [`index_select`]; an output that is not contiguous; products and extremes of bool and complex numbers.
pub fn scatter(
    op: &'static str,
    [base, ids, src]: [&Meta; 3],
    axis: usize,
    indices: impl Into<Indices>,
    how: Combine,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    check_scatter(op, base, ids, src, axis, output)?;
    let loops = Loops::along(ids.dims(), &steps(ids), src, axis, output);
    let ids = Ids::new(op, ids, base.dims()[axis], indices)?;
    Ok(Arc::new(Scatter::of(op, ids, loops, base.dims()[axis], base, how, output)?))
}

/// The kernel that copies `base` to the output and adds the `i`-th slice of `src` along `axis` to slice `ids[i]`, as [`scatter`] does.
///
/// `src` has the base's shape, but for the axis, where it has the length of `ids`.
///
/// # Errors
/// As [`scatter`].
pub fn index_add(
    op: &'static str,
    base: &Meta,
    ids: &Meta,
    src: &Meta,
    axis: usize,
    indices: impl Into<Indices>,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    check_axis(op, axis, base)?;
    check_base(op, base, src, output)?;
    let mut dims: SmallVec<[usize; 6]> = SmallVec::from_slice(base.dims());
    dims[axis] = src.dims().get(axis).copied().unwrap_or(0);
    if src.dims() != &dims[..] || ids.dims() != &dims[axis..axis + 1] {
        return Err(Error::shapes(op, ids.shape(), src.shape(), format!("one index for each slice of {dims:?}")));
    }
    let mut id_steps: Steps = SmallVec::from_elem(0, dims.len());
    id_steps[axis] = steps(ids)[0];
    let loops = Loops::along(&dims, &id_steps, src, axis, output);
    let ids = Ids::new(op, ids, base.dims()[axis], indices)?;
    Ok(Arc::new(Scatter::of(op, ids, loops, base.dims()[axis], base, Combine::Add, output)?))
}

/// Steps in bytes, one a dimension.
type Steps = SmallVec<[isize; 6]>;

fn steps(meta: &Meta) -> Steps {
    byte_steps(meta).collect()
}

fn check_axis(op: &'static str, axis: usize, meta: &Meta) -> Result<()> {
    if axis < meta.rank() {
        return Ok(());
    }
    Err(Error::index(op, "dim", axis, format!("a dimension of the shape {:?}", meta.shape())))
}

/// Refuses indices of another rank than the tensor they point into, or longer than it (but for `axis`).
fn check_within(op: &'static str, ids: &Meta, tensor: &Meta, axis: Option<usize>) -> Result<()> {
    let mut lengths = ids.dims().iter().zip(tensor.dims()).enumerate();
    if ids.rank() == tensor.rank() && lengths.all(|(d, (i, t))| Some(d) == axis || i <= t) {
        return Ok(());
    }
    let besides = axis.map(|a| format!(" beside dim {a}")).unwrap_or_default();
    let accepted = format!("indices of equal rank and nowhere longer{besides}");
    Err(Error::shapes(op, ids.shape(), tensor.shape(), accepted))
}

fn check_base(op: &'static str, base: &Meta, src: &Meta, output: &Meta) -> Result<()> {
    check_output(op, base, output)?;
    if src.dtype != base.dtype {
        return Err(Error::dtype(op, "src", src.dtype, base.dtype));
    }
    if base.dims() != output.dims() || !output.layout.is_contiguous() {
        let accepted = format!("{:?}, contiguous", base.shape());
        return Err(Error::shape(op, "output", format!("{:?}", output.layout), accepted));
    }
    Ok(())
}

fn check_scatter(op: &'static str, base: &Meta, ids: &Meta, src: &Meta, axis: usize, output: &Meta) -> Result<()> {
    check_axis(op, axis, base)?;
    check_base(op, base, src, output)?;
    check_within(op, ids, base, Some(axis))?;
    check_within(op, ids, src, None)
}
