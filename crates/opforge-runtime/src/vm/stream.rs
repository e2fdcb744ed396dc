use std::cell::Cell;
use std::sync::Arc;

use opforge_core::Result;

use super::deps::Slot;
use super::machine::Vm;
use super::state::Worker;

/// For threads that are ending and have no stream of their own any more.
const LAST_RESORT: Slot = 0;

thread_local! {
    /// The stream that calls on this thread go to, once known.
    static CURRENT: Cell<Option<Slot>> = const { Cell::new(None) };
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
            slot
        }
        Err(_) => LAST_RESORT,
    }
}

/// A queue of instructions that run one after the other. Streams run side by side, except where storages tie them together.
///
/// Streams are cheap to clone: clones are the same stream. After the last is dropped, what was submitted still runs.
#[derive(Clone, Debug)]
pub struct Stream(Arc<Handle>);

#[derive(Debug)]
struct Handle(Slot);

impl Stream {
    /// A new stream.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Stream(Arc::new(Handle(Vm::global().lock().open_stream())))
    }

    /// A number that tells streams apart. Numbers of dropped streams are used again.
    pub fn id(&self) -> u32 {
        self.0.0
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
        let _ = CURRENT.try_with(|current| current.set(current.get().filter(|&slot| slot != self.0)));
        Vm::global().close_stream(self.0);
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
