//! Calls that wait in a queue, run as one kernel.
//!
//! When long kernels are queued, the VM shows a [`Fuser`] which calls wait, and which of their results nobody holds but other waiting calls; the
//! fuser knows what they compute (`opforge::fusion`). Results have the bits of single calls. If the kernel fails, the calls run one by one, so that
//! the error is the right call's.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
#[cfg(not(loom))]
use std::time::{Duration, Instant};

use opforge_core::Error;
use smallvec::SmallVec;

use super::buffer::{Buffer, Held};
use super::deps::{Slot, Ticket};
use super::failure::Failure;
use super::machine::Vm;
use super::state::{Queued, Running, State};
use super::worker::drop_quietly;
use super::{run, trace};
use crate::interrupt::with_flag;
use crate::kernel::Kernel;
use crate::storage::Storage;
use crate::sync::MutexGuard;

/// The most calls that are looked at together.
const MOST: usize = 32;

/// Who makes one kernel of several calls.
pub trait Fuser: Send + Sync {
    /// The kernel of the first of these calls and of as many that follow as go together with it; none if that is the first alone. Called under
    /// the VM's lock: it must not call the VM.
    fn fuse(&self, waiting: &Window) -> Option<Fused>;
}

/// What a call computes, as a [`Fuser`] knows it.
pub type Part = dyn Any + Send + Sync;

/// The first calls in a queue, all of which may become part of a program.
pub struct Window {
    /// The calls, in order.
    pub calls: SmallVec<[Waiting; 8]>,
    storages: Vec<Known>,
}

/// A call that waits.
pub struct Waiting {
    /// What it computes.
    pub part: Arc<Part>,
    /// What it reads.
    pub inputs: SmallVec<[Place; 4]>,
    /// What it writes.
    pub outputs: SmallVec<[Place; 2]>,
}

/// Where a tensor lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The number of its storage in the window.
    pub storage: usize,
    /// Where it begins there.
    pub byte_offset: usize,
}

/// What one kernel makes of several calls.
#[derive(Clone)]
pub struct Fused {
    /// How many calls, from the first on; at least 2.
    pub calls: usize,
    /// The kernel.
    pub kernel: Arc<dyn Kernel>,
    /// Its inputs.
    pub inputs: SmallVec<[Place; 4]>,
    /// Its outputs: all that is [wanted](Window::is_wanted) after these calls.
    pub outputs: SmallVec<[Place; 2]>,
}

/// A storage that calls of a window use.
struct Known {
    storage: Held,
    /// Whether it holds something that is to stay, or somebody holds it who is not in the window.
    stays: bool,
    /// The last call that uses it.
    last: usize,
}

impl Window {
    /// Whether somebody may read a storage when so many calls have run.
    pub fn is_wanted(&self, storage: usize, calls: usize) -> bool {
        let known = &self.storages[storage];
        known.stays || known.last >= calls
    }

    fn buffers(&self, places: &[Place]) -> Vec<Buffer> {
        let buffer = |place: &Place| Buffer {
            storage: self.storages[place.storage].storage.clone(),
            byte_offset: place.byte_offset,
        };
        places.iter().map(buffer).collect()
    }

    /// The buffers of a kernel that was made for the window: inputs, outputs.
    pub(super) fn arguments(&self, fused: &Fused) -> (Vec<Buffer>, Vec<Buffer>) {
        (self.buffers(&fused.inputs), self.buffers(&fused.outputs))
    }
}

static FUSER: OnceLock<&'static dyn Fuser> = OnceLock::new();

/// Names who makes one kernel of several calls. The first stays.
pub fn set_fuser(fuser: &'static dyn Fuser) {
    FUSER.get_or_init(|| fuser);
}

/// Whether calls that wait may be run as one kernel. At first unless the environment variable `OPFORGE_FUSE` is 0.
pub fn is_fusing() -> bool {
    Vm::global().fusing.load(Ordering::Relaxed)
}

/// Lets calls that wait be run as one kernel, or forbids it. Results are the same.
pub fn set_fusing(fusing: bool) {
    Vm::global().fusing.store(fusing, Ordering::Relaxed);
}

/// How long a stream's worker waits for the next call, in nanoseconds of which many pass between two calls of a program; and how long for all.
#[cfg(not(loom))]
const NEXT: Duration = Duration::from_micros(20);
#[cfg(not(loom))]
const ALL: Duration = Duration::from_micros(100);

impl Vm {
    fn fuser(&self) -> Option<&'static dyn Fuser> {
        FUSER.get().copied().filter(|_| self.fusing.load(Ordering::Relaxed))
    }

    /// Waits a moment for calls that may be run together with those in the queue, unless somebody waits for these. What is not even begun when a
    /// kernel of milliseconds has been submitted is soon followed by what reads its result, and by the result's last handle going.
    #[cfg(not(loom))]
    pub(super) fn linger<'a>(&'a self, mut state: MutexGuard<'a, State>, slot: Slot) -> MutexGuard<'a, State> {
        let begin = Instant::now();
        let (mut since, mut issued) = (begin, state.stream(slot).issued);
        while self.fuser().is_some() && state.waiters == 0 && state.awaits_more(slot) {
            drop(state);
            (0..64).for_each(|_| std::hint::spin_loop());
            state = self.lock();
            let now = Instant::now();
            if state.stream(slot).issued != issued {
                (since, issued) = (now, state.stream(slot).issued);
            }
            if now - since > NEXT || now - begin > ALL {
                break;
            }
        }
        state
    }

    #[cfg(loom)]
    pub(super) fn linger<'a>(&'a self, state: MutexGuard<'a, State>, _: Slot) -> MutexGuard<'a, State> {
        state
    }

    /// Looks whether one kernel can carry out the first calls of a stream's queue; the first of them can start.
    pub(super) fn find_fused(&self, state: &mut State, slot: Slot) -> Option<(Window, Fused)> {
        let fuser = self.fuser()?;
        let count = state.fusible(slot);
        if count < 2 {
            return None;
        }
        let window = state.window(slot, count);
        let fused = fuser.fuse(&window).filter(|fused| (2..=count).contains(&fused.calls))?;
        Some((window, fused))
    }

    /// Runs the first calls of a stream's queue as one kernel. If that fails they run one by one, so that the failure is the call's whose it is.
    pub(super) fn run_fused<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        slot: Slot,
        (window, fused): (Window, Fused),
        wake: bool,
    ) {
        let stream = state.stream(slot);
        let mut calls: SmallVec<[Queued; 8]> = stream.queue.drain(..fused.calls).collect();
        stream.queued_bytes = calls.iter().fold(stream.queued_bytes, |sum, call| sum.saturating_sub(call.bytes));
        (stream.busy, stream.inline) = (true, false);
        stream.flag.store(false, Ordering::Relaxed);
        let (flag, first) = (stream.flag.clone(), stream.completed + 1);
        let (inputs, outputs) = window.arguments(&fused);
        stream.running = Some(as_running(&calls, inputs.iter().chain(&outputs)));
        drop(state);
        drop(window);
        let span = trace::begin();
        let op = &calls[0].instruction.op;
        // SAFETY: whoever submitted the calls promised what concerns their buffers, of which the kernel makes what they would make; the
        // dependences keep others from the storages.
        let run = || unsafe { run::run_queued(op, slot, &*fused.kernel, &inputs, &outputs) };
        // SAFETY: this function holds the flag.
        let result = unsafe { with_flag(&*flag, run) };
        drop_quietly((inputs, outputs, fused));
        let mut state = self.lock();
        if let Err(error) = result
            && !state.is_interrupted(Ticket { stream: slot, seq: first })
        {
            let running = state.stream(slot).running.as_ref();
            let (changes, abandoned) = running.map_or((false, false), |running| (running.changes, running.abandoned));
            calls.iter_mut().for_each(|call| call.abandoned |= abandoned);
            // Memory is reserved before anything is written: the calls may still begin.
            if !changes || matches!(error, Error::OutOfMemory { .. }) {
                return self.run_again(state, slot, calls, wake);
            }
            let failure = Failure::new(calls[0].instruction.op.clone(), calls[0].instruction.at.clone(), error);
            for call in &calls {
                state.set_poison(&call.instruction.outputs, call.instruction.content, &failure);
            }
            state.report(slot, &failure);
        }
        drop(state);
        span.end_of_all(&calls, Ticket { stream: slot, seq: first });
        let count = calls.len() as u64;
        drop_quietly(calls);
        self.end_all(self.lock(), slot, count, wake);
    }

    /// Runs calls one by one that failed together.
    #[cold]
    fn run_again<'a>(&'a self, mut state: MutexGuard<'a, State>, slot: Slot, calls: SmallVec<[Queued; 8]>, wake: bool) {
        let count = calls.len();
        let stream = state.stream(slot);
        stream.queued_bytes += calls.iter().map(|call| call.bytes).sum::<usize>();
        calls.into_iter().rev().for_each(|call| stream.queue.push_front(call));
        for call in 1..=count {
            // After the first, others may run what is next.
            if call > 1 && !state.head_can_start(slot) {
                return;
            }
            self.run_one(state, slot, wake || call < count);
            state = self.lock();
        }
    }
}

/// What the stream remembers of calls while they run, whose kernel has these arguments.
fn as_running<'a>(calls: &'a [Queued], arguments: impl Iterator<Item = &'a Buffer> + Clone) -> Running {
    let mut all = calls[0].instruction.as_running();
    for call in &calls[1..] {
        let running = call.instruction.as_running();
        all.outputs.extend(running.outputs);
        all.changes |= running.changes;
        all.calls += 1;
    }
    let instructions = || calls.iter().map(|call| &call.instruction);
    let buffers = instructions().flat_map(|call| call.inputs.iter().chain(&call.outputs)).chain(arguments);
    for (output, holds) in &mut all.outputs {
        *holds = buffers.clone().filter(|buffer| std::ptr::eq(buffer.storage(), output.as_ptr())).count();
    }
    // One entry for a storage that several calls write.
    all.outputs.sort_unstable_by_key(|(output, _)| output.as_ptr());
    all.outputs.dedup_by_key(|(output, _)| output.as_ptr());
    all
}

impl State {
    /// Whether all that a queue holds is one or a few long calls that may become part of a program.
    #[cfg(not(loom))]
    fn awaits_more(&self, slot: Slot) -> bool {
        let queue = &self.streams[slot as usize].queue;
        let may_join = |queued: &Queued| queued.instruction.part.is_some();
        !queue.is_empty() && queue.len() < MOST && queue.iter().all(may_join) && self.head_is_long(slot)
    }

    /// How many of the first calls in a queue could start now, one after the other, and may become part of a program.
    fn fusible(&mut self, slot: Slot) -> usize {
        let State { token, streams, .. } = self;
        let stream = &streams[slot as usize];
        let next = Ticket { stream: slot, seq: stream.completed + 1 };
        if stream.interrupted >= next.seq {
            return 0;
        }
        let done = |ticket: &Ticket| streams[ticket.stream as usize].completed >= ticket.seq;
        let calls = stream.queue.iter().take(MOST);
        calls
            .take_while(|queued| {
                let call = &queued.instruction;
                let mut buffers = call.inputs.iter().chain(&call.outputs);
                call.part.is_some()
                    && !queued.abandoned
                    && queued.waits.iter().all(done)
                    && call.inputs.iter().all(|input| !input.storage().deps.get(token).host_write)
                    && call.outputs.iter().all(|output| output.storage().deps.get(token).host_idle())
                    && buffers.all(|buffer| {
                        !buffer.storage().is_exposed() && buffer.storage().deps.get(token).poison().is_none()
                    })
            })
            .count()
    }

    fn window(&mut self, slot: Slot, count: usize) -> Window {
        let mut numbers = HashMap::<*const Storage, (usize, usize)>::new();
        let mut storages = Vec::new();
        let mut calls = SmallVec::new();
        for (call, queued) in self.stream(slot).queue.iter().take(count).enumerate() {
            let Some(part) = queued.instruction.part.clone() else { break };
            let mut place = |buffer: &Buffer| {
                let (number, holds) = numbers.entry(buffer.storage()).or_insert_with(|| {
                    let stays = buffer.storage().is_reserved();
                    storages.push(Known { storage: buffer.storage.clone(), stays, last: call });
                    (storages.len() - 1, 0)
                });
                *holds += 1;
                storages[*number].last = call;
                Place { storage: *number, byte_offset: buffer.byte_offset }
            };
            let instruction = &queued.instruction;
            let inputs = instruction.inputs.iter().map(&mut place).collect();
            let outputs = instruction.outputs.iter().map(&mut place).collect();
            calls.push(Waiting { part, inputs, outputs });
        }
        for (number, holds) in numbers.into_values() {
            let known: &mut Known = &mut storages[number];
            // The window holds it too.
            known.stays |= Arc::strong_count(&known.storage) > holds + 1;
        }
        Window { calls, storages }
    }
}
