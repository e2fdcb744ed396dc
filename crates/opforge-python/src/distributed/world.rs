//! What the groups of one world share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use opforge::{Error, Result};
use opforge_dist::{Costs, Engine, Fault, Groups, Guard, Mpi, Request, Settings, Threads, global};

use super::progress;
use crate::front_end;

/// How long a waiting thread goes without looking for signals.
pub const PATIENCE: Duration = Duration::from_millis(50);

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
        Ok(World { mpi: Some(mpi), ..Self::of(mpi.world_within(limit)?, limit) })
    }

    /// This process alone, without MPI.
    pub fn alone(limit: Duration) -> Result<Self> {
        let engine = Threads::group(1).into_iter().next().ok_or_else(|| Error::msg("a group without a rank"))?;
        Ok(Self::of(engine, limit))
    }

    /// The ranks of an engine without MPI.
    pub fn of(engine: Arc<dyn Engine>, limit: Duration) -> Self {
        let guard = Arc::new(Guard::new(engine, Settings { limit, ..Settings::default() }));
        World { guard, mpi: None, limit, running: Mutex::default(), waiting: AtomicUsize::new(0) }
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
        if self.guard.takes_any_thread() && !self.is_idle() {
            progress::drive(self);
        }
    }

    /// Lets calls go on until this one is over, or `until`; whether it is over.
    pub fn wait_until(&self, slot: &Slot, until: Instant) -> bool {
        let _waiting = Waiting::new(&self.waiting);
        let (mut round, mut known) = (0u32, self.guard.news());
        loop {
            let news = self.guard.news();
            if lock(slot).poll() {
                self.forget(slot);
                return true;
            }
            // The others are looked at with all that arrives, or now and then where the engine does not tell.
            if news != known || round % 64 == 63 {
                self.advance();
                known = news;
            }
            if Instant::now() >= until {
                return false;
            }
            self.guard.pause(news, round, until);
            round = round.saturating_add(1);
        }
    }

    /// Makes it the world of global tensors.
    pub fn enter(&self) {
        let groups = Groups::new(self.guard.clone()).with_limit(self.limit.saturating_mul(2));
        global::World::set(Some(global::World::of_front_end(groups, Costs::default(), front_end::caller)));
    }

    /// Waits for all calls, then leaves together with all ranks; each as long as `go_on` says so. What is connected by sockets leaves alone after the limit,
    /// if others still do something of their own: what it has sent arrives all the same.
    pub fn close(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        settle();
        global::World::set(None);
        let (begun, mut round) = (Instant::now(), 0);
        let timed_out =
            || Err(Fault::TimedOut { call: "destroy_process_group".into(), waited: begun.elapsed() }.into());
        loop {
            let news = self.guard.news();
            if self.advance() == 0 {
                break;
            }
            if begun.elapsed() >= self.limit || !go_on() {
                return timed_out();
            }
            self.guard.pause(news, round, Instant::now() + PATIENCE);
            round = round.saturating_add(1);
        }
        let mut leaving = self.guard.leave()?;
        loop {
            match leaving.wait_until(Instant::now() + PATIENCE) {
                Ok(true) => return Ok(()),
                Ok(false) if go_on() => {}
                Ok(false) => return timed_out(),
                Err(error) if self.mpi.is_none() && matches!(Fault::of(&error), Some(Fault::Missing { .. })) => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
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
