//! Kernels that run one after the other as one, with one piece of memory for what passes between them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use opforge_core::{Error, Result};
use opforge_runtime::alloc::Workspace;
use opforge_runtime::{HostKernel, checkpoint};
use smallvec::SmallVec;

use super::Place;

/// A tensor of a call: where it lies, and its first element's distance from there in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tensor {
    /// An input or an output of the sequence, or memory between its calls.
    pub place: Place,
    /// From the place's beginning on.
    pub byte_offset: usize,
}

/// A kernel with its tensors.
pub struct Call {
    /// The kernel.
    pub kernel: Arc<dyn HostKernel>,
    /// What it reads.
    pub inputs: SmallVec<[Tensor; 4]>,
    /// What it writes.
    pub outputs: SmallVec<[Tensor; 2]>,
}

/// Measures how long each call takes, while it is on.
pub struct Stopwatch {
    on: AtomicBool,
    nanoseconds: Vec<AtomicU64>,
}

impl Stopwatch {
    /// For so many calls; it is off.
    pub fn new(calls: usize) -> Self {
        Stopwatch { on: AtomicBool::new(false), nanoseconds: (0..calls).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Begins anew.
    pub fn start(&self) {
        self.nanoseconds.iter().for_each(|time| time.store(0, Relaxed));
        self.on.store(true, Relaxed);
    }

    /// Ends, and gives the time that each call has taken in all runs.
    pub fn stop(&self) -> Vec<Duration> {
        self.on.store(false, Relaxed);
        self.nanoseconds.iter().map(|time| Duration::from_nanos(time.load(Relaxed))).collect()
    }

    fn note(&self, call: usize, begun: Option<Instant>) {
        if let Some(begun) = begun {
            self.nanoseconds[call].fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
        }
    }
}

/// Calls in order.
pub struct Sequence<F> {
    calls: Vec<Call>,
    local_bytes: usize,
    /// How many inputs and outputs there are.
    tensors: (usize, usize),
    cost: u64,
    watch: Arc<Stopwatch>,
    blame: F,
}

impl<F: Fn(usize, Error) -> Error + Send + Sync + 'static> Sequence<F> {
    /// The kernel that runs calls with so much memory between them, over so many inputs and outputs. `blame` tells a call's error from its number and
    /// its kernel's error.
    ///
    /// # Errors
    /// Places that are none, and a watch for fewer calls.
    pub fn new(
        calls: Vec<Call>,
        local_bytes: usize,
        tensors: (usize, usize),
        watch: Arc<Stopwatch>,
        blame: F,
    ) -> Result<Self> {
        if watch.nanoseconds.len() < calls.len() {
            return Err(Error::value("sequence", "watch", watch.nanoseconds.len(), format!("{} calls", calls.len())));
        }
        let is_place = |tensor: &Tensor| match tensor.place {
            Place::Input(i) => i < tensors.0,
            Place::Output(i) => i < tensors.1,
            Place::Local(offset) => offset <= local_bytes,
        };
        if !calls.iter().flat_map(|call| call.inputs.iter().chain(&call.outputs)).all(is_place) {
            return Err(Error::value("sequence", "place", "another", "an input, an output, or memory of the sequence"));
        }
        let cost = calls.iter().map(|call| call.kernel.cost()).fold(0, u64::saturating_add);
        Ok(Sequence { calls, local_bytes, tensors, cost, watch, blame })
    }
}

impl<F: Fn(usize, Error) -> Error + Send + Sync + 'static> HostKernel for Sequence<F> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        if (inputs.len(), outputs.len()) != self.tensors {
            let given = format!("{} and {}", inputs.len(), outputs.len());
            return Err(Error::value("sequence", "tensors", given, format!("{:?}", self.tensors)));
        }
        let room = (self.local_bytes > 0).then(|| Workspace::new(self.local_bytes)).transpose()?;
        let local = room.as_ref().map_or(std::ptr::null_mut(), Workspace::as_ptr);
        let address = |tensor: &Tensor| {
            let base = match tensor.place {
                Place::Input(i) => inputs[i].cast_mut(),
                Place::Output(i) => outputs[i],
                Place::Local(offset) => local.wrapping_add(offset),
            };
            base.wrapping_add(tensor.byte_offset)
        };
        let watched = self.watch.on.load(Relaxed);
        for (number, call) in self.calls.iter().enumerate() {
            let from: SmallVec<[*const u8; 6]> = call.inputs.iter().map(|x| address(x).cast_const()).collect();
            let to: SmallVec<[*mut u8; 4]> = call.outputs.iter().map(address).collect();
            checkpoint();
            let begun = watched.then(Instant::now);
            // SAFETY: the call's tensors lie where its kernel was prepared for: in the sequence's own, which the caller vouches for, or in memory of
            // its own, where earlier calls have written what this one reads.
            unsafe { call.kernel.run(&from, &to) }.map_err(|error| (self.blame)(number, error))?;
            self.watch.note(number, begun);
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}
