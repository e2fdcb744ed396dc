//! The ranks that a thread's program runs on.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use opforge::{Error, Result};
use opforge_runtime::vm::Stream;

use crate::engine::Call;
use crate::planner::Ledger;
use crate::{Buffer, Costs, Engine, Groups, Place};

/// The ranks that one program runs on, seen from one of them.
#[derive(Debug)]
pub struct World {
    groups: Arc<Groups>,
    costs: Costs,
    digest: u64,
    /// Where the program is, in another language.
    front_end: Option<FrontEnd>,
    /// Where parts are brought from rank to rank; none where the thread of the program has to do it.
    stream: Option<Stream>,
    /// What calls cost, where ranks are simulated.
    ledger: Option<Arc<Ledger>>,
}

/// The line of a program in another language that makes the current call, if it was made there.
type FrontEnd = fn() -> Option<Arc<str>>;

thread_local!(static OF_THREAD: RefCell<Option<Arc<World>>> = const { RefCell::new(None) });
static OF_PROCESS: Mutex<Option<Arc<World>>> = Mutex::new(None);

impl World {
    /// The ranks of an engine, which should be a [`crate::Guard`].
    pub fn new(engine: Arc<dyn Engine>) -> Arc<Self> {
        Self::with(Groups::new(engine), Costs::default())
    }

    /// Ranks with other limits and costs.
    pub fn with(groups: Groups, costs: Costs) -> Arc<Self> {
        Arc::new(Self::made(groups, costs, None))
    }

    /// Ranks of a program in another language, which says where it makes a call: ranks show each other that place.
    pub fn of_front_end(groups: Groups, costs: Costs, place: fn() -> Option<Arc<str>>) -> Arc<Self> {
        Arc::new(Self::made(groups, costs, Some(place)))
    }

    fn made(groups: Groups, costs: Costs, front_end: Option<FrontEnd>) -> Self {
        let stream = groups.world().takes_any_thread().then(Stream::new);
        World { digest: costs.digest(), groups: Arc::new(groups), costs, front_end, stream, ledger: None }
    }

    /// Ranks that are simulated: calls are not carried out, but what they cost is added up.
    pub(crate) fn simulated(groups: Groups, costs: Costs, ledger: Arc<Ledger>) -> Arc<Self> {
        let digest = costs.digest();
        Arc::new(World { groups: Arc::new(groups), costs, digest, front_end: None, stream: None, ledger: Some(ledger) })
    }

    /// Runs a program whose tensors on this thread are those of this world's rank.
    pub fn run<R>(self: &Arc<Self>, program: impl FnOnce() -> R) -> R {
        /// Restores the outer world, also when the program unwinds.
        struct Restore(Option<Arc<World>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                OF_THREAD.set(self.0.take());
            }
        }
        let _restore = Restore(OF_THREAD.replace(Some(self.clone())));
        program()
    }

    /// Makes it the world of all threads of the process that have none of their own; `None` ends that.
    pub fn set(world: Option<Arc<Self>>) {
        *OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner) = world;
    }

    /// The world of this thread, else that of the process.
    ///
    /// # Errors
    /// There is none.
    pub fn current() -> Result<Arc<Self>> {
        let own = OF_THREAD.with_borrow(Clone::clone);
        let shared = || OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        own.or_else(shared).ok_or_else(|| {
            Error::value("global", "world", "none", "a program that has started an engine, as init_process_group does")
        })
    }

    /// The groups of its ranks. Calls of theirs come after those of global tensors once these have ended: [`World::settle`].
    pub fn groups(&self) -> &Arc<Groups> {
        &self.groups
    }

    /// The stream on which parts are brought from rank to rank, if it is not the caller's.
    pub(super) fn stream(&self) -> Option<&Stream> {
        self.stream.as_ref()
    }

    /// Waits until all parts that are on their way have arrived, so that calls of engines come after them on every rank. What failed is said to those who
    /// read it.
    pub fn settle(&self) {
        if let Some(stream) = &self.stream {
            let _ = stream.synchronize();
        }
    }

    /// Makes a call of a group, after those of global tensors, and waits for it.
    pub(super) fn call(&self, group: &Arc<dyn Engine>, call: Call) -> Result<Buffer> {
        self.settle();
        self.groups.call(group, call)
    }

    /// Where the program makes the current call: in another language, else there in Rust.
    pub(super) fn place(&self, at: &'static Location<'static>) -> Place {
        self.front_end.and_then(|place| place()).map_or(Place::Rust(at), Place::Text)
    }

    /// What boxing costs.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// What calls cost, where ranks are simulated.
    pub(super) fn ledger(&self) -> Option<&Arc<Ledger>> {
        self.ledger.as_ref()
    }

    /// What tells its costs from others.
    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// The rank that it is seen from.
    pub fn rank(&self) -> usize {
        self.groups.world().rank()
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.groups.world().size()
    }
}
