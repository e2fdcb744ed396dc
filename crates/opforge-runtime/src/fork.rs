//! What happens to the runtime when the process forks: the child has its memory, but only the thread that forked.

use std::sync::Once;

/// Sees to it, once per process, that forked children start with a usable runtime.
pub(crate) fn handle_forks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(register);
}

#[cfg(unix)]
fn register() {
    // SAFETY: the handler is a plain function that only stores to an atomic, which is allowed in a forked child.
    // Registering fails only for lack of memory; then forked children must not use the runtime.
    unsafe { libc::pthread_atfork(None, None, Some(after_in_child)) };
}

#[cfg(unix)]
extern "C" fn after_in_child() {
    crate::parallel::pool::after_fork_in_child();
}

#[cfg(not(unix))]
fn register() {}
