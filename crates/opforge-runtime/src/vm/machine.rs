//! The virtual machine: its lock, its streams, and waiting for all of them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use opforge_core::Result;

use super::deps::{Slot, Ticket};
use super::interrupt::LONG;
use super::state::State;
use crate::device::Device;
use crate::sync::{self, Condvar, Mutex, MutexGuard};

/// How long who waits is awake: most of what is waited for is over by then.
#[cfg(not(loom))]
const AWAKE: Duration = Duration::from_micros(50);

/// The virtual machine. A process has one.
pub(crate) struct Vm {
    state: Mutex<State>,
    /// An instruction or a host access has ended.
    progress: Condvar,
    pub(super) sync: AtomicBool,
    /// Whether calls that wait may be run as one kernel.
    pub(super) fusing: AtomicBool,
    /// Kernels up to this cost run on the caller, in nanoseconds.
    pub(super) inline_cost: AtomicU64,
    /// Counts what has ended while somebody waited, for those who wait awake. Changed under the lock.
    ended: AtomicU64,
    pub(super) max_queued: AtomicUsize,
    pub(super) max_queued_bytes: AtomicUsize,
}

static VM: OnceLock<Vm> = OnceLock::new();

impl Vm {
    #[inline]
    pub fn global() -> &'static Vm {
        VM.get_or_init(|| {
            crate::fork::handle_forks();
            // SAFETY: the only one in the process.
            let vm = unsafe { Vm::new() };
            let is_on = |name| std::env::var(name).ok().map(|v| !["", "0"].contains(&v.trim()));
            vm.sync.store(is_on("OPFORGE_SYNC").unwrap_or(false), Ordering::Relaxed);
            vm.fusing.store(is_on("OPFORGE_FUSE").unwrap_or(true), Ordering::Relaxed);
            vm
        })
    }

    /// The machine if it has been used.
    #[cfg(unix)]
    pub(super) fn if_started() -> Option<&'static Vm> {
        VM.get()
    }

    /// # Safety
    /// No storage may be used with two machines.
    pub(crate) unsafe fn new() -> Self {
        let run_ahead = RunAhead::default();
        Vm {
            // SAFETY: no storage is used with two machines, so that only this machine's token meets what it guards.
            state: Mutex::new(unsafe { State::new() }),
            progress: Condvar::new(),
            sync: AtomicBool::new(false),
            fusing: AtomicBool::new(true),
            ended: AtomicU64::new(0),
            inline_cost: AtomicU64::new(LONG),
            max_queued: AtomicUsize::new(run_ahead.instructions),
            max_queued_bytes: AtomicUsize::new(run_ahead.bytes),
        }
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        sync::lock(&self.state)
    }

    /// Waits until an instruction or a host access has ended, or the time is over: awake at first, then asleep. It may end without reason.
    pub(super) fn wait_for_progress<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        at_most: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        state.waiters += 1;
        #[cfg(not(loom))]
        {
            let seen = self.ended.load(Ordering::Relaxed);
            drop(state);
            let awake = at_most.map_or(AWAKE, |at_most| at_most.min(AWAKE));
            crate::spin::spin_until(awake, || self.ended.load(Ordering::Relaxed) != seen);
            state = self.lock();
            if self.ended.load(Ordering::Relaxed) != seen {
                state.waiters -= 1;
                return state;
            }
        }
        let mut state = sync::wait(&self.progress, state, at_most);
        state.waiters -= 1;
        state
    }

    /// Unlocks after something has ended, and tells those who wait for that.
    #[inline]
    pub(super) fn unlock_after_progress(&self, state: MutexGuard<'_, State>) {
        let anyone = state.waiters > 0;
        if anyone {
            self.ended.fetch_add(1, Ordering::Relaxed);
        }
        drop(state);
        if anyone {
            self.progress.notify_all();
        }
    }

    /// Ends the running instruction of a stream. `wake`: whether the stream's worker has to see to what is queued behind it.
    #[inline]
    pub(super) fn end(&self, state: MutexGuard<'_, State>, slot: Slot, wake: bool) {
        self.end_all(state, slot, 1, wake);
    }

    /// As [`Vm::end`], of so many instructions that ran together.
    #[inline]
    pub(super) fn end_all(&self, mut state: MutexGuard<'_, State>, slot: Slot, count: u64, wake: bool) {
        let stream = state.stream(slot);
        stream.completed += count;
        stream.busy = false;
        stream.running = None;
        let nothing_left = stream.queue.is_empty() && !stream.closed;
        if nothing_left || !wake {
            return self.unlock_after_progress(state);
        }
        let worker = stream.call_worker();
        self.unlock_after_progress(state);
        if let Some(worker) = worker {
            worker.notify_one();
        }
    }

    /// Brings an unfinished instruction nearer to its end: runs what stands before it, or sleeps while others do.
    pub(super) fn help<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        ticket: Ticket,
        at_most: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        match state.startable_before(ticket) {
            // Who may give up waiting must not be running what takes long.
            Some(slot) if at_most.is_some() && state.head_is_long(slot) && self.leave_to_worker(&mut state, slot) => {
                self.wait_for_progress(state, at_most)
            }
            Some(slot) => {
                // The worker is left asleep as long as this thread goes on with the same queue.
                let last = Ticket { stream: slot, seq: state.stream(slot).completed + 1 };
                self.run_head(state, slot, slot != ticket.stream || last.seq >= ticket.seq);
                self.lock()
            }
            None => self.wait_for_progress(state, at_most),
        }
    }

    /// Waits for what has been issued on a stream, or on all; gives the first failure that has not been delivered.
    pub(super) fn synchronize(&self, slot: Option<Slot>) -> Result<()> {
        let mut state = self.lock();
        let slots = slot.map_or(0..state.streams.len() as Slot, |slot| slot..slot + 1);
        for slot in slots.clone() {
            let last = Ticket { stream: slot, seq: state.stream(slot).issued };
            // What was interrupted may go on for long, and nobody wants it.
            if !state.is_interrupted(last) && state.unfinished(last).is_some() {
                drop(state);
                state = self.wait_while(|state| state.unfinished(last))?;
            }
        }
        let mut failures = slots.filter_map(|slot| state.stream(slot).failure.clone());
        failures.find(|failure| !failure.is_observed()).map_or(Ok(()), |failure| Err(failure.deliver()))
    }
}

/// Waits for all instructions issued so far, on all streams: those of devices are then in the devices' own queues.
///
/// # Errors
/// As [`synchronize`].
pub fn hand_over() -> Result<()> {
    Vm::global().synchronize(None)
}

/// Waits for all instructions issued so far, on all streams, and for the devices that carry them out.
///
/// # Errors
/// A failure of a queued instruction that has not been delivered before: the first of the first stream that has one. Synchronising gives
/// each failure once; reading the instruction's outputs gives it again.
pub fn synchronize() -> Result<()> {
    hand_over()?;
    Device::added().try_for_each(|device| device.memory()?.wait())
}

/// How far instructions may be queued ahead of their execution; beyond it, submitting waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunAhead {
    /// The most instructions queued on a stream.
    pub instructions: usize,
    /// The most bytes that the queued instructions of a stream will reserve. One instruction may always be queued.
    pub bytes: usize,
}

impl Default for RunAhead {
    /// 1024 instructions, 1 GiB.
    fn default() -> Self {
        RunAhead { instructions: 1024, bytes: 1 << 30 }
    }
}

/// How far instructions may be queued ahead.
pub fn run_ahead() -> RunAhead {
    let vm = Vm::global();
    RunAhead { instructions: vm.max_queued.load(Ordering::Relaxed), bytes: vm.max_queued_bytes.load(Ordering::Relaxed) }
}

/// Sets how far instructions may be queued ahead. At least one instruction always may.
pub fn set_run_ahead(run_ahead: RunAhead) {
    let vm = Vm::global();
    vm.max_queued.store(run_ahead.instructions.max(1), Ordering::Relaxed);
    vm.max_queued_bytes.store(run_ahead.bytes, Ordering::Relaxed);
}

/// The cost, in nanoseconds, up to which a kernel runs on the calling thread if nothing stands before it.
pub fn inline_cost() -> u64 {
    Vm::global().inline_cost.load(Ordering::Relaxed)
}

/// Sets the cost up to which a kernel runs on the calling thread; at first 2 milliseconds, beside which it
/// takes long to hand a kernel over and to be woken again (the example `overhead` shows how long).
pub fn set_inline_cost(nanoseconds: u64) {
    Vm::global().inline_cost.store(nanoseconds, Ordering::Relaxed);
}

/// Whether every call waits for its kernel. At first if the environment variable `OPFORGE_SYNC` is set to anything but 0.
pub fn is_sync() -> bool {
    Vm::global().sync.load(Ordering::Relaxed)
}

/// Makes every call wait for its kernel and return its error, or stops that.
pub fn set_sync(sync: bool) {
    Vm::global().sync.store(sync, Ordering::Relaxed);
}
