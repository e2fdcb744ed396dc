//! How the host waits, and what a front end in another language does meanwhile.
//!
//! Waiting is the front end's business: Python's lets go of the interpreter's lock and lets signals through (`opforge-python/src/front_end.rs`). A
//! thread that waits therefore never runs a long kernel itself, for it could not be called off.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use opforge_core::Result;

use super::machine::Vm;
use super::state::{Obstacle, State};
use crate::sync::MutexGuard;

/// A step of waiting: waits at most so long, and says whether the wait is over.
pub type Step<'a> = dyn FnMut(Duration) -> bool + Send + 'a;

/// What the VM asks of a front end in another language.
#[derive(Clone, Copy)]
pub struct FrontEnd {
    /// Takes steps until the wait is over. Between them it may do what the other language needs (let others run, look for signals), and give up
    /// with an error, which whoever waits returns, and which interrupts the kernels that were waited for. The VM's lock is free.
    pub wait: fn(&mut Step<'_>) -> Result<()>,
    /// Runs a function while others may use what the calling thread holds in the other language, such as the interpreter's lock.
    pub apart: fn(&mut (dyn FnMut() + Send)),
    /// Where in the other language the current call was made, if it was made there. Asked for each call that is queued.
    pub caller: fn() -> Option<Arc<str>>,
}

static FRONT_END: OnceLock<FrontEnd> = OnceLock::new();

/// Names the front end; the first stays.
pub fn set_front_end(front_end: FrontEnd) {
    let _ = FRONT_END.set(front_end);
}

/// Waits for what is not the VM's (a process, a lock) as the VM waits: in the front end's way, if there is one.
///
/// # Errors
/// The front end's, if it gives up; what was waited for goes on.
pub fn wait(step: &mut Step<'_>) -> Result<()> {
    if let Some(front_end) = FRONT_END.get() {
        return (front_end.wait)(step);
    }
    while !step(Duration::MAX) {}
    Ok(())
}

/// The cost, in nanoseconds, from which a kernel that runs on the calling thread lets the front end's other threads run.
const APART: u64 = 100_000;

/// Runs what takes so many nanoseconds on the calling thread, letting the front end's others run if it is long.
pub(super) fn run_apart<R: Send>(cost: u64, f: impl FnOnce() -> R + Send) -> R {
    let front_end = match FRONT_END.get() {
        Some(front_end) if cost >= APART => front_end,
        _ => return f(),
    };
    let (mut f, mut result) = (Some(f), None);
    (front_end.apart)(&mut || result = f.take().map(|f| f()));
    result.expect("a front end runs what it is given, once")
}

/// How long others get the front end's lock when somebody who works on the host looks up: they need that to wake.
const GLANCE: Duration = Duration::from_micros(100);

/// Lets the front end do what it does between two steps of waiting, though there is nothing to wait for: for whoever works on the host for long.
///
/// # Errors
/// The front end's, if it gives up.
pub fn look_up() -> Result<()> {
    let Some(front_end) = FRONT_END.get() else { return Ok(()) };
    let mut looked = false;
    (front_end.wait)(&mut |_| {
        if !looked {
            std::thread::sleep(GLANCE);
        }
        std::mem::replace(&mut looked, true)
    })
}

/// Whether those who wait may give up.
pub(super) fn may_give_up() -> bool {
    FRONT_END.get().is_some()
}

/// Where the current call was made in the front end's language, if that is known.
///
/// ```
/// // No front end has told the VM where it is.
/// assert_eq!(opforge_runtime::vm::caller(), None);
/// ```
pub fn caller() -> Option<Arc<str>> {
    FRONT_END.get().and_then(|front_end| (front_end.caller)())
}

impl Vm {
    /// Locks when nothing stands in the way any more; helps with what does.
    ///
    /// # Errors
    /// The front end's, if it gives up; then what was waited for is interrupted.
    pub(super) fn wait_while(
        &self,
        mut obstacle: impl FnMut(&mut State) -> Option<Obstacle> + Send,
    ) -> Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        if obstacle(&mut state).is_none() {
            return Ok(state);
        }
        let Some(front_end) = FRONT_END.get() else { return Ok(self.overcome(state, &mut obstacle, None)) };
        loop {
            drop(state);
            let outcome = (front_end.wait)(&mut |at_most| {
                let mut state = self.overcome(self.lock(), &mut obstacle, Some(Instant::now() + at_most));
                obstacle(&mut state).is_none()
            });
            state = self.lock();
            match (outcome, obstacle(&mut state)) {
                (Ok(()), None) => return Ok(state),
                (Ok(()), Some(_)) => {}
                (Err(error), Some(Obstacle::Instruction(ticket))) => {
                    self.interrupt(state, ticket);
                    return Err(error);
                }
                (Err(error), _) => return Err(error),
            }
        }
    }

    /// Helps until nothing stands in the way or the time is over.
    fn overcome<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        obstacle: &mut dyn FnMut(&mut State) -> Option<Obstacle>,
        end: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        while let Some(obstacle) = obstacle(&mut state) {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            state = match obstacle {
                Obstacle::Instruction(ticket) => self.help(state, ticket, left),
                Obstacle::HostAccess => self.wait_for_progress(state, left),
            };
        }
        state
    }
}
