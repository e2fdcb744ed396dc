//! The threads that run queued instructions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use opforge_core::Error;
use smallvec::SmallVec;

use super::buffer::{Buffer, Content, Instruction};
use super::deps::{Slot, Ticket};
use super::failure::Failure;
use super::machine::Vm;
use super::run;
use super::state::{Queued, State, Worker};
use crate::interrupt::with_flag;
use crate::sync::{self, MutexGuard};

impl Vm {
    /// Unlocks after something was queued, and sees to it that the stream's worker knows.
    pub(super) fn unlock_and_start<'a>(&'a self, mut state: MutexGuard<'a, State>, slot: Slot) {
        let stream = state.stream(slot);
        if stream.worker == Worker::Absent && self.spawn_worker(slot) {
            stream.worker = Worker::Awake;
        }
        // A stream that is busy calls its worker when it no longer is.
        let worker = if stream.busy { None } else { stream.call_worker() };
        drop(state);
        if let Some(worker) = worker {
            worker.notify_one();
        }
    }

    /// Sees to it that a stream's worker runs what is first in its queue; fails without a worker.
    pub(super) fn leave_to_worker(&self, state: &mut State, slot: Slot) -> bool {
        let stream = state.stream(slot);
        if stream.worker == Worker::Absent && self.spawn_worker(slot) {
            stream.worker = Worker::Awake;
        }
        if let Some(worker) = stream.call_worker() {
            worker.notify_one();
        }
        stream.worker != Worker::Absent
    }

    /// Starts a stream's thread. Without one (the system may refuse), those who wait for its instructions run them.
    #[cfg(not(loom))]
    fn spawn_worker(&self, slot: Slot) -> bool {
        let thread = std::thread::Builder::new().name(format!("opforge-stream-{slot}"));
        thread.spawn(move || Vm::global().work(slot)).is_ok()
    }

    /// The models start workers themselves.
    #[cfg(loom)]
    fn spawn_worker(&self, _: Slot) -> bool {
        false
    }

    /// The life of a stream's worker: it ends when the stream is closed and everything issued has run.
    pub(super) fn work(&self, slot: Slot) {
        let mut state = self.lock();
        loop {
            if state.head_can_start(slot) {
                state = self.linger(state, slot);
                if !state.head_can_start(slot) {
                    continue;
                }
                self.run_head(state, slot, false);
                state = self.lock();
                continue;
            }
            let stream = state.stream(slot);
            if stream.is_idle() && stream.closed {
                return state.free_stream(slot);
            }
            if stream.is_idle() || stream.busy {
                stream.worker = Worker::Asleep;
                let work = stream.work.clone();
                state = sync::wait(&work, state, None);
                state.stream(slot).worker = Worker::Awake;
            } else {
                state = self.wait_for_progress(state, None);
            }
        }
    }

    /// Runs the first queued instruction of a stream, which can start, perhaps with some that follow it. `wake` is as for [`Vm::end`].
    pub(super) fn run_head<'a>(&'a self, mut state: MutexGuard<'a, State>, slot: Slot, wake: bool) {
        match self.find_fused(&mut state, slot) {
            Some(fused) => self.run_fused(state, slot, fused, wake),
            None => self.run_one(state, slot, wake),
        }
    }

    /// Runs the first queued instruction of a stream, which can start.
    pub(super) fn run_one<'a>(&'a self, mut state: MutexGuard<'a, State>, slot: Slot, wake: bool) {
        let stream = state.stream(slot);
        let Some(Queued { instruction, bytes, abandoned, .. }) = stream.queue.pop_front() else { return };
        (stream.busy, stream.inline) = (true, false);
        stream.running = Some(instruction.as_running());
        stream.queued_bytes = stream.queued_bytes.saturating_sub(bytes);
        let ticket = Ticket { stream: slot, seq: stream.completed + 1 };
        stream.flag.store(false, Ordering::Relaxed);
        let flag = stream.flag.clone();
        let Instruction { op, at, kernel, inputs, mut outputs, content, issued, .. } = instruction;
        let mut failure = state.poison(&inputs, &outputs, content);
        let is_wanted = !abandoned && !state.is_interrupted(ticket);
        let is_origin = failure.is_none() && is_wanted;
        drop(state);
        if is_origin {
            let span = super::trace::begin();
            // SAFETY: whoever submitted the call promised what concerns the buffers; the dependences keep others from the storages.
            let run = || unsafe { run::run_queued(&op, slot, &*kernel, &inputs, &outputs) };
            // SAFETY: this function holds the flag.
            let result = unsafe { with_flag(&*flag, run) };
            if !kernel.is_communication() {
                span.end(&op, ticket, issued, &outputs);
            }
            failure = result.err().map(|error| Failure::new(op, at, error));
        } else {
            let reason =
                failure.as_ref().filter(|_| is_wanted).map_or(Error::Interrupted, |failure| failure.error().clone());
            let _ = catch_unwind(AssertUnwindSafe(|| kernel.forgo(&reason)));
        }
        // What is not needed any more is freed before the next instruction looks for memory.
        drop_quietly((kernel, inputs));
        outputs.retain(|_| failure.is_some() || content == Content::Replaced);
        let mut state = self.lock();
        let was_abandoned = state.stream(slot).running.as_ref().is_some_and(|running| running.abandoned);
        match failure {
            // The interrupt has made the outputs unusable.
            _ if state.is_interrupted(ticket) => {}
            None => state.clear_replaced(&outputs, content),
            Some(failure) => {
                state.set_poison(&outputs, content, &failure);
                if is_origin && !was_abandoned {
                    state.report(slot, &failure);
                }
            }
        }
        self.end(state, slot, wake);
        drop_quietly::<SmallVec<[Buffer; 2]>>(outputs);
    }
}

/// Drops something that may own foreign memory; the panic of a foreign destructor must not end a worker.
pub(super) fn drop_quietly<T>(value: T) {
    // The panic hook has reported it; there is nobody else to tell.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}
