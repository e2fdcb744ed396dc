//! Custom operators as kernels. An operator is initialised once for each signature, and the prepared operator is used by one thread at a time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use opforge::Result;
use opforge_runtime::HostKernel;
use smallvec::SmallVec;

use super::staging::Staging;
use crate::runner::Prepared;

/// A prepared operator as the VM sees it.
pub(super) struct CustomKernel {
    /// Kernels are promised that nobody else uses their `extra` meanwhile.
    prepared: Mutex<Box<dyn Prepared>>,
    staging: Option<Staging>,
    /// How many outputs the library knows; further ones are inputs that it changes.
    outputs: usize,
    changed: Vec<Changed>,
    cost: AtomicU64,
    /// How often the cost may still be corrected.
    trials: AtomicU64,
}

/// An output that is an input which the library changes.
pub(super) struct Changed {
    pub output: usize,
    pub input: usize,
    pub bytes: usize,
}

/// Kernels of unknown code never run under the VM's lock: the least cost of one that does not, in nanoseconds.
const LEAST_COST: u64 = 501;
/// Nothing is known of the time before the first run: as if memory were passed over slowly.
const BYTES_PER_NANOSECOND: u64 = 4;
/// How many runs are timed; the shortest counts.
const TRIALS: u64 = 8;

impl CustomKernel {
    pub fn new(
        prepared: Box<dyn Prepared>,
        staging: Option<Staging>,
        outputs: usize,
        changed: Vec<Changed>,
        bytes: usize,
    ) -> Self {
        let in_process = prepared.runs_here();
        let guess = LEAST_COST + bytes as u64 / BYTES_PER_NANOSECOND;
        CustomKernel {
            cost: AtomicU64::new(if in_process { guess } else { u64::MAX }),
            trials: AtomicU64::new(if in_process { TRIALS } else { 0 }),
            prepared: Mutex::new(prepared),
            staging,
            outputs,
            changed,
        }
    }

    /// The inputs, where what is changed is the output: where an output is other memory than its input, as parts of a tensor on several ranks are, it becomes a copy of that
    /// first.
    ///
    /// # Safety
    /// As for [`HostKernel::run`], of contiguous tensors.
    unsafe fn to_change(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> SmallVec<[*const u8; 4]> {
        let mut given = SmallVec::from_slice(inputs);
        for &Changed { output, input, bytes } in &self.changed {
            if !std::ptr::eq(outputs[output], inputs[input]) {
                // SAFETY: both have so many bytes, and an output that is not the very same view as an input shares no memory with it.
                unsafe { std::ptr::copy_nonoverlapping(inputs[input], outputs[output], bytes) };
                given[input] = outputs[output].cast_const();
            }
        }
        given
    }

    #[cold]
    fn time(&self, trials: u64, run: impl FnOnce() -> Result<()>) -> Result<()> {
        let start = Instant::now();
        let result = run();
        let took = (start.elapsed().as_nanos() as u64).max(LEAST_COST);
        let known = if trials == TRIALS { u64::MAX } else { self.cost.load(Ordering::Relaxed) };
        self.cost.store(took.min(known), Ordering::Relaxed);
        self.trials.store(trials - 1, Ordering::Relaxed);
        result
    }
}

impl HostKernel for CustomKernel {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = |inputs: &[*const u8], outputs: &[*mut u8]| {
            // SAFETY: tensors are as `run` demands, or contiguous copies of them; outputs beyond the library's are inputs that it changes.
            unsafe { prepared.run(&self.to_change(inputs, outputs), &outputs[..self.outputs]) }
        };
        let mut run = || match &self.staging {
            None => known(inputs, outputs),
            // SAFETY: the tensors are as `run` demands.
            Some(staging) => unsafe { staging.run(inputs, outputs, &mut known) },
        };
        match self.trials.load(Ordering::Relaxed) {
            0 => run(),
            trials => self.time(trials, &mut run),
        }
    }

    fn cost(&self) -> u64 {
        self.cost.load(Ordering::Relaxed)
    }
}
