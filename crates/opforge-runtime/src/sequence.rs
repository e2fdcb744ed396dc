//! Kernels that run one after the other as one: where their tensors lie, and how long each takes. The CPU has a sequence of its own, by addresses
//! (`opforge-cpu`); that of other devices is here.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use opforge_core::{Error, Result};
use smallvec::SmallVec;

use crate::kernel::{Argument, Context, Kernel};
use crate::storage::Storage;

/// Where a tensor of one of several kernels lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In one of the inputs of all.
    Input(usize),
    /// In one of the outputs. A call may read what an earlier one has written there.
    Output(usize),
    /// In working memory: the bytes from its start, a multiple of 64.
    Local(usize),
}

/// A tensor of a call: where it lies, and its first element's distance from there in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tensor {
    /// An input or an output of the sequence, or memory between its calls.
    pub place: Place,
    /// From the place's beginning on.
    pub byte_offset: usize,
}

/// A kernel with its tensors.
pub struct Call<K: ?Sized = dyn Kernel> {
    /// The kernel.
    pub kernel: Arc<K>,
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
    /// For a number of calls; it is off.
    pub fn new(calls: usize) -> Self {
        Stopwatch { on: AtomicBool::new(false), nanoseconds: (0..calls).map(|_| AtomicU64::new(0)).collect() }
    }

    /// For how many calls.
    pub fn calls(&self) -> usize {
        self.nanoseconds.len()
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

    /// Whether it measures.
    pub fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Adds a call's time, if it was begun.
    pub fn note(&self, call: usize, begun: Option<Instant>) {
        if let Some(begun) = begun {
            self.nanoseconds[call].fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
        }
    }
}

/// Calls of one device in order, as a kernel.
pub struct Sequence<F> {
    calls: Vec<Call>,
    local_bytes: usize,
    watch: Arc<Stopwatch>,
    blame: F,
}

impl<F: Fn(usize, Error) -> Error + Send + Sync + 'static> Sequence<F> {
    /// The kernel that runs calls with `local_bytes` of memory between them, over numbers of inputs and outputs. `blame` tells a call's error from its number and
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
        check(&calls, local_bytes, tensors, &watch)?;
        Ok(Sequence { calls, local_bytes, watch, blame })
    }
}

/// Whether all tensors of the calls lie somewhere, and all calls can be watched.
///
/// # Errors
/// For places that are none, and a watch for fewer calls.
pub fn check<K: ?Sized>(
    calls: &[Call<K>],
    local_bytes: usize,
    tensors: (usize, usize),
    watch: &Stopwatch,
) -> Result<()> {
    if watch.calls() < calls.len() {
        return Err(Error::value("sequence", "watch", watch.calls(), format!("{} calls", calls.len())));
    }
    let is_place = |tensor: &Tensor| match tensor.place {
        Place::Input(i) => i < tensors.0,
        Place::Output(i) => i < tensors.1,
        Place::Local(offset) => offset <= local_bytes,
    };
    if calls.iter().flat_map(|call| call.inputs.iter().chain(&call.outputs)).all(is_place) {
        return Ok(());
    }
    Err(Error::value("sequence", "place", "another", "an input, an output, or memory of the sequence"))
}

impl<F: Fn(usize, Error) -> Error + Send + Sync + 'static> Kernel for Sequence<F> {
    unsafe fn launch(&self, context: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        let local = Storage::new(context.device, self.local_bytes)?;
        let argument = |tensor: &Tensor| {
            let (storage, start) = match tensor.place {
                Place::Input(i) => (inputs[i].storage, inputs[i].byte_offset),
                Place::Output(i) => (outputs[i].storage, outputs[i].byte_offset),
                Place::Local(offset) => (&local, offset),
            };
            Argument::new(storage, start + tensor.byte_offset)
        };
        let is_watched = self.watch.is_on();
        for (number, call) in self.calls.iter().enumerate() {
            let from: SmallVec<[Argument<'_>; 6]> = call.inputs.iter().map(argument).collect();
            let to: SmallVec<[Argument<'_>; 4]> = call.outputs.iter().map(argument).collect();
            let begun = is_watched.then(Instant::now);
            // SAFETY: the call's tensors lie where its kernel was prepared for: in the sequence's own, which the caller vouches for, or in memory of
            // its own, where earlier calls have written what this one reads.
            unsafe { call.kernel.launch(context, &from, &to) }.map_err(|error| (self.blame)(number, error))?;
            if is_watched {
                context.device.memory()?.wait()?;
            }
            self.watch.note(number, begun);
        }
        Ok(())
    }

    fn duration(&self) -> u64 {
        self.calls.iter().map(|call| call.kernel.duration()).fold(0, u64::saturating_add)
    }
}
