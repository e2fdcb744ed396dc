//! What the groups of one world share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use opforge::{Error, Result};
use opforge_dist::{Costs, Fault, Groups, Guard, Mpi, Request, Settings, Threads, global};

use super::progress;
use crate::front_end;

/// A call under way, or its end.
pub type Slot = Arc<Mutex<State>>;

/// What became of a call.
pub enum State {
    Running(Request),
    Done,
    Failed(Error),
}

impl State {
    /// Lets the call go on; whether it is over.
    pub fn poll(&mut self) -> bool {
        let State::Running(request) = self else { return true };
        match request.test() {
            Ok(false) => return false,
            // Dropping the request drops the buffers.
            Ok(true) => *self = State::Done,
            Err(error) => *self = State::Failed(error),
        }
        true
    }
}

/// A guarded world and the calls under way in it: who waits for one lets all go on, since the engine works while it is asked.
pub struct World {
    pub guard: Arc<Guard>,
    pub mpi: Option<&'static Mpi>,
    pub limit: Duration,
    running: Mutex<Vec<Slot>>,
    /// Threads that wait for a call, and let all go on meanwhile.
    waiting: AtomicUsize,
}

impl World {
    /// All processes that MPI's launcher started.
    pub fn of_mpi(limit: Duration) -> Result<Self> {
        let mpi = Mpi::start()?;
        let guard = Guard::new(mpi.world_within(limit)?, Settings { limit, ..Settings::default() });
        Ok(World {
            guard: Arc::new(guard),
            mpi: Some(mpi),
            limit,
            running: Mutex::default(),
            waiting: AtomicUsize::new(0),
        })
    }

    /// This process alone, without MPI.
    pub fn alone(limit: Duration) -> Result<Self> {
        let engine = Threads::group(1).into_iter().next().ok_or_else(|| Error::msg("a group without a rank"))?;
        let guard = Guard::new(engine, Settings { limit, ..Settings::default() });
        Ok(World { guard: Arc::new(guard), mpi: None, limit, running: Mutex::default(), waiting: AtomicUsize::new(0) })
    }

    /// Holds a call until it is over, whether somebody waits for it or not.
    pub fn keep(&self, request: Request) -> Slot {
        let mut state = State::Running(request);
        let is_over = state.poll();
        let slot = Arc::new(Mutex::new(state));
        if !is_over {
            self.slots().push(slot.clone());
        }
        slot
    }

    /// Lets all calls go on; how many are left. Calls that another thread lets go on are left to it.
    pub fn advance(&self) -> usize {
        // Others add calls meanwhile: a poll may reduce megabytes.
        let all = self.slots().clone();
        let is_over = |slot: &Slot| match slot.try_lock() {
            Ok(mut state) => state.poll(),
            Err(TryLockError::Poisoned(state)) => state.into_inner().poll(),
            Err(TryLockError::WouldBlock) => false,
        };
        let over: Vec<Slot> = all.into_iter().filter(is_over).collect();
        let mut left = self.slots();
        left.retain(|slot| !over.iter().any(|over| Arc::ptr_eq(over, slot)));
        left.len()
    }

    /// Lets go of a call that is over.
    fn forget(&self, slot: &Slot) {
        self.slots().retain(|other| !Arc::ptr_eq(other, slot));
    }

    /// Whether no call is under way.
    pub fn is_idle(&self) -> bool {
        self.slots().is_empty()
    }

    /// Whether somebody waits for a call, and so lets all go on.
    pub fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Lets the calls under way go on by themselves, where any thread may use the engine.
    pub fn release(self: &Arc<Self>) {
        if self.mpi.is_some_and(Mpi::takes_any_thread) && !self.is_idle() {
            progress::drive(self);
        }
    }

    /// Lets calls go on until this one is over, or `until`; whether it is over.
    pub fn wait_until(&self, slot: &Slot, until: Instant) -> bool {
        let _waiting = Waiting::new(&self.waiting);
        let mut round = 0u32;
        loop {
            if lock(slot).poll() {
                self.forget(slot);
                return true;
            }
            // The others are looked at now and then.
            if round % 64 == 63 {
                self.advance();
            }
            if Instant::now() >= until {
                return false;
            }
            back_off(round);
            round = round.saturating_add(1);
        }
    }

    /// Makes it the world of global tensors.
    pub fn enter(&self) {
        let groups = Groups::new(self.guard.clone()).with_limit(self.limit.saturating_mul(2));
        global::World::set(Some(global::World::of_front_end(groups, Costs::default(), front_end::caller)));
    }

    /// Waits for all calls, then leaves together with all ranks.
    pub fn close(&self) -> Result<()> {
        settle();
        global::World::set(None);
        let until = Instant::now() + self.limit;
        let mut round = 0;
        while self.advance() > 0 {
            if Instant::now() >= until {
                return Err(Fault::TimedOut { call: "destroy_process_group".into(), waited: self.limit }.into());
            }
            back_off(round);
            round = round.saturating_add(1);
        }
        self.guard.close()
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, Vec<Slot>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets what global tensors have under way end first: ranks make their calls in one order.
pub fn settle() {
    if let Ok(world) = global::World::current() {
        world.settle();
    }
}

/// A thread that waits, as long as this lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The state of a call.
pub fn lock(slot: &Slot) -> std::sync::MutexGuard<'_, State> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// First awake, then letting others run, then asleep for moments.
fn back_off(round: u32) {
    match round {
        0..200 => std::hint::spin_loop(),
        200..20_000 => std::thread::yield_now(),
        _ => std::thread::sleep(Duration::from_micros(100)),
    }
}
