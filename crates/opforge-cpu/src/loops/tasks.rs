//! Kernels that make rows, or tiles of columns, independently of each other.

use crate::loops::fallible::try_parallel_for;
use crate::loops::work::{GRAIN, grain};
use crate::memory::scratch::with_scratch;
use crate::simd::{Prepared, Routine};
use opforge_core::Result;
use opforge_runtime::HostKernel;
use std::ops::Range;
use std::sync::Arc;

/// Below this many elements one thread is faster than several.
const SERIAL: usize = GRAIN;
/// The most inputs, and outputs, that any of these operators has.
const MOST: usize = 5;

/// Some tasks of a kernel, with its addresses; working memory as the routine asked for, aligned to 64 bytes.
#[derive(Clone)]
pub(crate) struct Job {
    pub inputs: [*const u8; MOST],
    pub outputs: [*mut u8; MOST],
    pub memory: *mut u8,
    pub tasks: Range<usize>,
}

/// The addresses of one run.
struct Tensors {
    inputs: [*const u8; MOST],
    outputs: [*mut u8; MOST],
}
// SAFETY: threads only read the inputs, and each task has outputs of its own.
unsafe impl Sync for Tensors {}

struct TaskKernel {
    routine: Prepared<Job, ()>,
    tasks: usize,
    grain: usize,
    memory: usize,
    cost: u64,
}

/// The kernel for `tasks` tasks of about `task_work` elements each, which need `memory` bytes of working memory.
pub(crate) fn prepare<R>(routine: R, tasks: usize, task_work: usize, memory: usize) -> Arc<dyn HostKernel>
where
    R: Routine<Args = Job, Output = ()> + Send + Sync + 'static,
{
    TaskKernel::prepare(Prepared::new(routine), tasks, task_work, memory)
}

impl TaskKernel {
    fn prepare(routine: Prepared<Job, ()>, tasks: usize, task_work: usize, memory: usize) -> Arc<dyn HostKernel> {
        let work = tasks.saturating_mul(task_work);
        let grain = if work < SERIAL { tasks } else { grain(task_work) };
        Arc::new(TaskKernel { routine, tasks, grain, memory, cost: work as u64 })
    }
}

impl HostKernel for TaskKernel {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let mut tensors = Tensors { inputs: [std::ptr::null(); MOST], outputs: [std::ptr::null_mut(); MOST] };
        tensors.inputs[..inputs.len()].copy_from_slice(inputs);
        tensors.outputs[..outputs.len()].copy_from_slice(outputs);
        let tensors = &tensors;
        try_parallel_for(self.tasks, self.grain, |tasks| {
            with_scratch(self.memory, |memory| {
                let job = Job { inputs: tensors.inputs, outputs: tensors.outputs, memory, tasks };
                // SAFETY: the addresses are those of the run, the memory as much as the routine asked for; tasks write disjoint outputs.
                unsafe { self.routine.run(job) }
            })
        })
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}
