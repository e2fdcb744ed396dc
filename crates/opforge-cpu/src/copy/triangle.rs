//! Lower and upper triangles of matrices (`tril`, `triu`), with zeros elsewhere.

use std::sync::Arc;

use opforge_core::{Error, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;

use super::{Axis, Nest, Shared, byte_steps, check_output};

/// Bytes that a thread writes at a time.
const CHUNK: usize = 64 << 10;

/// The part of matrices on one side of a diagonal.
struct Triangle {
    lower: bool,
    diagonal: i64,
    /// The loops over matrices.
    nest: Nest<2>,
    /// From row to row.
    rows: Axis<2>,
    /// From element to element of a row.
    row: Axis<2>,
    copy: CopyPart,
    elements: usize,
}

/// Copies the elements in a range of a row, and zeros the others.
type CopyPart = unsafe fn(*const u8, *mut u8, Axis<2>, std::ops::Range<usize>);

/// The kernel that copies matrices, the last two dimensions, where they are on or below (`lower`), or on or above, the diagonal that is
/// `diagonal` above the main one, and writes zeros elsewhere. The output may be the input itself.
///
/// # Errors
/// Shape or dtype mismatch; fewer than two dimensions.
pub fn triangle(
    op: &'static str,
    input: &Meta,
    lower: bool,
    diagonal: i64,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    check_output(op, input, output)?;
    if input.dims() != output.dims() || input.rank() < 2 {
        return Err(Error::shapes(op, input.shape(), output.shape(), "matrices of one shape"));
    }
    let steps = byte_steps(input).zip(byte_steps(output));
    let mut axes: Vec<Axis<2>> =
        input.dims().iter().zip(steps).map(|(&len, (src, dst))| Axis { len, step: [src, dst] }).collect();
    let row = axes.pop().expect("two dimensions");
    let rows = axes.pop().expect("two dimensions");
    let nest = Nest::collapse(axes.into_iter());
    let copy = by_size!(input.dtype.size_in_bytes(), T => copy_part::<T>);
    Ok(Arc::new(Triangle { lower, diagonal, nest, rows, row, copy, elements: input.elem_count() }))
}

impl Triangle {
    /// The elements of row `i` that stay.
    fn kept(&self, i: usize) -> std::ops::Range<usize> {
        let crossing = |beyond: i64| (i as i64).saturating_add(self.diagonal).saturating_add(beyond);
        let clamp = |n: i64| n.clamp(0, self.row.len as i64) as usize;
        if self.lower { 0..clamp(crossing(1)) } else { clamp(crossing(0))..self.row.len }
    }
}

impl HostKernel for Triangle {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        if self.elements == 0 {
            return Ok(());
        }
        let (src, dst) = (Shared(inputs[0]), Shared(outputs[0]));
        let grain = (CHUNK / (self.row.len * self.row.step[1].unsigned_abs()).max(1)).max(1);
        parallel_for(self.nest.count() * self.rows.len, grain, |range| {
            self.nest.for_each_part(self.rows.len, range, |offset, i| {
                let at = |t: usize| offset[t] + i as isize * self.rows.step[t];
                // SAFETY: offsets are within the tensors; rows are disjoint.
                unsafe { (self.copy)(src.get().offset(at(0)), dst.get().offset(at(1)), self.row, self.kept(i)) };
            });
        });
        Ok(())
    }

    fn cost(&self) -> u64 {
        10 + self.elements as u64 / 4
    }
}

/// # Safety
/// Rows of `row.len` elements, aligned to their size, are readable and writable, one or disjoint; `kept` is within them.
unsafe fn copy_part<T: Copy + Default>(src: *const u8, dst: *mut u8, row: Axis<2>, kept: std::ops::Range<usize>) {
    let size = size_of::<T>();
    // SAFETY: both rows have `row.len` elements, aligned to their size; `kept` is within it, and rows are one or disjoint.
    unsafe {
        if row.step == [size as isize; 2] {
            let (from, to) = (src.cast::<T>(), dst.cast::<T>());
            std::slice::from_raw_parts_mut(to, kept.start).fill(T::default());
            std::ptr::copy(from.add(kept.start), to.add(kept.start), kept.len());
            std::slice::from_raw_parts_mut(to.add(kept.end), row.len - kept.end).fill(T::default());
            return;
        }
        for i in 0..row.len {
            let from = src.offset(i as isize * row.step[0]).cast::<T>();
            let value = if kept.contains(&i) { from.read() } else { T::default() };
            dst.offset(i as isize * row.step[1]).cast::<T>().write(value);
        }
    }
}
