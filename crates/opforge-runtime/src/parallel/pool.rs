//! The helper threads behind [`super::parallel_for`].
//!
//! A caller posts its loop, works on it until no range is left unclaimed, takes it back, and waits for the helpers that joined. Helpers
//! look for posted loops. To wake a thread takes longer than most loops, so who has worked looks out for the next loop for a while before it sleeps:
//! while kernels follow each other helpers stay awake, and where there are none nobody spins.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Body;
use crate::interrupt;
use crate::spin::spin_until;

/// How long a thread looks out for work that it has not found when it was called, before it sleeps.
const GLANCE: Duration = Duration::from_micros(5);
/// How long who has worked looks out for the next loop, or for the end of this one.
const WARM: Duration = Duration::from_micros(200);

thread_local! {
    static INSIDE_LOOP: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is working on a loop.
pub(super) fn inside_loop() -> bool {
    INSIDE_LOOP.get()
}

/// Runs a loop of more than one range with the help of up to `max_helpers` other threads.
pub(super) fn run(n: usize, grain: usize, max_helpers: usize, body: &dyn Body<()>) {
    let count = n.div_ceil(grain);
    let max_helpers = max_helpers.min(count - 1);
    let job = Job {
        body,
        n,
        grain,
        max_helpers,
        sections: Sections::new(count, max_helpers + 1),
        helpers: AtomicUsize::new(0),
        flag: interrupt::flag(),
        panic: Mutex::new(None),
    };
    let pool = pool();
    pool.post(&job);
    job.work(0);
    pool.take_back(&job);
    if let Some(payload) = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(payload);
    }
}

/// A loop being run. It lives on its caller's stack.
struct Job<'a> {
    body: &'a dyn Body<()>,
    n: usize,
    grain: usize,
    max_helpers: usize,
    sections: Sections,
    /// The helpers at work. Changed under the pool's lock only.
    helpers: AtomicUsize,
    /// That of the kernel whose loop it is, which outlives the loop.
    flag: *const interrupt::Flag,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Job<'_> {
    /// Claims and runs ranges until none is left, the `who`-th section's first.
    fn work(&self, who: usize) {
        INSIDE_LOOP.set(true);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            while let Some(i) = self.sections.claim(who) {
                interrupt::checkpoint();
                self.body.run(super::range(i, self.grain, self.n));
            }
        }));
        INSIDE_LOOP.set(false);
        if let Err(payload) = outcome {
            self.sections.claim_all();
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        }
    }

    fn wants_help(&self) -> bool {
        self.helpers.load(Ordering::Relaxed) < self.max_helpers && self.sections.have_more()
    }
}

/// A loop's ranges in sections, one for each thread: loops over the same memory that follow each other then find it in the caches of the same
/// cores. Who is done with its own goes on with the next.
struct Sections {
    /// How many ranges there are.
    count: usize,
    sections: usize,
    /// The first range of each section that nobody has claimed; where it ends or beyond when all are.
    next: [Alone; MOST_SECTIONS],
}

/// More threads share sections.
const MOST_SECTIONS: usize = 8;

/// A counter in a cache line of its own.
#[repr(align(64))]
struct Alone(AtomicUsize);

/// Where a section of about equally long ones begins.
fn first(count: usize, sections: usize, section: usize) -> usize {
    section * (count / sections) + section.min(count % sections)
}

impl Sections {
    fn new(count: usize, threads: usize) -> Self {
        let sections = threads.min(MOST_SECTIONS);
        let next =
            std::array::from_fn(|section| Alone(AtomicUsize::new(first(count, sections, section.min(sections)))));
        Sections { count, sections, next }
    }

    fn end(&self, section: usize) -> usize {
        first(self.count, self.sections, section + 1)
    }

    /// A range that nobody else gets.
    fn claim(&self, who: usize) -> Option<usize> {
        (0..self.sections).map(|k| (who + k) % self.sections).find_map(|section| {
            let (next, end) = (&self.next[section].0, self.end(section));
            // Looked at first: those who go on elsewhere do not count on.
            (next.load(Ordering::Relaxed) < end)
                .then(|| next.fetch_add(1, Ordering::Relaxed))
                .filter(|&range| range < end)
        })
    }

    fn have_more(&self) -> bool {
        (0..self.sections).any(|section| self.next[section].0.load(Ordering::Relaxed) < self.end(section))
    }

    /// Leaves nothing to claim.
    fn claim_all(&self) {
        (0..self.sections).for_each(|section| self.next[section].0.store(self.end(section), Ordering::Relaxed));
    }
}

/// A posted loop, its lifetime erased.
///
/// Valid while it is in [`State::posted`] and as long as its count of helpers is not 0: [`Pool::take_back`] waits for that.
struct JobPtr(*const Job<'static>);

// SAFETY: what it points to is shared between threads (all of `Job` is `Sync`, the flag too), never moved or mutated through this pointer.
unsafe impl Send for JobPtr {}

#[derive(Default)]
struct State {
    posted: Vec<JobPtr>,
    spawned: usize,
    /// Helpers that are awake and looking for work.
    spinning: usize,
    /// Helpers asleep that nobody has called yet.
    sleeping: usize,
    /// Calls that sleeping helpers have not followed yet.
    wake_ups: usize,
    /// Callers asleep until their helpers are done.
    callers_waiting: usize,
}

#[derive(Default)]
struct Pool {
    state: Mutex<State>,
    /// Counts postings, for helpers that spin.
    epoch: AtomicUsize,
    work: Condvar,
    done: Condvar,
}

static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// The process's pool. A forked child, which has no helper threads, gets a new one.
fn pool() -> &'static Pool {
    let mut current = POOL.load(Ordering::Acquire);
    if current.is_null() {
        crate::fork::handle_forks();
        let new = Box::into_raw(Box::<Pool>::default());
        current = match POOL.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: `new` came from `Box::into_raw` and nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
                other
            }
        };
    }
    // SAFETY: pools are never freed once they are in `POOL`.
    unsafe { &*current }
}

/// Gives up the pool in a forked child: its helpers do not exist here, and its lock may be held by one of them.
#[cfg(unix)]
pub(crate) fn after_fork_in_child() {
    POOL.store(ptr::null_mut(), Ordering::Release);
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a loop known to the helpers. Must be followed by [`Pool::take_back`] before `job` ends.
    fn post(&'static self, job: &Job<'_>) {
        let mut state = self.lock();
        while state.spawned < job.max_helpers {
            let thread = std::thread::Builder::new().name(format!("opforge-{}", state.spawned + 1));
            if thread.spawn(|| self.help()).is_err() {
                break;
            }
            state.spawned += 1;
            state.spinning += 1;
        }
        state.posted.push(JobPtr(ptr::from_ref(job).cast()));
        self.epoch.fetch_add(1, Ordering::Release);
        let calls = job.max_helpers.saturating_sub(state.spinning).min(state.sleeping);
        state.sleeping -= calls;
        state.wake_ups += calls;
        drop(state);
        (0..calls).for_each(|_| self.work.notify_one());
    }

    /// Ends a loop: no helper joins any more, and those that did are waited for.
    fn take_back(&self, job: &Job<'_>) {
        let mut state = self.lock();
        state.posted.retain(|posted| !ptr::addr_eq(posted.0, job));
        if job.helpers.load(Ordering::Relaxed) == 0 {
            return;
        }
        drop(state);
        let done = || job.helpers.load(Ordering::Acquire) == 0;
        if !spin_until(WARM, done) {
            state = self.lock();
            state.callers_waiting += 1;
            while !done() {
                state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.callers_waiting -= 1;
        }
    }

    /// The life of a helper, which the one who spawned it counted as spinning.
    fn help(&self) {
        let (mut state, mut patience) = (self.lock(), GLANCE);
        loop {
            (state, patience) = match state.posted.iter().find_map(JobPtr::join) {
                Some((job, who)) => {
                    state.spinning -= 1;
                    drop(state);
                    // SAFETY: the caller, which runs the kernel, waits for its helpers.
                    unsafe { interrupt::with_flag(job.flag, || job.work(who)) };
                    (self.leave(job), WARM)
                }
                None => self.wait_for_work(state, patience),
            };
        }
    }

    /// Ends a helper's part in a job; `job` may be gone afterwards.
    fn leave(&self, job: &Job<'_>) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.spinning += 1;
        job.helpers.fetch_sub(1, Ordering::Release);
        if state.callers_waiting > 0 {
            self.done.notify_all();
        }
        state
    }

    /// Waits until something is posted; says too for how long to look out if that wants no help.
    fn wait_for_work<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        patience: Duration,
    ) -> (MutexGuard<'a, State>, Duration) {
        let seen = self.epoch.load(Ordering::Relaxed);
        drop(state);
        let posted = || self.epoch.load(Ordering::Acquire) != seen;
        if spin_until(patience, posted) {
            return (self.lock(), patience);
        }
        let mut state = self.lock();
        if posted() {
            return (state, patience);
        }
        state.spinning -= 1;
        state.sleeping += 1;
        while state.wake_ups == 0 {
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.wake_ups -= 1;
        state.spinning += 1;
        (state, GLANCE)
    }
}

impl JobPtr {
    /// Joins the job if it wants help; says too the how many-th does. Called under the pool's lock.
    fn join(&self) -> Option<(&'static Job<'static>, usize)> {
        // SAFETY: the job is still posted. It stays valid while this helper is counted, which ends in `Pool::leave`.
        let job = unsafe { &*self.0 };
        job.wants_help().then(|| (job, 1 + job.helpers.fetch_add(1, Ordering::Relaxed)))
    }
}
