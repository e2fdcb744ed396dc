//! Sharing a reduction out among threads.

use super::cascade::LEVELS;
use super::fold::Fold;
use super::plan::{Form, Plan, TILE};
use super::{columns::Columns, rows::Rows};
use crate::simd::{Entry, Isa, Routine, resolve};
use opforge_core::Result;
use opforge_runtime::Kernel;
use opforge_runtime::parallel::parallel_for;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

/// Below this many elements one thread is faster than several.
const SERIAL: usize = 1 << 16;
/// Elements that a thread takes at a time.
const GRAIN: usize = 1 << 15;
/// From this many tasks on, tasks are shared out whole.
const MANY_TASKS: usize = 16;
/// Accumulators for partial results, on the stack.
const SCRATCH: usize = 16 * TILE;
/// Parts of one task at most.
const MOST_PARTS: usize = 64;

/// The loops of one reduction. A *task* makes one output, or a tile of them; it is made of *units* (blocks or rows), and a run of units
/// leaves a partial result of `part_len` accumulators.
pub(super) trait Loops:
    Routine<Args = Job<<Self as Loops>::Acc>, Output = ()> + Send + Sync + Sized + 'static
{
    type Acc: Copy + Send + Sync + 'static;
    fn tasks(&self) -> usize;
    fn units(&self) -> usize;
    fn part_len(&self) -> usize;
}

/// A piece of a reduction's work, with the addresses of its input and output.
#[derive(Clone)]
pub(super) struct Job<A> {
    pub input: *const u8,
    pub output: *mut u8,
    pub step: Step<A>,
}

#[derive(Clone)]
pub(super) enum Step<A> {
    /// Makes the outputs of these tasks.
    Whole(Range<usize>),
    /// Leaves these units' partial result at `acc`.
    Part { task: usize, units: Range<usize>, acc: *mut A },
    /// Combines `parts` partial results, one after another at `acc`, and makes the outputs.
    Join { task: usize, acc: *mut A, parts: usize },
}

// SAFETY: a job is an address and a range; running it is unsafe, and whoever does so vouches for who reads and writes there.
unsafe impl<A> Sync for Job<A> {}

/// How the tasks are shared out; depends on the shape only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Serial,
    /// So many tasks at a time.
    Tasks(usize),
    /// Each task in so many parts, of so many units.
    Parts(usize, usize),
}

fn sharing(loops: &impl Loops, work: usize) -> Sharing {
    let (tasks, units) = (loops.tasks(), loops.units());
    if work < SERIAL {
        return Sharing::Serial;
    }
    let task_work = work / tasks;
    let room = (SCRATCH / loops.part_len() / tasks).min(MOST_PARTS);
    let parts = (task_work / GRAIN).min(units).min(room);
    if tasks >= MANY_TASKS || parts < 2 {
        return Sharing::Tasks((GRAIN / task_work.max(1)).max(1));
    }
    let part = units.div_ceil(parts);
    Sharing::Parts(units.div_ceil(part), part)
}

pub(super) struct ReduceKernel<L: Loops> {
    loops: L,
    entry: Entry<L>,
    sharing: Sharing,
    cost: u64,
}

/// The kernel for a fold over a plan.
pub(super) fn prepare<F: Fold>(fold: F, plan: Plan) -> Arc<dyn Kernel> {
    match plan.form {
        Form::Rows { .. } | Form::Scattered => ReduceKernel::prepare(plan.work(), Rows { fold, plan }),
        Form::Columns { .. } | Form::Narrow { .. } => {
            let work = plan.work();
            if Columns::<F, 1>::suffices(&plan) {
                ReduceKernel::prepare(work, Columns::<F, 1> { fold, plan })
            } else {
                ReduceKernel::prepare(work, Columns::<F, LEVELS> { fold, plan })
            }
        }
    }
}

impl<L: Loops> ReduceKernel<L> {
    fn prepare(work: usize, loops: L) -> Arc<dyn Kernel> {
        let sharing = sharing(&loops, work);
        // A tenth of a nanosecond an element, and a few an output.
        let cost = (work / 10 + 4 * loops.tasks()) as u64;
        Arc::new(ReduceKernel { entry: resolve::<L>(Isa::current()), loops, sharing, cost })
    }

    /// # Safety
    /// As [`Kernel::run`] demands.
    unsafe fn run_in_parts(&self, job: &Job<L::Acc>, parts: usize, part: usize) {
        let mut scratch = [const { MaybeUninit::<L::Acc>::uninit() }; SCRATCH];
        let (len, units, tasks) = (self.loops.part_len(), self.loops.units(), self.loops.tasks());
        let scratch = Scratch(scratch.as_mut_ptr().cast::<L::Acc>());
        parallel_for(tasks * parts, 1, |range| {
            for i in range {
                let (task, first) = (i / parts, i % parts * part);
                let units = first..units.min(first + part);
                // SAFETY: `sharing` has left room for `tasks * parts` partial results, and each is written by one thread.
                unsafe { self.step(job, Step::Part { task, units, acc: scratch.at(i * len) }) };
            }
        });
        for task in 0..tasks {
            // SAFETY: all parts have been written.
            unsafe { self.step(job, Step::Join { task, acc: scratch.at(task * parts * len), parts }) };
        }
    }

    /// # Safety
    /// As [`Kernel::run`] demands, for the step's part of the output; accumulators as [`Step`] says.
    #[inline(always)]
    unsafe fn step(&self, job: &Job<L::Acc>, step: Step<L::Acc>) {
        // SAFETY: the entry is for the processor's own ISA; the rest is the caller's.
        unsafe { (self.entry)(&self.loops, Job { step, ..*job }) }
    }
}

/// The address of the scratch space, for all threads.
struct Scratch<A>(*mut A);
// SAFETY: threads write disjoint parts.
unsafe impl<A: Send> Sync for Scratch<A> {}
impl<A> Scratch<A> {
    /// # Safety
    /// `i` is within the scratch space.
    unsafe fn at(&self, i: usize) -> *mut A {
        // SAFETY: the caller's.
        unsafe { self.0.add(i) }
    }
}

impl<L: Loops> Kernel for ReduceKernel<L> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let all = Step::Whole(0..self.loops.tasks());
        let job = Job { input: inputs[0], output: outputs[0], step: all.clone() };
        // SAFETY: the caller vouches for the addresses; each step writes its own outputs.
        unsafe {
            match self.sharing {
                Sharing::Serial => self.step(&job, all),
                Sharing::Tasks(grain) => {
                    parallel_for(self.loops.tasks(), grain, |tasks| self.step(&job, Step::Whole(tasks)));
                }
                Sharing::Parts(parts, part) => self.run_in_parts(&job, parts, part),
            }
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}
