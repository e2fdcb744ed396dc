//! Positions of true elements.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::alloc::Room;
use opforge_runtime::parallel::parallel_for;
use opforge_runtime::{HostKernel, checkpoint};

use crate::copy::{Shared, byte_steps};
use crate::loops::work::{LOOK, look_at};

/// Elements that a thread looks at a time.
const CHUNK: usize = 1 << 14;

/// The kernel that writes the positions, in row-major order, of a bool tensor's true elements: a row of `rank` indices for each.
/// Others may write to the mask meanwhile, as threads of numpy can: no more is written than there is room for, and another number is an error.
///
/// The output, `[count, rank]` in i64 and contiguous, has room for as many as there are.
///
/// # Errors
/// Shape or dtype mismatch. Running it: another number of true elements than the output has rows.
pub fn nonzero(op: &'static str, input: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    if input.dtype != DType::Bool {
        return Err(Error::dtype(op, "input", input.dtype, DType::Bool));
    }
    if output.dtype != DType::I64 {
        return Err(Error::dtype(op, "output", output.dtype, DType::I64));
    }
    let ([count, rank], true) = (output.dims(), output.layout.is_contiguous()) else {
        return Err(Error::shape(op, "output", format!("{:?}", output.layout), "a contiguous matrix"));
    };
    if *rank != input.rank() {
        return Err(Error::shapes(op, input.shape(), output.shape(), "an index for each dimension"));
    }
    let (&row, lead) = input.dims().split_last().unwrap_or((&1, &[]));
    let steps: Vec<isize> = byte_steps(input).collect();
    Ok(Arc::new(Nonzero {
        op,
        count: *count,
        rows: if row == 0 { 0 } else { lead.iter().product() },
        row,
        dims: lead.to_vec(),
        step: steps.last().copied().unwrap_or(1),
        steps: steps[..lead.len()].to_vec(),
        rank: *rank,
    }))
}

struct Nonzero {
    op: &'static str,
    count: usize,
    /// The number of rows: of the loops over all dimensions but the last.
    rows: usize,
    row: usize,
    step: isize,
    dims: Vec<usize>,
    steps: Vec<isize>,
    rank: usize,
}

impl Nonzero {
    /// Calls `f` with each row's coordinates and address.
    fn each_row(&self, mask: *const u8, rows: Range<usize>, mut f: impl FnMut(&[i64], *const u8)) {
        let mut at = vec![0i64; self.dims.len()];
        let mut rest = rows.start;
        let mut here = mask;
        for d in (0..self.dims.len()).rev() {
            at[d] = (rest % self.dims[d]) as i64;
            here = here.wrapping_offset(at[d] as isize * self.steps[d]);
            rest /= self.dims[d];
        }
        for _ in rows {
            f(&at, here);
            for d in (0..self.dims.len()).rev() {
                at[d] += 1;
                here = here.wrapping_offset(self.steps[d]);
                if at[d] < self.dims[d] as i64 {
                    break;
                }
                here = here.wrapping_offset(-(at[d] as isize) * self.steps[d]);
                at[d] = 0;
            }
        }
    }

    /// # Safety
    /// The rows are readable.
    unsafe fn count_rows(&self, mask: *const u8, rows: Range<usize>) -> usize {
        let mut count = 0;
        self.each_row(mask, rows, |_, row| {
            for first in (0..self.row).step_by(LOOK) {
                checkpoint();
                let (row, n) = (row.wrapping_offset(first as isize * self.step), LOOK.min(self.row - first));
                // SAFETY: the row's elements from `first` on are readable, and `n` of them are left.
                count += unsafe {
                    match self.step {
                        1 => std::slice::from_raw_parts(row, n).iter().filter(|&&b| b != 0).count(),
                        step => (0..n as isize).filter(|i| *row.offset(i * step) != 0).count(),
                    }
                };
            }
        });
        count
    }

    /// Writes the positions of the first `most` true elements; false if there are more or fewer, as others may write to the mask meanwhile.
    ///
    /// # Safety
    /// The rows are readable, and `into` has room for `most` positions.
    unsafe fn write_rows(&self, mask: *const u8, rows: Range<usize>, mut into: *mut i64, most: usize) -> bool {
        let mut found = 0;
        self.each_row(mask, rows, |at, row| {
            for i in 0..self.row {
                look_at(i);
                // SAFETY: `i` is below the row's length; `into` has room for `most` positions, and no more than these are written.
                unsafe {
                    if *row.offset(i as isize * self.step) == 0 {
                        continue;
                    }
                    found += 1;
                    if found > most {
                        return;
                    }
                    into.copy_from_nonoverlapping(at.as_ptr(), at.len());
                    if self.rank > 0 {
                        into.add(at.len()).write(i as i64);
                    }
                    into = into.add(self.rank);
                }
            }
        });
        found == most
    }
}

impl HostKernel for Nonzero {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let grain = (CHUNK / self.row.max(1)).max(1);
        let chunks = self.rows.div_ceil(grain);
        let mut starts = Room::filled(chunks, 0usize)?;
        let (mask, into) = (Shared(inputs[0]), Shared(outputs[0].cast::<i64>()));
        let counts = Shared(starts.as_mut_ptr());
        // SAFETY: each range is one chunk, which has a place of its own.
        parallel_for(self.rows, grain, |rows| unsafe {
            let chunk = rows.start / grain;
            counts.get().add(chunk).write(self.count_rows(mask.get(), rows));
        });
        let mut total = 0;
        starts.iter_mut().for_each(|start| total += std::mem::replace(start, total));
        if total != self.count {
            return Err(Error::value(self.op, "input", format!("{total} true elements"), self.count));
        }
        let same = AtomicBool::new(true);
        // SAFETY: as many rows of the output belong to each chunk as true elements were counted in it.
        parallel_for(self.rows, grain, |rows| unsafe {
            let chunk = rows.start / grain;
            let (start, end) = (starts[chunk], starts.get(chunk + 1).copied().unwrap_or(total));
            if !self.write_rows(mask.get(), rows, into.get().add(start * self.rank), end - start) {
                same.store(false, Ordering::Relaxed);
            }
        });
        if same.into_inner() {
            return Ok(());
        }
        Err(Error::value(self.op, "input", "changed while it was read", "a mask that stays as it is"))
    }

    fn cost(&self) -> u64 {
        20 + (self.rows * self.row) as u64 + 4 * (self.count * self.rank) as u64
    }
}
