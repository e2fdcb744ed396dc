//! Submitting calls: run here and now, or queued.

use std::panic::Location;
use std::sync::atomic::Ordering;

use opforge_core::{Error, Result};

use super::buffer::Call;
use super::deps::{Slot, Ticket};
use super::failure::{Failure, Place};
use super::interrupt::LONG;
use super::machine::Vm;
use super::state::{Obstacle, Queued, State};
use super::{patience, run, stream, trace};
use crate::kernel::Argument;
use crate::storage::Storage;
use crate::sync::MutexGuard;

/// How often a short kernel of another thread is waited for before queueing behind it; a few microseconds.
const SPINS: usize = if cfg!(loom) { 0 } else { 32 };

/// The cost, in nanoseconds, up to which a kernel runs under the VM's lock: less than what is saved by locking once, and needing no ticket.
const BRIEF: u64 = 500;

/// Has a kernel run on the current stream: here and now if it is cheap and nothing stands before it, else later on the stream's thread.
///
/// # Errors
/// For read-only outputs; and what is known to fail by now: the kernel's own error if it ran, or the [`Error::Deferred`] of an earlier
/// instruction if an input is unusable because of it. Either way new outputs are unusable. Whatever fails later is reported to
/// those who read the outputs or [synchronise](super::synchronize).
///
/// # Safety
/// The kernel was prepared for tensors that, from their buffer's byte offset, lie within the buffer's storage, with addresses aligned as
/// [`Kernel::launch`](crate::Kernel::launch) demands. An output shares memory with an input only where the kernel allows it, and with another
/// output never. The VM sees to the rest of the kernel's conditions.
#[inline]
pub unsafe fn submit(call: &Call<'_>) -> Result<()> {
    // SAFETY: the call's kernel was prepared for its tensors, as the method demands too.
    unsafe { Vm::global().submit(stream::current(), call) }
}

/// Declares a storage usable again whose content a failed kernel left unspecified.
pub fn clear_poison(storage: &Storage) {
    storage.deps.get(&mut Vm::global().lock().token).clear_poison();
}

/// Declares a storage unusable: whoever reads it, kernels or the host, gets this error of the call that should have written it.
pub fn set_unusable(storage: &Storage, op: &'static str, at: &'static Location<'static>, error: Error) {
    let failure = Failure::new(op.into(), Place { at, caller: patience::caller() }, error);
    storage.deps.get(&mut Vm::global().lock().token).set_poison(failure);
}

impl Vm {
    /// # Safety
    /// As for [`submit`].
    #[inline]
    pub(super) unsafe fn submit(&self, slot: Slot, call: &Call<'_>) -> Result<()> {
        check_writable(call)?;
        let sync = self.sync.load(Ordering::Relaxed);
        let duration = call.kernel.duration();
        let inline = match sync {
            true => duration <= LONG || !patience::may_give_up(),
            false => duration <= self.inline_cost.load(Ordering::Relaxed),
        };
        let mut state = if inline { self.lock_for_inline(slot) } else { self.lock() };
        if inline && state.stream(slot).is_idle() && state.can_start(slot, call.inputs, call.outputs) {
            if let Some(failure) = state.poison(call.inputs, call.outputs, call.content) {
                return Err(state.refuse(call, &failure));
            }
            // SAFETY: the call is as `submit` demands, and `can_start` has just held, under the same lock.
            return unsafe {
                match duration {
                    ..=BRIEF => run_brief(state, slot, call),
                    _ => self.run_inline(state, slot, call, duration),
                }
            };
        }
        drop(state);
        let ticket = self.enqueue(slot, call)?;
        if !sync && !call.is_exposed() {
            return Ok(());
        }
        let outcome = self.outcome(ticket, call.outputs);
        // In synchronous mode a call's own error is as if it had run here.
        outcome.map_err(|error| match error {
            Error::Deferred { op, at, inner, .. } if sync && op == *call.op && at == call.at => *inner,
            error => error,
        })
    }

    /// Locks, after giving a short kernel on the same stream a moment to end.
    #[inline]
    fn lock_for_inline(&self, slot: Slot) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        for _ in 0..SPINS {
            let stream = state.stream(slot);
            if !stream.inline || !stream.busy || !stream.queue.is_empty() {
                break;
            }
            drop(state);
            (0..8).for_each(|_| std::hint::spin_loop());
            state = self.lock();
        }
        state
    }

    /// # Safety
    /// As for [`submit`], and the instruction can start.
    #[inline]
    unsafe fn run_inline<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        slot: Slot,
        call: &Call<'_>,
        duration: u64,
    ) -> Result<()> {
        let ticket = state.issue(slot, call.inputs, call.outputs);
        let stream = state.stream(slot);
        (stream.busy, stream.inline) = (true, true);
        drop(state);
        let span = trace::begin();
        // SAFETY: the kernel was prepared for these tensors, and what `issue` notes keeps others from their storages until the end.
        let run = || unsafe { run::run(call.op, slot, &**call.kernel, call.inputs, call.outputs) };
        let result = patience::run_apart(duration, run);
        if !call.kernel.is_communication() {
            span.end(call.op, ticket, span.start(), call.outputs);
        }
        let mut state = self.lock();
        state.note_outcome(call, &result);
        self.end(state, slot, true);
        result
    }

    #[cold]
    fn enqueue(&self, slot: Slot, call: &Call<'_>) -> Result<Ticket> {
        let instruction = call.to_instruction(patience::caller());
        let new = call.outputs.iter().filter(|output| !output.storage.is_reserved());
        let bytes = new.map(|output| output.storage.nbytes()).fold(0, usize::saturating_add);
        let mut state = self.wait_for_room(slot, bytes)?;
        if let Some(failure) = state.doomed(call.inputs) {
            return Err(state.refuse(call, &failure));
        }
        let waits = state.waits(slot, call.inputs, call.outputs);
        let ticket = state.issue(slot, call.inputs, call.outputs);
        let stream = state.stream(slot);
        stream.queue.push_back(Queued { instruction, bytes, waits, abandoned: false });
        stream.queued_bytes = stream.queued_bytes.saturating_add(bytes);
        self.unlock_and_start(state, slot);
        Ok(ticket)
    }

    /// Waits until the limits of running ahead allow one more instruction.
    fn wait_for_room(&self, slot: Slot, bytes: usize) -> Result<MutexGuard<'_, State>> {
        let max_queued = self.max_queued.load(Ordering::Relaxed);
        let max_bytes = self.max_queued_bytes.load(Ordering::Relaxed);
        self.wait_while(|state| {
            let stream = state.stream(slot);
            let fits = stream.queued_bytes.saturating_add(bytes) <= max_bytes && stream.queue.len() < max_queued;
            let next = Ticket { stream: slot, seq: stream.completed + 1 };
            (!fits && !stream.queue.is_empty()).then_some(Obstacle::Instruction(next))
        })
    }

    /// Waits for an instruction and gives its error.
    #[cold]
    fn outcome(&self, ticket: Ticket, outputs: &[Argument<'_>]) -> Result<()> {
        let mut state = self.wait_while(|state| state.unfinished(ticket))?;
        let failure = outputs.iter().find_map(|output| output.storage.deps.get(&mut state.token).poison().cloned());
        let Some(failure) = failure else { return Ok(()) };
        outputs.iter().for_each(|output| state.told(output.storage, &failure));
        Err(failure.deliver())
    }
}

/// Runs a kernel that can start and is over before anybody misses the lock: for all others nothing happens in between, so that the storages
/// need not remember who uses them.
///
/// # Safety
/// As for [`submit`], and the instruction can start.
#[inline]
unsafe fn run_brief(mut state: MutexGuard<'_, State>, slot: Slot, call: &Call<'_>) -> Result<()> {
    let stream = state.stream(slot);
    (stream.issued, stream.completed) = (stream.issued + 1, stream.completed + 1);
    let ticket = Ticket { stream: slot, seq: stream.issued };
    let span = trace::begin();
    // SAFETY: the kernel was prepared for these tensors; while the lock is held nobody begins to use their storages.
    let result = unsafe { run::run(call.op, slot, &**call.kernel, call.inputs, call.outputs) };
    span.end(call.op, ticket, span.start(), call.outputs);
    state.note_outcome(call, &result);
    result
}

impl State {
    /// Notes in the outputs' storages how a kernel ended that ran on the calling thread.
    #[inline]
    fn note_outcome(&mut self, call: &Call<'_>, result: &Result<()>) {
        match result {
            Ok(()) => self.clear_replaced(call.outputs, call.content),
            Err(error) => self.note_failure(call, error),
        }
    }

    #[cold]
    fn note_failure(&mut self, call: &Call<'_>, error: &Error) {
        let failure = Failure::new(call.op.clone(), call.at.into(), error.clone());
        self.refuse(call, &failure);
    }
}

#[inline]
fn check_writable(call: &Call<'_>) -> Result<()> {
    if call.outputs.iter().any(|output| output.storage.is_read_only()) {
        return Err(Error::value(call.op.clone(), "output", "read-only memory", "memory that may be written"));
    }
    Ok(())
}
