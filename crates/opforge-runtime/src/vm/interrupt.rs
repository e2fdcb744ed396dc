//! What becomes of instructions when whoever waited for one gave up.
//!
//! The rule is in the crate's documentation, under "Interrupts". It follows that Ctrl-C in a training loop loses no parameter: an optimizer's step
//! changes memory with content, so it is finished. A kernel that cannot stop (faer's factorisations) goes on in the background. A front end that is
//! interrupted while nobody waits leaves the queue as it is, for whoever waits next.

use std::sync::atomic::Ordering;

use super::buffer::Buffer;
use super::deps::{Slot, Ticket};
use super::failure::Failure;
use super::machine::Vm;
use super::state::{State, StreamState, Worker};
use super::stream;
use crate::kernel::Argument;
use crate::storage::Storage;
use crate::sync::MutexGuard;

/// The cost, in nanoseconds, from which kernels are left to their stream's thread by those who may give up waiting.
pub(super) const LONG: u64 = 2_000_000;

impl Vm {
    /// Interrupts the stream of an instruction that was waited for, as far as nothing is lost by it.
    pub(super) fn interrupt(&self, mut state: MutexGuard<'_, State>, ticket: Ticket) {
        if state.is_done(ticket) || !state.interrupt(ticket.stream) {
            return;
        }
        self.leave_behind(state, ticket.stream);
    }

    /// Gives the calling thread another stream than this, which was interrupted: a kernel that does not stop must not be in the way of what is
    /// called next.
    pub(super) fn leave_behind(&self, mut state: MutexGuard<'_, State>, slot: Slot) {
        let stream = state.stream(slot);
        // The slot is freed by its worker.
        if !stream.is_idle() && stream.worker != Worker::Absent && stream::renew_own(&mut state, slot) {
            state.stream(slot).closed = true;
        }
        let worker = state.stream(slot).call_worker();
        self.unlock_after_progress(state);
        if let Some(worker) = worker {
            worker.notify_one();
        }
    }
}

impl State {
    /// Marks what runs and what is queued on a stream as interrupted, unless content would be lost: then only what runs, and only if it was
    /// spared before. Says whether anything was interrupted.
    fn interrupt(&mut self, slot: Slot) -> bool {
        let stream = self.stream(slot);
        let first = stream.completed + 1;
        let all = !stream.changes_content();
        if !all && stream.spared != first {
            stream.spared = first;
            return false;
        }
        let running = stream.running.as_ref().map_or(1, |running| running.calls);
        stream.interrupted = if all { stream.issued } else { stream.completed + running };
        stream.flag.store(true, Ordering::Relaxed);
        let State { token, streams, .. } = self;
        let stream = &streams[slot as usize];
        let mut poison = |storage: &Storage, failure: &std::sync::Arc<Failure>| {
            storage.deps.get(token).set_poison(failure.clone());
        };
        if let Some(running) = &stream.running {
            let failure = Failure::interrupted(running.op.clone(), running.at.clone());
            running
                .outputs
                .iter()
                .filter_map(|(output, _)| output.upgrade())
                .for_each(|output| poison(&output, &failure));
        }
        let queued = stream.queue.iter().filter(|_| all || !stream.busy).take(if all { usize::MAX } else { 1 });
        for instruction in queued.map(|queued| &queued.instruction) {
            let failure = Failure::interrupted(instruction.op.clone(), instruction.at.clone());
            instruction.outputs.iter().for_each(|output| poison(&output.storage, &failure));
        }
        true
    }

    /// Whether an instruction has been interrupted, ended or not.
    pub fn is_interrupted(&self, ticket: Ticket) -> bool {
        self.streams[ticket.stream as usize].interrupted >= ticket.seq
    }

    /// The failure of an input whose kernel was interrupted and may not have ended yet: nobody should wait for that.
    pub fn doomed(&mut self, inputs: &[Argument<'_>]) -> Option<std::sync::Arc<Failure>> {
        let State { token, streams, .. } = self;
        inputs.iter().find_map(|input| {
            let deps = input.storage().deps.get(token);
            let failure = deps.poison()?;
            (streams[deps.write.stream as usize].interrupted >= deps.write.seq).then(|| failure.clone())
        })
    }
}

impl StreamState {
    /// Whether what runs or is queued writes to memory that held something before.
    fn changes_content(&self) -> bool {
        let running = self.running.as_ref();
        let is_new = |storage: &Storage| {
            let outputs = running.map_or(&[][..], |running| &running.outputs);
            !storage.is_reserved() || outputs.iter().any(|(output, _)| std::ptr::eq(output.as_ptr(), storage))
        };
        let is_change = |output: &Buffer| !is_new(output.storage());
        running.is_some_and(|running| running.changes)
            || self.queue.iter().any(|queued| queued.instruction.outputs.iter().any(is_change))
    }
}
