//! The process's exit status, for what is found when it is too late to raise an exception.

use std::ffi::c_int;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static FAILED: AtomicBool = AtomicBool::new(false);

/// Sees to it that a process which would exit with the status 0 exits with 1.
pub fn fail() {
    FAILED.store(true, Ordering::Relaxed);
}

/// Has [`fail`] followed when the process exits. Called early: what is registered first comes last.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(system::register);
}

/// glibc tells what status the process is about to exit with.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod system {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        fn on_exit(f: extern "C" fn(c_int, *mut c_void), arg: *mut c_void) -> c_int;
    }

    extern "C" fn ended(status: c_int, _: *mut c_void) {
        super::ended(status);
    }

    pub fn register() {
        // SAFETY: the function may be called when the process exits; it uses no argument.
        unsafe { on_exit(ended, std::ptr::null_mut()) };
    }
}

/// Elsewhere the status is not known: whatever it was becomes 1.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod system {
    unsafe extern "C" {
        fn atexit(f: extern "C" fn()) -> std::ffi::c_int;
    }

    extern "C" fn ended() {
        super::ended(0);
    }

    pub fn register() {
        // SAFETY: the function may be called when the process exits.
        unsafe { atexit(ended) };
    }
}

fn ended(status: c_int) {
    unsafe extern "C" {
        fn fflush(stream: *mut std::ffi::c_void) -> c_int;
        fn _exit(status: c_int) -> !;
    }
    if status == 0 && FAILED.load(Ordering::Relaxed) {
        // SAFETY: null means all streams, which are flushed after the last function that was registered.
        unsafe {
            fflush(std::ptr::null_mut());
            _exit(1)
        }
    }
}
