//! What happens to the runtime when the process forks: the child has its memory, but only the thread that forked.
//!
//! A fork waits for running instructions and then holds the locks, so that the child finds everything consistent.

use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(unix)]
pub(crate) use unix::handle_forks;

static FORKS: AtomicUsize = AtomicUsize::new(0);

/// How many forks lie between this process and the one that first asked: what a device's driver holds does not outlive one.
pub fn forks() -> usize {
    handle_forks();
    FORKS.load(Ordering::Relaxed)
}

/// There are no forks.
#[cfg(not(unix))]
pub(crate) fn handle_forks() {}

#[cfg(unix)]
mod unix {
    use std::cell::RefCell;
    use std::sync::{MutexGuard, Once};

    use super::{FORKS, Ordering};
    use crate::{alloc, parallel, vm};

    thread_local! {
        /// What the forking thread holds.
        static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
    }

    struct Held {
        vm: vm::ForkGuard,
        _heap: MutexGuard<'static, alloc::Heap>,
    }

    /// Sees to it, once per process, that forked children start with a usable runtime.
    pub(crate) fn handle_forks() {
        static ONCE: Once = Once::new();
        // SAFETY: the handlers are plain functions. They do not allocate in the child.
        // Registering fails only for lack of memory; then forked children must not use the runtime.
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child));
        });
    }

    extern "C" fn prepare() {
        let vm = vm::before_fork();
        HELD.set(Some(Held { vm, _heap: alloc::lock() }));
    }

    extern "C" fn in_parent() {
        resume(false);
    }

    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
        parallel::pool::after_fork_in_child();
        resume(true);
    }

    fn resume(in_child: bool) {
        if let Some(held) = HELD.take() {
            vm::after_fork(held.vm, in_child);
        }
    }
}
