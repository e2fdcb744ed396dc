//! Sharing a reduction out among threads.

use super::fold::Fold;
use super::plan::{Form, Plan};
use super::{columns::Columns, rows::Rows};
use crate::loops::fallible::try_parallel_for;
use crate::memory::scratch::with_scratch;
use crate::simd::{Entry, Isa, Routine, resolve};
use opforge_core::Result;
use opforge_runtime::Kernel;
use opforge_runtime::parallel::parallel_for;
use std::ops::Range;
use std::sync::Arc;

/// Below this many elements one thread is faster than several.
const SERIAL: usize = 1 << 16;
/// Elements that a thread takes at a time.
const GRAIN: usize = 1 << 15;
/// From this many tasks on, tasks are shared out whole.
const MANY_TASKS: usize = 16;
/// Partial results of all tasks together, at most.
const MOST_PARTS: usize = 64;

/// The loops of one reduction. A *task* makes one output, or a tile of them; it is made of *units* (blocks or rows).
pub(super) trait Loops:
    Routine<Args = Job<<Self as Loops>::Acc>, Output = ()> + Send + Sync + Sized + 'static
{
    type Acc: Copy + Send + Sync + 'static;
    /// Whether whole tasks need the working memory that partial results need in any case.
    const WORKS_IN_MEMORY: bool;
    fn tasks(&self) -> usize;
    fn units(&self) -> usize;
    /// Accumulators of working memory.
    fn memory(&self) -> usize;
}

/// A piece of a reduction's work, with the addresses of its input, its output and its working memory.
pub(super) struct Job<A> {
    pub input: *const u8,
    pub output: *mut u8,
    pub memory: *mut A,
    pub step: Step,
}

pub(super) enum Step {
    /// Makes the outputs of these tasks.
    Whole(Range<usize>),
    /// Leaves these units' partial result at the start of its working memory.
    Part { task: usize, units: Range<usize> },
    /// Combines partial results, each in working memory of its own, one after another, and makes the outputs.
    Join { task: usize, parts: usize },
}

/// The addresses of one run.
struct Tensors {
    input: *const u8,
    output: *mut u8,
}

// SAFETY: every step writes its own outputs, and the inputs are only read.
unsafe impl Sync for Tensors {}

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
    let parts = (task_work / GRAIN).min(units).min(MOST_PARTS / tasks);
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
    let work = plan.work();
    match plan.form {
        Form::Rows { .. } | Form::Scattered => ReduceKernel::prepare(work, Rows { fold, plan }),
        Form::Columns { .. } | Form::Narrow { .. } => ReduceKernel::prepare(work, Columns::new(fold, plan)),
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
    unsafe fn run_in_parts(&self, tensors: &Tensors, parts: usize, part: usize) -> Result<()> {
        let (len, units, tasks) = (self.loops.memory(), self.loops.units(), self.loops.tasks());
        with_scratch(tasks * parts * len * size_of::<L::Acc>(), |memory| {
            let memory = Memory(memory.cast::<L::Acc>());
            parallel_for(tasks * parts, 1, |range| {
                for i in range {
                    let (task, first) = (i / parts, i % parts * part);
                    let units = first..units.min(first + part);
                    // SAFETY: each part has working memory of its own.
                    unsafe { self.step(tensors, memory.at(i * len), Step::Part { task, units }) };
                }
            });
            for task in 0..tasks {
                // SAFETY: all parts have been written.
                unsafe { self.step(tensors, memory.at(task * parts * len), Step::Join { task, parts }) };
            }
        })
    }

    /// # Safety
    /// As [`Kernel::run`] demands, for these tasks' part of the output.
    #[inline(always)]
    unsafe fn run_whole(&self, tensors: &Tensors, tasks: Range<usize>) -> Result<()> {
        if L::WORKS_IN_MEMORY {
            with_scratch(self.loops.memory() * size_of::<L::Acc>(), |memory| {
                // SAFETY: the caller's.
                unsafe { self.step(tensors, memory.cast(), Step::Whole(tasks)) }
            })
        } else {
            // SAFETY: the caller's.
            unsafe { self.step(tensors, std::ptr::null_mut(), Step::Whole(tasks)) };
            Ok(())
        }
    }

    /// # Safety
    /// As [`Kernel::run`] demands, for the step's part of the output; working memory as [`Step`] says.
    #[inline(always)]
    unsafe fn step(&self, tensors: &Tensors, memory: *mut L::Acc, step: Step) {
        let job = Job { input: tensors.input, output: tensors.output, memory, step };
        // SAFETY: the entry is for the processor's own ISA; the rest is the caller's.
        unsafe { (self.entry)(&self.loops, job) }
    }
}

/// The address of the working memory, for all threads.
struct Memory<A>(*mut A);
// SAFETY: threads write disjoint parts.
unsafe impl<A: Send> Sync for Memory<A> {}
impl<A> Memory<A> {
    /// # Safety
    /// `i` is within the working memory.
    unsafe fn at(&self, i: usize) -> *mut A {
        // SAFETY: the caller's.
        unsafe { self.0.add(i) }
    }
}

impl<L: Loops> Kernel for ReduceKernel<L> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let tensors = Tensors { input: inputs[0], output: outputs[0] };
        let tasks = self.loops.tasks();
        // SAFETY: the caller vouches for the addresses; each step writes its own outputs.
        unsafe {
            match self.sharing {
                Sharing::Serial => self.run_whole(&tensors, 0..tasks),
                Sharing::Tasks(grain) => try_parallel_for(tasks, grain, |tasks| self.run_whole(&tensors, tasks)),
                Sharing::Parts(parts, part) => self.run_in_parts(&tensors, parts, part),
            }
        }
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}
