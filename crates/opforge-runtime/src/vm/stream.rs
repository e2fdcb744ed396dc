//! Streams, and which one a thread submits to.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use opforge_core::Result;

use super::deps::Slot;
use super::machine::Vm;
use super::state::{State, Worker};

/// For threads that are ending and have no stream of their own any more.
const LAST_RESORT: Slot = 0;

thread_local! {
    /// The stream that calls on this thread go to, once known.
    static CURRENT: Cell<Option<Slot>> = const { Cell::new(None) };
    /// The slot of the thread's own stream, once it has one.
    static OWN_SLOT: Cell<Option<Slot>> = const { Cell::new(None) };
    /// The thread's own stream: threads do not stand in each other's way, and their small kernels run on the spot.
    static OWN: Stream = Stream::new();
}

/// The stream that calls on this thread go to.
#[inline]
pub(super) fn current() -> Slot {
    CURRENT.get().unwrap_or_else(open_own)
}

#[cold]
fn open_own() -> Slot {
    match OWN.try_with(Stream::id) {
        Ok(slot) => {
            CURRENT.set(Some(slot));
            OWN_SLOT.set(Some(slot));
            slot
        }
        Err(_) => LAST_RESORT,
    }
}

/// Gives the calling thread a new stream of its own, if its calls go to its own and that is `slot`; says whether it did.
pub(super) fn renew_own(state: &mut State, slot: Slot) -> bool {
    if [CURRENT.get(), OWN_SLOT.get()] != [Some(slot); 2] {
        return false;
    }
    let renew = |own: &Stream| {
        let new = state.open_stream();
        own.0.0.store(new, Ordering::Relaxed);
        CURRENT.set(Some(new));
        OWN_SLOT.set(Some(new));
    };
    OWN.try_with(renew).is_ok()
}

/// A queue of instructions that run one after the other. Streams run side by side, except where storages tie them together.
///
/// Streams are cheap to clone: clones are the same stream. After the last is dropped, what was submitted still runs.
#[derive(Clone, Debug)]
pub struct Stream(Arc<Handle>);

#[derive(Debug)]
struct Handle(AtomicU32);

impl Stream {
    /// A new stream.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Stream(Arc::new(Handle(Vm::global().lock().open_stream().into())))
    }

    /// A number that tells streams apart. Numbers of dropped streams are used again.
    pub fn id(&self) -> u32 {
        self.0.0.load(Ordering::Relaxed)
    }

    /// Waits for all instructions submitted to this stream so far.
    ///
    /// # Errors
    /// The first failure of a queued instruction, unless it has been delivered before.
    pub fn synchronize(&self) -> Result<()> {
        Vm::global().synchronize(Some(self.id()))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // An ending thread may still drop tensors, and even call operators.
        let own = *self.0.get_mut();
        let _ = CURRENT.try_with(|current| current.set(current.get().filter(|&slot| slot != own)));
        Vm::global().close_stream(own);
    }
}

impl Vm {
    pub(super) fn close_stream(&self, slot: Slot) {
        let mut state = self.lock();
        let stream = state.stream(slot);
        stream.closed = true;
        if stream.worker == Worker::Absent && stream.is_idle() {
            return state.free_stream(slot);
        }
        let worker = stream.call_worker();
        drop(state);
        if let Some(worker) = worker {
            worker.notify_one();
        }
    }
}

/// Runs `f` with the calls that this thread makes meanwhile going to `stream`; otherwise they go to the thread's own.
pub fn with_stream<R>(stream: &Stream, f: impl FnOnce() -> R) -> R {
    /// Restores the outer stream, also after a panic.
    struct Restore(Option<Slot>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _restore = Restore(CURRENT.replace(Some(stream.id())));
    f()
}
