//! What the VM asks of Python: to let other threads run and signals through while a thread waits, and where a call was made.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use opforge::Error;
use opforge_runtime::vm::{self, FrontEnd};
use pyo3::ffi;
use pyo3::prelude::*;

/// How long a waiting thread goes without looking for signals.
const PATIENCE: Duration = Duration::from_millis(50);

thread_local! {
    /// Whether this thread is in a function that Python called, attached to the interpreter.
    static IN_CALL: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that Python called.
#[inline]
pub fn called<R>(f: impl FnOnce() -> R) -> R {
    let outer = IN_CALL.replace(true);
    let result = f();
    IN_CALL.set(outer);
    result
}

pub fn install() {
    vm::set_front_end(FrontEnd { wait, caller });
}

/// Waits without the interpreter's lock, which threads that the waited-for work needs may want; an exception of a signal handler (Ctrl-C)
/// ends the wait.
fn wait(step: &mut vm::Step<'_>) -> opforge::Result<()> {
    let attached = Python::try_attach(|py| {
        while !py.detach(|| step(PATIENCE)) {
            py.check_signals().map_err(Error::wrap)?;
        }
        Ok(())
    });
    attached.unwrap_or_else(|| {
        while !step(PATIENCE) {}
        Ok(())
    })
}

/// The innermost line of Python's outside of this package: `file.py:12 in f`.
fn caller() -> Option<Arc<str>> {
    if !IN_CALL.get() {
        return None;
    }
    Python::try_attach(|py| {
        // SAFETY: attached; the frame is borrowed from the running thread, or null outside of Python code.
        let mut frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) }?;
        loop {
            let code = frame.getattr("f_code").ok()?;
            let file: String = code.getattr("co_filename").ok()?.extract().ok()?;
            let outer = frame.getattr("f_back").ok()?;
            if outer.is_none() || !is_own(&file) {
                let line: usize = frame.getattr("f_lineno").ok()?.extract().ok()?;
                let function: String = code.getattr("co_qualname").ok()?.extract().ok()?;
                return Some(format!("{file}:{line} in {function}").into());
            }
            frame = outer;
        }
    })?
}

/// The folder of the package `opforge`.
static PACKAGE: OnceLock<PathBuf> = OnceLock::new();

/// Makes the package's folder known, whose frames are not where users call.
#[pyfunction]
pub fn set_package_folder(folder: PathBuf) {
    let _ = PACKAGE.set(folder);
}

fn is_own(file: &str) -> bool {
    PACKAGE.get().is_some_and(|package| Path::new(file).starts_with(package))
}
