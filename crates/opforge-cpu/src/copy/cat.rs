//! Concatenation and stacking: tensors copied one after the other.

use std::sync::Arc;

use opforge_core::{Error, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;
use smallvec::SmallVec;

use super::plan::{CHUNK, copy_run};
use super::{Axis, Nest, Plan, Shared, check_output, far};

/// Bytes of a row from which on its parts are written in order.
const SHORT: usize = 512;

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

/// Rows of the output that are made of a run of each input: written in order, since a row whose parts come one input after the other is fetched from
/// memory for each.
struct Rows {
    count: usize,
    /// Bytes of the output from row to row.
    step: isize,
    runs: Vec<Run>,
}

/// An input's part of each row.
struct Run {
    bytes: usize,
    /// Bytes of the input from row to row.
    step: isize,
    /// Where in the output the first row's part begins, in bytes.
    offset: usize,
}

impl Rows {
    /// The rows, if all parts have the same. Short ones are fetched once in any case, long ones copied as well input by input.
    fn new<'a>(parts: impl Iterator<Item = (&'a Meta, &'a Meta, usize)>) -> Option<Rows> {
        let (mut loops, mut runs) = (None, Vec::new());
        for (input, part, offset) in parts {
            let (mut nest, size) = (Nest::new(input, part), part.dtype.size_in_bytes());
            let run = nest.axes.last().copied().filter(|axis| axis.step == [size as isize; 2]);
            nest.axes.truncate(nest.axes.len() - usize::from(run.is_some()));
            let &[Axis { len, step: [from, to] }] = nest.axes.as_slice() else { return None };
            if input.elem_count() == 0 || *loops.get_or_insert((len, to)) != (len, to) {
                return None;
            }
            runs.push(Run { bytes: run.map_or(1, |run| run.len) * size, step: from, offset });
        }
        let (count, step) = loops?;
        (SHORT..=CHUNK).contains(&step.unsigned_abs()).then_some(Rows { count, step, runs })
    }

    /// Nanoseconds on one core.
    fn cost(&self) -> u64 {
        5 + (self.count * self.bytes() / 8) as u64
    }

    /// Bytes of a row.
    fn bytes(&self) -> usize {
        self.runs.iter().map(|run| run.bytes).sum()
    }

    /// # Safety
    /// As [`HostKernel::run`].
    unsafe fn run(&self, inputs: &[*const u8], output: *mut u8) {
        let (inputs, output): (SmallVec<[_; 8]>, _) = (inputs.iter().copied().map(Shared).collect(), Shared(output));
        let bytes = self.bytes();
        let grain = if self.count * bytes < 2 * CHUNK { self.count } else { (CHUNK / bytes).max(1) };
        let is_far = self.count * bytes >= far::FAR;
        parallel_for(self.count, grain, |rows| {
            for row in rows {
                for (run, input) in self.runs.iter().zip(&inputs) {
                    let row = row as isize;
                    // SAFETY: the row is the input's and the output's, which no other thread writes.
                    unsafe {
                        let from = input.get().offset(row * run.step);
                        let to = output.get().add(run.offset).offset(row * self.step);
                        match is_far && run.bytes >= far::RUN {
                            true => far::copy(from, to, run.bytes),
                            false => copy_run(from, to, run.bytes),
                        }
                    }
                }
            }
            far::finish();
        });
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
    let parts = || places.iter().map(|(input, place, offset)| (Plan::new(input, place, &[]), *offset)).collect();
    let rows = Rows::new(places.iter().map(|(input, place, offset)| (*input, place, *offset)));
    Ok(Arc::new(rows.map_or_else(|| Cat::Parts(parts()), Cat::Rows)))
}
