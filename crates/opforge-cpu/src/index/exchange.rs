//! The permutation of rows that the exchanges of an LU factorisation make.

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;

use crate::loops::staged::with_contiguous;

/// The kernel that turns exchanges of rows into the order that they make: the input is i32, `[.., k]`, the row, counted from 1, that each step
/// exchanges its own with; the output i64, `[.., m]`, contiguous, the row that comes to each place.
///
/// # Errors
/// Other dtypes, other leading dimensions, more exchanges than rows. Running fails for a row that there is not.
pub fn exchange(op: &'static str, pivots: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    if pivots.dtype != DType::I32 || output.dtype != DType::I64 {
        return Err(Error::dtypes(op, pivots.dtype, output.dtype));
    }
    let mismatch = || Error::shapes(op, pivots.shape(), output.shape(), "[.., k] and contiguous [.., m] with k <= m");
    let (Some((&steps, lead)), Some((&rows, batch))) = (pivots.dims().split_last(), output.dims().split_last()) else {
        return Err(mismatch());
    };
    if lead != batch || steps > rows || !output.layout.is_contiguous() {
        return Err(mismatch());
    }
    let kernel = Exchange { op, steps, rows, batch: batch.iter().product() };
    with_contiguous(&[pivots], |_| Ok(Arc::new(kernel)))
}

struct Exchange {
    op: &'static str,
    steps: usize,
    rows: usize,
    batch: usize,
}

impl HostKernel for Exchange {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (batch, steps, rows) = (self.batch, self.steps, self.rows);
        if batch * rows == 0 {
            return Ok(());
        }
        // SAFETY: the metas that `exchange` checked say so.
        let pivots = unsafe { std::slice::from_raw_parts(inputs[0].cast::<i32>(), batch * steps) };
        // SAFETY: the output holds `batch * rows` numbers, as `exchange` checked; they are written before they are read, and the input is other memory.
        let orders = unsafe {
            let at = outputs[0].cast::<i64>();
            (0..batch * rows).for_each(|i| at.add(i).write((i % rows) as i64));
            std::slice::from_raw_parts_mut(at, batch * rows)
        };
        for (b, order) in orders.chunks_mut(rows).enumerate() {
            for (step, &pivot) in pivots[b * steps..(b + 1) * steps].iter().enumerate() {
                let at = usize::try_from(pivot).ok().filter(|at| (1..=rows).contains(at));
                let at = at.ok_or_else(|| Error::index(self.op, "pivots", pivot, format!("1 to {rows}")))?;
                order.swap(step, at - 1);
            }
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        20 + (self.batch * (self.rows + 2 * self.steps)) as u64
    }
}
