//! Concatenation and stacking: tensors copied one after the other.

use std::sync::Arc;

use opforge_core::{Error, Meta, Result};
use opforge_runtime::HostKernel;
use smallvec::SmallVec;

use super::plan::{CHUNK, copy_run, share};
use super::row::{BLOCK, CopyRow};
use super::run::SHORT_RUN;
use super::{Axis, Nest, Plan, Shared, check_output, far};

enum Cat {
    /// Row by row.
    Rows(Rows),
    /// Each input's copy and where in the output it goes, in bytes.
    Parts(Vec<(Plan, usize)>),
}

impl HostKernel for Cat {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        match self {
            // SAFETY: the rows are made of the inputs and of the output.
            Cat::Rows(rows) => unsafe { rows.run(inputs, outputs[0]) },
            Cat::Parts(parts) => {
                for ((plan, offset), &input) in parts.iter().zip(inputs) {
                    // SAFETY: the part lies within the output's layout.
                    unsafe { plan.run(input, outputs[0].add(*offset)) };
                }
            }
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        match self {
            Cat::Rows(rows) => rows.cost(),
            Cat::Parts(parts) => parts.iter().map(|(plan, _)| plan.cost()).sum(),
        }
    }
}

/// Rows of the output that are made of a run of each input. Blocks of them are written one after the other, since a row whose parts come one input
/// after the other is fetched from memory for each.
struct Rows {
    count: usize,
    /// Bytes of the output from row to row, and of a row.
    step: isize,
    bytes: usize,
    runs: Vec<Run>,
}

/// An input's part of each row.
struct Run {
    bytes: usize,
    /// Bytes from row to row: of the input, and of the output.
    step: [isize; 2],
    /// Where in the output the first row's part begins, in bytes.
    offset: usize,
    /// How short ones are copied.
    short: Option<CopyRow>,
}

impl Rows {
    /// The rows, if all parts have the same. Long ones are copied as well input by input.
    fn new<'a>(parts: impl Iterator<Item = (&'a Meta, &'a Meta, usize)>) -> Option<Rows> {
        let (mut loops, mut runs) = (None, Vec::new());
        for (input, part, offset) in parts {
            let (mut nest, size) = (Nest::new(input, part), part.dtype.size_in_bytes());
            let run = nest.axes.last().copied().filter(|axis| axis.step == [size as isize; 2]);
            nest.axes.truncate(nest.axes.len() - usize::from(run.is_some()));
            let &[axis @ Axis { len, step: [_, to] }] = nest.axes.as_slice() else { return None };
            if input.elem_count() == 0 || *loops.get_or_insert((len, to)) != (len, to) {
                return None;
            }
            let bytes = run.map_or(1, |run| run.len) * size;
            let short = (bytes <= SHORT_RUN).then(|| CopyRow::new(&axis, bytes));
            runs.push(Run { bytes, step: axis.step, offset, short });
        }
        let (count, step) = loops?;
        let bytes = runs.iter().map(|run| run.bytes).sum();
        (step.unsigned_abs() <= CHUNK).then_some(Rows { count, step, bytes, runs })
    }

    /// Nanoseconds on one core.
    fn cost(&self) -> u64 {
        5 + (self.count * self.bytes / 8) as u64
    }

    /// # Safety
    /// As [`HostKernel::run`].
    unsafe fn run(&self, inputs: &[*const u8], output: *mut u8) {
        let (inputs, output): (SmallVec<[_; 8]>, _) = (inputs.iter().copied().map(Shared).collect(), Shared(output));
        let block = (BLOCK / self.bytes).max(1);
        let is_far = self.count * self.bytes >= far::FAR;
        share(self.count, self.bytes, |rows| {
            for first in rows.clone().step_by(block) {
                let count = block.min(rows.end - first);
                for (run, input) in self.runs.iter().zip(&inputs) {
                    let to = output.get().wrapping_offset(first as isize * self.step).wrapping_add(run.offset);
                    // SAFETY: the rows are the input's and the output's, which no other thread writes.
                    unsafe { run.copy(input.get().offset(first as isize * run.step[0]), to, count, is_far) };
                }
            }
            far::finish();
        });
    }
}

impl Run {
    /// Copies the parts of some rows.
    ///
    /// # Safety
    /// Both sides are valid for so many rows.
    #[inline(always)]
    unsafe fn copy(&self, from: *const u8, to: *mut u8, count: usize, is_far: bool) {
        let row = Axis { len: count, step: self.step };
        // SAFETY: both sides have `count` runs at these steps, and are different tensors.
        unsafe {
            if let Some(short) = self.short {
                return short.run(from, to, row);
            }
            let copy = if is_far && self.bytes >= far::RUN { far::copy } else { copy_run };
            for i in 0..count as isize {
                copy(from.offset(i * row.step[0]), to.offset(i * row.step[1]), self.bytes);
            }
        }
    }
}

/// The kernel that joins its inputs along `axis`: the output's length there is the sum of theirs, all other lengths are equal.
///
/// # Errors
/// Shape or dtype mismatch; an axis beyond the rank; an output that overlaps itself.
pub fn cat(op: &'static str, inputs: &[&Meta], axis: usize, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    let mut places = Vec::with_capacity(inputs.len());
    let mut start = 0;
    for input in inputs {
        check_output(op, input, output)?;
        let fits = input.rank() == output.rank()
            && axis < output.rank()
            && input.dims().iter().zip(output.dims()).enumerate().all(|(d, (a, b))| d == axis || a == b);
        if !fits {
            return Err(Error::shapes(
                op,
                input.shape(),
                output.shape(),
                format!("equal lengths but along dim {axis}"),
            ));
        }
        let len = input.dims()[axis];
        let layout = output.layout.narrow(axis, start, len)?;
        let offset = (layout.start_offset() - output.layout.start_offset()) * output.dtype.size_in_bytes();
        places.push((*input, Meta { dtype: output.dtype, layout }, offset));
        start += len;
    }
    if output.dims().get(axis) != Some(&start) {
        return Err(Error::shape(
            op,
            "output",
            format!("{:?}", output.shape()),
            format!("length {start} in dim {axis}"),
        ));
    }
    let bytes = output.elem_count() * output.dtype.size_in_bytes();
    let part = |input: &Meta, place: &Meta| Plan::new(input, place, &[]).within(bytes);
    let parts = || places.iter().map(|(input, place, offset)| (part(input, place), *offset)).collect();
    let rows = Rows::new(places.iter().map(|(input, place, offset)| (*input, place, *offset)));
    Ok(Arc::new(rows.map_or_else(|| Cat::Parts(parts()), Cat::Rows)))
}
