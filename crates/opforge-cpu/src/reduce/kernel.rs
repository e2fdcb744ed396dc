//! Sharing a reduction out among threads.

use super::columns::{Columns, Tiles};
use super::fold::Fold;
use super::plan::{Form, Plan};
use super::rows::{self, Rows};
use crate::loops::fallible::try_parallel_for;
use crate::loops::work::{GRAIN, grain};
use crate::memory::scratch::with_scratch;
use crate::simd::{Isa, Prepared, is_amd};
use opforge_core::Result;
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;
use std::ops::Range;
use std::sync::Arc;

/// Elements that cost as much as one of a plain loop: they are read only.
const ELEMENTS: usize = 2;
/// Below this many elements one thread is faster than several.
const SERIAL: usize = 2 * ELEMENTS * GRAIN;
/// From this many tasks on, tasks are shared out whole.
const MANY_TASKS: usize = 16;
/// Partial results of all tasks together, at most.
const MOST_PARTS: usize = 64;
/// Units of a part of a single row: few enough that what computes their elements has them in the first cache, in 32 KiB of f32.
pub(super) const ROW_PART: usize = 4;

/// How much there is to do. A *task* makes one output, or a tile of them; it is made of *units* (blocks or rows).
pub(super) struct Load {
    pub tasks: usize,
    pub units: usize,
    /// Elements of a unit, where all elements of the only task lie in one row of them; else 0.
    pub row_of: usize,
    /// Accumulators of working memory.
    pub memory: usize,
}

/// A piece of a reduction's work, with the addresses of its input, its output and its working memory, which holds accumulators.
pub(super) struct Job {
    pub input: *const u8,
    /// How many bytes behind the input a second one lies; 0 if there is none.
    pub apart: isize,
    pub output: *mut u8,
    pub memory: *mut u8,
    pub step: Step,
}

pub(super) enum Step {
    /// Makes the outputs of these tasks.
    Whole(Range<usize>),
    /// Leaves these units' partial result at the start of its working memory.
    Part { task: usize, units: Range<usize> },
    /// Leaves partial results of the only row, of [`ROW_PART`] units each, in working memory of their own, one after another. The input's address is that
    /// of the row's element `base`.
    Line { parts: Range<usize>, base: usize },
    /// Combines partial results, each in working memory of its own, one after another, and makes the outputs.
    Join { task: usize, parts: usize },
}

/// The addresses of one run.
struct Tensors {
    input: *const u8,
    apart: isize,
    output: *mut u8,
}

// SAFETY: every step writes its own outputs, and the inputs are only read.
unsafe impl Sync for Tensors {}

/// How the tasks are shared out; depends on the shape only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Serial,
    /// This many tasks at a time.
    Tasks(usize),
    /// Each task in parts: their number, and the units of each.
    Parts(usize, usize),
}

impl Sharing {
    fn new(&Load { tasks, units, row_of, .. }: &Load, work: usize) -> Self {
        if work < SERIAL {
            return Sharing::Serial;
        }
        if row_of > 0 {
            return Sharing::Parts(units.div_ceil(ROW_PART), ROW_PART);
        }
        let task_work = work / tasks;
        let parts = (task_work / (ELEMENTS * GRAIN)).min(units).min(MOST_PARTS / tasks);
        if tasks >= MANY_TASKS || parts < 2 {
            return Sharing::Tasks(grain(task_work / ELEMENTS));
        }
        let part = units.div_ceil(parts);
        Sharing::Parts(units.div_ceil(part), part)
    }
}

/// The kernel of a reduction.
pub struct ReduceKernel {
    loops: Prepared<Job, ()>,
    tasks: usize,
    units: usize,
    row_of: usize,
    /// Bytes of working memory, and whether whole tasks need it.
    memory: usize,
    works_in_memory: bool,
    sharing: Sharing,
    cost: u64,
}

/// The kernel for a fold over a plan.
pub(super) fn prepare<F: Fold>(fold: F, plan: Plan) -> Arc<ReduceKernel> {
    match plan.form {
        Form::Rows { .. } | Form::Scattered => prepare_rows(fold, plan),
        Form::Columns { .. } | Form::Narrow { .. } => {
            let (work, acc) = (plan.work(), size_of::<F::Acc>());
            let tiles = Tiles::new(plan);
            ReduceKernel::prepare(work, tiles.load(), acc, true, Prepared::new(Columns { fold, tiles }))
        }
    }
}

/// [`prepare`] of a plan of rows or of scattered elements.
///
/// AMD's processors (Zen 4) read rows from their last cache and from memory faster in one stream of 256 bits at a time than in several of 512, and from
/// nearer caches as fast. That must not depend on sizes: a part that is fused with what computes it has the bits of the whole.
pub(super) fn prepare_rows<F: Fold>(fold: F, plan: Plan) -> Arc<ReduceKernel> {
    let (work, acc, load) = (plan.work(), size_of::<F::Acc>(), rows::load(&plan));
    let isa = if is_amd() { Isa::current().min(Isa::Avx2) } else { Isa::current() };
    ReduceKernel::prepare(work, load, acc, false, Prepared::at(isa, Rows { fold, plan }))
}

impl ReduceKernel {
    /// `works_in_memory` is whether whole tasks need the working memory that partial results need in any case.
    fn prepare(
        work: usize,
        load: Load,
        acc: usize,
        works_in_memory: bool,
        loops: Prepared<Job, ()>,
    ) -> Arc<ReduceKernel> {
        let sharing = Sharing::new(&load, work);
        let Load { tasks, units, row_of, memory } = load;
        // A tenth of a nanosecond an element, and a few an output.
        let cost = (work / 10 + 4 * tasks) as u64;
        Arc::new(ReduceKernel { tasks, units, row_of, memory: memory * acc, works_in_memory, sharing, cost, loops })
    }

    /// # Safety
    /// As [`HostKernel::run`] demands.
    unsafe fn run_in_parts(&self, tensors: &Tensors, parts: usize, part: usize) -> Result<()> {
        with_scratch(self.tasks * parts * self.memory, |memory| {
            let memory = Memory(memory);
            let grain = if self.row_of > 0 { grain(part * self.row_of / ELEMENTS) } else { 1 };
            parallel_for(self.tasks * parts, grain, |range| {
                if self.row_of > 0 {
                    let line = Step::Line { parts: range.clone(), base: 0 };
                    // SAFETY: each part has working memory of its own.
                    return unsafe { self.step(tensors, memory.at(range.start * self.memory), line) };
                }
                for i in range {
                    let (task, first) = (i / parts, i % parts * part);
                    let units = first..self.units.min(first + part);
                    // SAFETY: each part has working memory of its own.
                    unsafe { self.step(tensors, memory.at(i * self.memory), Step::Part { task, units }) };
                }
            });
            for task in 0..self.tasks {
                // SAFETY: all parts have been written.
                unsafe { self.step(tensors, memory.at(task * parts * self.memory), Step::Join { task, parts }) };
            }
        })
    }

    /// # Safety
    /// As [`HostKernel::run`] demands, for these tasks' part of the output.
    unsafe fn run_whole(&self, tensors: &Tensors, tasks: Range<usize>) -> Result<()> {
        if self.works_in_memory {
            with_scratch(self.memory, |memory| {
                // SAFETY: the scratch holds the memory of one task, and the tasks' outputs are the caller's to write.
                unsafe { self.step(tensors, memory, Step::Whole(tasks)) }
            })
        } else {
            // SAFETY: whole tasks need no working memory here, and their outputs are the caller's to write.
            unsafe { self.step(tensors, std::ptr::null_mut(), Step::Whole(tasks)) };
            Ok(())
        }
    }

    /// # Safety
    /// As [`HostKernel::run`] demands, for the step's part of the output; working memory as [`Step`] says.
    #[inline(always)]
    unsafe fn step(&self, tensors: &Tensors, memory: *mut u8, step: Step) {
        let &Tensors { input, apart, output } = tensors;
        let job = Job { input, apart, output, memory, step };
        // SAFETY: the addresses are those of the tensors that the loops were planned for, the memory is as the step asks.
        unsafe { self.loops.run(job) }
    }
}

/// The parts of a reduction to one element, of elements that lie in one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// How many.
    pub count: usize,
    /// Elements of each but the last, which may be shorter.
    pub elements: usize,
    /// Bytes of a partial result.
    pub bytes: usize,
}

impl ReduceKernel {
    /// The parts that the kernel's result is made of, if it is one row's.
    pub fn parts(&self) -> Option<Parts> {
        match self.sharing {
            Sharing::Parts(count, part) if self.row_of > 0 => {
                Some(Parts { count, elements: part * self.row_of, bytes: self.memory })
            }
            _ => None,
        }
    }

    /// Leaves the result of a part at its place in `memory`.
    ///
    /// # Safety
    /// The kernel has such a part; `elements` is the address of its first element, and `memory` of as many partial results as there are parts.
    pub unsafe fn fold_part(&self, part: usize, elements: *const u8, memory: *mut u8) {
        let line = Step::Line { parts: part..part + 1, base: part * ROW_PART * self.row_of };
        let tensors = Tensors { input: elements, apart: 0, output: std::ptr::null_mut() };
        // SAFETY: the part's elements are there, and its place in the memory is its own.
        unsafe { self.step(&tensors, memory.add(part * self.memory), line) };
    }

    /// Makes the result of all parts'.
    ///
    /// # Safety
    /// `memory` holds the partial results, and `output` is the address of the result.
    pub unsafe fn join_parts(&self, memory: *mut u8, output: *mut u8) {
        let Some(Parts { count, .. }) = self.parts() else { return };
        let tensors = Tensors { input: std::ptr::null(), apart: 0, output };
        // SAFETY: the caller vouches for both addresses.
        unsafe { self.step(&tensors, memory, Step::Join { task: 0, parts: count }) };
    }
}

/// The address of the working memory, for all threads.
struct Memory(*mut u8);
// SAFETY: threads write disjoint parts.
unsafe impl Sync for Memory {}
impl Memory {
    /// # Safety
    /// `byte` is within the working memory.
    unsafe fn at(&self, byte: usize) -> *mut u8 {
        // SAFETY: `byte` is within the working memory, which one allocation holds.
        unsafe { self.0.add(byte) }
    }
}

impl HostKernel for ReduceKernel {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let second = inputs.get(1).map_or(inputs[0].addr(), |input| input.expose_provenance());
        let apart = second.wrapping_sub(inputs[0].addr()).cast_signed();
        let tensors = Tensors { input: inputs[0], apart, output: outputs[0] };
        // SAFETY: the caller vouches for the addresses; each step writes its own outputs.
        unsafe {
            match self.sharing {
                Sharing::Serial => self.run_whole(&tensors, 0..self.tasks),
                Sharing::Tasks(grain) => try_parallel_for(self.tasks, grain, |tasks| self.run_whole(&tensors, tasks)),
                Sharing::Parts(parts, part) => self.run_in_parts(&tensors, parts, part),
            }
        }
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}
