//! The VM while the process forks, and in the forked child.

use std::thread::sleep;
use std::time::{Duration, Instant};

use opforge_core::Error;

use super::deps::Slot;
use super::failure::Failure;
use super::machine::Vm;
use super::run;
use super::state::{Running, State, Worker};
use crate::sync::MutexGuard;

/// The longest that a fork waits for running instructions: one of them may itself wait for the thread that forks.
const PATIENCE: Duration = Duration::from_secs(1);

/// The VM's lock, held while the process forks.
pub(crate) type ForkGuard = Option<MutexGuard<'static, State>>;

/// Waits for the running instructions to end and stops the VM.
pub(crate) fn before_fork() -> ForkGuard {
    let vm = Vm::if_started()?;
    let start = Instant::now();
    loop {
        let state = vm.lock();
        let busy = state.streams.iter().any(|stream| stream.busy);
        if !busy || run::is_inside_kernel() || start.elapsed() > PATIENCE {
            return Some(state);
        }
        drop(state);
        sleep(Duration::from_micros(50));
    }
}

/// Lets the VM go on.
pub(crate) fn after_fork(guard: ForkGuard, in_child: bool) {
    if let (Some(mut state), true) = (guard, in_child) {
        state.waiters = 0;
        (0..state.streams.len() as Slot).for_each(|slot| revive(&mut state, slot));
    }
}

/// Makes a stream usable in a child, where it has no worker: it gets a new one when it needs one. An instruction that a worker of the
/// parent was still running has failed here.
fn revive(state: &mut State, slot: Slot) {
    let stream = state.stream(slot);
    stream.worker = Worker::Absent;
    if let Some(Running { op, at, outputs, calls, .. }) = stream.running.take() {
        (stream.busy, stream.completed) = (false, stream.completed + calls);
        let failure = Failure::new(op, at, Error::msg("the process forked before the kernel had ended"));
        for output in outputs.iter().filter_map(|(output, _)| output.upgrade()) {
            output.deps.get(&mut state.token).set_poison(failure.clone());
        }
        state.report(slot, &failure);
    }
}
