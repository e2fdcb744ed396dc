//! The order of elements along an axis.

mod key;
mod search;

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::parallel::parallel_for;
use opforge_runtime::{Kernel, alloc};

use crate::copy::{Axis, Nest, Shared, byte_steps};
use crate::scratch::with_scratch;
use key::{Key, Packed};
pub use search::search;

/// Elements that a thread sorts at a time.
const GRAIN: usize = 1 << 12;

/// The kernel that gives the indices which sort the elements along `axis`. The output is u32 or i64.
///
/// The order is stable, also descending. NaN counts as larger than every number, and the two zeros as equal.
///
/// # Errors
/// Complex numbers; an axis beyond the rank, or too long for the output's dtype; an output of another shape.
pub fn arg_sort(
    op: &'static str,
    input: &Meta,
    axis: usize,
    descending: bool,
    output: &Meta,
) -> Result<Arc<dyn Kernel>> {
    if input.dims() != output.dims() || axis >= input.rank() {
        let accepted = format!("equal shapes that have dim {axis}");
        return Err(Error::shapes(op, input.shape(), output.shape(), accepted));
    }
    if !matches!(output.dtype, DType::U32 | DType::I64) {
        return Err(Error::dtype(op, "output", output.dtype, "u32 or i64"));
    }
    if output.layout.may_overlap_itself() {
        return Err(Error::value(op, "output", format!("{:?}", output.layout), "a layout without overlaps"));
    }
    let steps = byte_steps(input).zip(byte_steps(output));
    let mut axes: Vec<Axis<2>> =
        input.dims().iter().zip(steps).map(|(&len, (src, dst))| Axis { len, step: [src, dst] }).collect();
    let row = axes.remove(axis);
    if u32::try_from(row.len).is_err() {
        return Err(Error::shape(op, "input", format!("{:?}", input.shape()), "fewer than 2^32 elements in a row"));
    }
    let (sort, pair): (SortRow, usize) = match input.dtype {
        DType::Bool => (sort_row::<u8>, size_of::<u64>()),
        dtype => by_number!(op, dtype, T => (sort_row::<T>, size_of::<<T as Key>::Packed>())),
    };
    let wide = output.dtype == DType::I64;
    Ok(Arc::new(ArgSort {
        nest: Nest::collapse(axes.into_iter()),
        row,
        scratch: row.len * pair,
        descending,
        wide,
        sort,
    }))
}

/// Writes the indices that sort a row, as i64 if `wide`.
type SortRow = unsafe fn(row: Axis<2>, descending: bool, wide: bool, src: *const u8, dst: *mut u8);

struct ArgSort {
    nest: Nest<2>,
    row: Axis<2>,
    /// Bytes of working memory that a row takes.
    scratch: usize,
    descending: bool,
    wide: bool,
    sort: SortRow,
}

impl Kernel for ArgSort {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (src, dst) = (Shared(inputs[0]), Shared(outputs[0]));
        if self.row.len == 0 {
            return Ok(());
        }
        alloc::check_request(self.scratch)?;
        let grain = (GRAIN / self.row.len).max(1);
        parallel_for(self.nest.count(), grain, |range| {
            self.nest.for_each(range, |[s, d]| {
                // SAFETY: offsets are within the tensors; rows are disjoint.
                unsafe { (self.sort)(self.row, self.descending, self.wide, src.get().offset(s), dst.get().offset(d)) };
            });
        });
        Ok(())
    }

    fn cost(&self) -> u64 {
        let (rows, len) = (self.nest.count(), self.row.len);
        20 + (rows * len * (5 + len.max(2).ilog2() as usize)) as u64
    }
}

/// Sorts pairs of key and index as plain integers, which makes the order stable.
///
/// # Safety
/// Valid for all elements of the row.
unsafe fn sort_row<T: Key>(row: Axis<2>, descending: bool, wide: bool, src: *const u8, dst: *mut u8) {
    with_scratch(row.len * size_of::<T::Packed>(), |scratch| {
        // SAFETY: the scratch is aligned, initialised and large enough, and every pattern of bits is an integer.
        let pairs = unsafe { std::slice::from_raw_parts_mut(scratch.cast::<T::Packed>(), row.len) };
        for (i, pair) in pairs.iter_mut().enumerate() {
            // SAFETY: by the contract.
            let value = unsafe { src.offset(i as isize * row.step[0]).cast::<T>().read_unaligned() };
            *pair = T::Packed::new(value.key(), descending, i as u32);
        }
        pairs.sort_unstable();
        for (i, pair) in pairs.iter().enumerate() {
            // SAFETY: by the contract.
            unsafe {
                let at = dst.offset(i as isize * row.step[1]);
                match wide {
                    true => at.cast::<i64>().write_unaligned(pair.index().into()),
                    false => at.cast::<u32>().write_unaligned(pair.index()),
                }
            }
        }
    });
}

#[cfg(test)]
mod tests;
