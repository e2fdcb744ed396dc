//! What a call that failed leaves behind: instructions whose results nobody can ask for are taken back, so that what follows does not wait for them.
//!
//! Only instructions of the same call of the front end (the same line) count. What a program drops itself is run.

use std::collections::{HashMap, HashSet};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::buffer::{Buffer, Content, Instruction};
use super::machine::Vm;
use super::state::{Running, StreamState};
use super::{patience, stream};
use crate::storage::Storage;

/// Takes back what the current call of the front end's, which has failed, had queued on the way: instructions of its place in the program whose
/// results nobody holds, unless they change what was there before. What runs of them is told to stop.
pub fn abandon_unwanted() {
    let (vm, slot) = (Vm::global(), stream::current());
    if vm.lock().stream(slot).is_idle() {
        return;
    }
    let caller = patience::caller();
    let mut state = vm.lock();
    if state.stream(slot).abandon(caller.as_ref()) {
        vm.leave_behind(state, slot);
    }
}

/// The holds of queued instructions on storages, and the storages that those which will run read.
#[derive(Default)]
struct Uses {
    holds: HashMap<*const Storage, usize>,
    needed: HashSet<*const Storage>,
}

impl Uses {
    /// Whether nobody but unwanted instructions uses a storage; `holders` are all that hold it.
    fn is_unwanted(&self, storage: *const Storage, holders: usize) -> bool {
        holders == self.holds.get(&storage).copied().unwrap_or(0) && !self.needed.contains(&storage)
    }
}

impl StreamState {
    /// Says whether that is all of the stream, which then counts as interrupted.
    fn abandon(&mut self, caller: Option<&Arc<str>>) -> bool {
        let mut uses = Uses::default();
        for queued in &self.queue {
            buffers(&queued.instruction).for_each(|buffer| *uses.holds.entry(buffer.storage()).or_default() += 1);
        }
        for queued in self.queue.iter_mut().rev() {
            let instruction = &queued.instruction;
            if instruction.at.caller.as_ref() == caller && is_unwanted(instruction, &uses) {
                queued.abandoned = true;
            } else {
                uses.needed.extend(buffers(instruction).map(|buffer| ptr::from_ref(buffer.storage())));
            }
        }
        let running = self.running.as_mut().filter(|running| running.at.caller.as_ref() == caller);
        let Some(running) = running.filter(|running| running.is_unwanted(&mut uses)) else { return false };
        running.abandoned = true;
        self.flag.store(true, Ordering::Relaxed);
        let is_all = self.queue.iter().all(|queued| queued.abandoned);
        if is_all {
            self.interrupted = self.issued;
        }
        is_all
    }
}

impl Running {
    fn is_unwanted(&self, uses: &mut Uses) -> bool {
        let outputs = || self.outputs.iter().filter_map(|(output, holds)| Some((output.upgrade()?, *holds)));
        // Its own holds, which are in no queue any more.
        outputs().for_each(|(output, holds)| *uses.holds.entry(Arc::as_ptr(&output)).or_default() += holds);
        // And that of looking.
        let is_unwanted = |output: Arc<Storage>| uses.is_unwanted(Arc::as_ptr(&output), Arc::strong_count(&output) - 1);
        !self.changes && outputs().all(|(output, _)| is_unwanted(output))
    }
}

fn buffers(instruction: &Instruction) -> impl Iterator<Item = &Buffer> {
    instruction.inputs.iter().chain(&instruction.outputs)
}

/// Whether an instruction's results are new, and nobody can ask for them.
fn is_unwanted(instruction: &Instruction, uses: &Uses) -> bool {
    let is_unwanted = |output: &Buffer| {
        !output.storage().is_reserved() && uses.is_unwanted(output.storage(), Arc::strong_count(&output.storage))
    };
    instruction.content != Content::Changed && instruction.outputs.iter().all(is_unwanted)
}
