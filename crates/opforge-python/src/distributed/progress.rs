//! The thread that lets calls go on while nobody waits for them.
//!
//! MPI moves bytes, and opforge reduces them, only while they are asked to. Engines stay without threads; one thread of the extension serves all
//! groups. It starts with the first call that nobody waits for, sleeps when there is none, leaves a world alone while somebody waits for its calls,
//! and is joined before the interpreter ends.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::world::World;

/// A look that takes longer has moved bytes: the next one follows at once.
const BUSY: Duration = Duration::from_micros(20);
/// The shortest and the longest sleep between looks that move nothing.
const SLEEP: [Duration; 2] = [Duration::from_micros(20), Duration::from_micros(500)];

#[derive(Default)]
struct State {
    /// Worlds with calls under way.
    worlds: Vec<Weak<World>>,
    /// The thread, and the process that it is a thread of: forked ones have none.
    thread: Option<(JoinHandle<()>, u32)>,
    is_stopped: bool,
}

static STATE: Mutex<State> = Mutex::new(State { worlds: Vec::new(), thread: None, is_stopped: false });
static NEWS: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a world's calls go on until all are over. Without a thread, where none can be started, they go on while somebody waits.
pub fn drive(world: &Arc<World>) {
    let mut state = lock();
    let here = std::process::id();
    if state.is_stopped || state.thread.as_ref().is_some_and(|(_, process)| *process != here) {
        return;
    }
    if state.thread.is_none() {
        let started = std::thread::Builder::new().name("opforge-collectives".into()).spawn(run);
        state.thread = started.ok().map(|thread| (thread, here));
    }
    let new = Arc::downgrade(world);
    if !state.worlds.iter().any(|known| known.ptr_eq(&new)) {
        state.worlds.push(new);
        NEWS.notify_one();
    }
}

/// Ends the thread, for good: calls under way go on while somebody waits for them.
pub fn stop() {
    let thread = {
        let mut state = lock();
        state.is_stopped = true;
        NEWS.notify_one();
        state.thread.take_if(|(_, process)| *process == std::process::id())
    };
    if let Some((thread, _)) = thread {
        // A panic was reported where it happened.
        let _ = thread.join();
    }
}

fn run() {
    let mut quiet = Instant::now();
    while let Some(worlds) = next() {
        let begun = Instant::now();
        let mut is_waited_for = false;
        for world in worlds.iter().filter_map(Weak::upgrade) {
            match world.is_waited_for() {
                true => is_waited_for = true,
                false => drop(world.advance()),
            }
        }
        if !is_waited_for && begun.elapsed() >= BUSY {
            quiet = Instant::now();
        } else {
            std::thread::sleep((quiet.elapsed() / 16).clamp(SLEEP[0], SLEEP[1]));
        }
    }
}

/// The worlds with calls under way, when there are any; none at the end.
fn next() -> Option<Vec<Weak<World>>> {
    let mut state = lock();
    state.worlds.retain(|world| world.upgrade().is_some_and(|world| !world.is_idle()));
    while state.worlds.is_empty() && !state.is_stopped {
        state = NEWS.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    if state.is_stopped { None } else { Some(state.worlds.clone()) }
}
