//! What the VM asks of Python: to let other threads run and signals through while a thread waits, and where a call was made.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use opforge::Error;
use opforge_runtime::vm::{self, FrontEnd};
use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::error::OrRaise;
use crate::exit_status;

/// How long a waiting thread goes without looking for signals.
const PATIENCE: Duration = Duration::from_millis(50);

thread_local! {
    /// Whether this thread is in a function that Python called, attached to the interpreter.
    static IN_CALL: Cell<bool> = const { Cell::new(false) };
    /// The line on whose behalf this thread runs operators without the interpreter's lock.
    static BEHALF: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// Runs a function that Python called.
#[inline]
pub fn called<R>(f: impl FnOnce() -> R) -> R {
    let outer = IN_CALL.replace(true);
    let result = f();
    IN_CALL.set(outer);
    result
}

/// As [`called`]; if `f` fails, what it had queued on the way is taken back.
#[inline]
pub fn attempt<R>(f: impl FnOnce() -> opforge::Result<R>) -> opforge::Result<R> {
    called(|| f().inspect_err(|_| vm::abandon_unwanted()))
}

pub fn install(py: Python<'_>) -> PyResult<()> {
    vm::set_front_end(FrontEnd { wait, apart, caller });
    exit_status::watch();
    py.import("atexit")?.call_method1("register", (wrap_pyfunction!(report_at_exit, py)?,)).map(drop)
}

/// When the interpreter ends: waits for all kernels, and reports the failures that nobody has seen. They make the exit status 1 if it would be 0.
#[pyfunction]
fn report_at_exit(py: Python<'_>) -> PyResult<()> {
    loop {
        let Err(error) = vm::synchronize().or_raise(py) else { return Ok(()) };
        // An exception of a signal handler ends the wait.
        if !error.is_instance(py, &py.get_type::<PyException>()) {
            return Err(error);
        }
        exit_status::fail();
        if let Ok(stderr) = py.import("sys").and_then(|sys| sys.getattr("stderr")) {
            // Without a stream there is nobody to tell; the status does.
            let _ = stderr.call_method1("write", ("opforge: a kernel failed, and nobody asked for its result\n",));
        }
        error.print(py);
    }
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

/// Runs `f` without the interpreter's lock, if this thread has it.
fn apart(f: &mut (dyn FnMut() + Send)) {
    if !IN_CALL.get() || Python::try_attach(|py| py.detach(&mut *f)).is_none() {
        f();
    }
}

/// Where in Python the current call was made.
pub fn caller() -> Option<Arc<str>> {
    if let Some(place) = BEHALF.with_borrow(Clone::clone) {
        return Some(place);
    }
    if IN_CALL.get() { Python::try_attach(place)? } else { None }
}

/// Runs `f` without the interpreter's lock, for a line of Python's.
pub fn on_behalf_of<R>(place: Option<Arc<str>>, f: impl FnOnce() -> R) -> R {
    let outer = (BEHALF.replace(place), IN_CALL.replace(false));
    let result = f();
    BEHALF.set(outer.0);
    IN_CALL.set(outer.1);
    result
}

/// The innermost line of Python's outside of this package: `file.py:12 in f`.
pub fn place(py: Python<'_>) -> Option<Arc<str>> {
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
