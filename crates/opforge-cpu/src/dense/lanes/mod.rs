//! Small matrices, a vector of them at once: a lane is a matrix. One matrix at a time, what prepares each takes several times as long as what is
//! computed, and vectors are not filled.

mod eliminate;
mod layout;
mod reflect;
mod scale;
mod svd;
mod symmetric;
mod task;

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use opforge_core::{Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;

use super::{Dense, Failure, FirstFailure};
use crate::copy::Shared;
use crate::loops::work::grain;
use crate::memory::scratch::with_scratch;
use crate::simd::{FloatElem, Isa, Prepared, Routine, Simd, Vector, resolve};
use task::{Places, Task};

/// The most rows and columns of any task.
const MOST_ROWS: usize = 64;
/// The lanes, and the bytes, of a vector at most.
const LANES: usize = 16;
const BYTES: usize = 64;

/// The kernel, of what is done here: matrices of few rows and columns.
pub(super) fn prepare<E: FloatElem>(
    op: &'static str,
    what: Dense,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Option<Arc<dyn HostKernel>> {
    if inputs.iter().chain(outputs).any(|meta| meta.dtype != E::DTYPE) {
        return None;
    }
    // SAFETY: the processor supports the level in use.
    let lanes = unsafe { resolve::<Lanes<E>>(Isa::current())(&Lanes(PhantomData), ()) };
    let task = Task::new(what, inputs, outputs, lanes)?;
    let batch = inputs[0].dims()[..inputs[0].rank() - 2].iter().product();
    let places = task.places(inputs, outputs);
    let routine = Prepared::new(Several::<E> { task, places, element: PhantomData });
    Some(Arc::new(LanesKernel { op, batch, lanes, task, routine }))
}

/// How many matrices a vector has place for.
struct Lanes<E>(PhantomData<E>);

impl<E: FloatElem> Routine for Lanes<E> {
    type Args = ();
    type Output = usize;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (): ()) -> usize {
        <E::Vector<S>>::LANES
    }
}

struct LanesKernel {
    op: &'static str,
    batch: usize,
    lanes: usize,
    task: Task,
    routine: Prepared<Job, Option<(usize, Failure)>>,
}

/// Some matrices of a batch, where the tensors are, and working memory.
struct Job {
    inputs: [*const u8; 2],
    outputs: [*mut u8; 3],
    matrices: Range<usize>,
    room: *mut u8,
}

impl HostKernel for LanesKernel {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let sources = [0, 1].map(|i| Shared(inputs.get(i).copied().unwrap_or(inputs[0])));
        let targets = [0, 1, 2].map(|i| Shared(outputs.get(i).copied().unwrap_or(outputs[0])));
        let failed = FirstFailure::default();
        let groups = self.batch.div_ceil(self.lanes);
        parallel_for(groups, grain(self.lanes * self.task.work()), |groups| {
            let (inputs, outputs) = (sources.map(|source| source.get()), targets.map(|target| target.get()));
            let matrices = groups.start * self.lanes..self.batch.min(groups.end * self.lanes);
            let start = matrices.start;
            let outcome = with_scratch(self.task.room() * BYTES, |room| {
                // SAFETY: the tensors are those whose places the routine holds; each matrix of the outputs is written by one thread; the room is as
                // large as the task needs with the largest vectors.
                unsafe { self.routine.run(Job { inputs, outputs, matrices, room }) }
            });
            match outcome {
                Ok(None) => {}
                Ok(Some((index, failure))) => failed.note(index, failure),
                Err(error) => failed.note(start, error.into()),
            }
        });
        failed.outcome(self.op)
    }

    fn cost(&self) -> u64 {
        50 + (self.batch as u64).saturating_mul(self.task.work() as u64)
    }
}

struct Several<E> {
    task: Task,
    places: Places,
    element: PhantomData<E>,
}

impl<E: FloatElem> Routine for Several<E> {
    type Args = Job;
    type Output = Option<(usize, Failure)>;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) -> Option<(usize, Failure)> {
        let (lanes, Range { start, end }, len) = (<E::Vector<S>>::LANES, job.matrices, self.task.room());
        // SAFETY: the room is for as many vectors, aligned to the largest and this call's alone; any bits are a vector.
        let room = unsafe {
            let room = job.room.cast::<E::Vector<S>>();
            room.write_bytes(0, len);
            std::slice::from_raw_parts_mut(room, len)
        };
        let mut failed = None;
        for first in (start..end).step_by(lanes) {
            let chosen = (first, lanes.min(end - first));
            // SAFETY: the places are those of the tensors, which hold these matrices; this thread alone writes those of the outputs.
            let bad = unsafe {
                layout::read::<E::Vector<S>>(&self.places.a, job.inputs[0].cast(), chosen, room);
                if let Some(place) = &self.places.b {
                    layout::read(place, job.inputs[1].cast(), chosen, &mut room[self.places.a.len()..]);
                }
                self.task.run(&self.places.outputs, job.outputs.map(|output| output.cast()), chosen, room)
            };
            let within = u32::MAX >> (32 - chosen.1);
            let bad = bad.into_iter().filter(|(bad, _)| bad & within != 0);
            let first_bad =
                bad.map(|(bad, failure)| (first + bad.trailing_zeros() as usize, failure)).min_by_key(|bad| bad.0);
            failed = failed.or(first_bad);
        }
        failed
    }
}
