//! Calls that Python wants to see before they run: all of a thread that is in a mode (`autocast`, `TorchFunctionMode`), and those with an argument
//! whose class has a `__torch_function__`. What becomes of them is decided by the package (`_calls/intercept.py`).

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::bind::Arguments;
use super::convert::Object;
use crate::tensor::PyTensor;

/// How many reasons there are to look at calls: threads that show theirs and, once there is one, subclasses of `Tensor`. None: calls pay one read.
static REASONS: AtomicUsize = AtomicUsize::new(0);

/// What a thread shows of its calls.
#[derive(Clone, Copy)]
struct Watch {
    /// All of them.
    calls: bool,
    /// Those with an argument whose class has a `__torch_function__`.
    classes: bool,
}

thread_local! {
    static WATCH: Cell<Watch> = const { Cell::new(Watch { calls: false, classes: true }) };
}

fn set(watch: Watch) -> Watch {
    let before = WATCH.replace(watch);
    match (before.calls, watch.calls) {
        (false, true) => REASONS.fetch_add(1, Ordering::Relaxed),
        (true, false) => REASONS.fetch_sub(1, Ordering::Relaxed),
        _ => 0,
    };
    before
}

/// Sets what this thread shows of its calls: all of them, and those with arguments of classes that ask for it. Gives how it was before.
#[pyfunction]
pub fn _watch(calls: bool, classes: bool) -> (bool, bool) {
    let before = set(Watch { calls, classes });
    (before.calls, before.classes)
}

/// What this thread shows of its calls, as [`_watch`] sets it.
#[pyfunction]
pub fn _watching() -> (bool, bool) {
    let Watch { calls, classes } = WATCH.get();
    (calls, classes)
}

/// Has arguments looked at from now on, as there is a subclass of `Tensor` with a `__torch_function__`.
#[pyfunction]
pub fn _watch_classes() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        REASONS.fetch_add(1, Ordering::Relaxed);
    });
}

/// The `__torch_function__` of classes that want to see no calls: runs the function as for plain tensors.
#[pyfunction]
#[pyo3(signature = (func, types, args = None, kwargs = None))]
#[allow(unused_variables)]
pub fn _disabled_torch_function_impl<'py>(
    func: &Bound<'py, PyAny>,
    types: &Bound<'py, PyAny>,
    args: Option<Bound<'py, PyTuple>>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let args = args.unwrap_or_else(|| PyTuple::empty(func.py()));
    let before = set(Watch { classes: false, ..WATCH.get() });
    let result = func.call(args, kwargs);
    set(before);
    result
}

/// A call that somebody wants to see, as Python decides it; nothing if nobody does. NotImplemented if no class takes it.
#[inline]
pub fn call<'py>(
    py: Python<'py>,
    function: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    args: &Arguments<'_, 'py>,
) -> Option<PyResult<Py<PyAny>>> {
    if REASONS.load(Ordering::Relaxed) == 0 { None } else { call_shown(py, function, args, WATCH.get().calls) }
}

/// As [`call`], for arguments that fit no function: they may be of a class that is no `Tensor` and takes the call.
#[cold]
pub fn call_by_class<'py>(
    py: Python<'py>,
    function: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    args: &Arguments<'_, 'py>,
) -> Option<PyResult<Py<PyAny>>> {
    call_shown(py, function, args, false)
}

fn call_shown<'py>(
    py: Python<'py>,
    function: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    args: &Arguments<'_, 'py>,
    whatever_arguments: bool,
) -> Option<PyResult<Py<PyAny>>> {
    let shown = whatever_arguments || WATCH.get().classes && any_overrides(args);
    shown.then(|| decide(py, &function()?, args))
}

fn any_overrides(args: &Arguments<'_, '_>) -> bool {
    let with_items = |object: Object<'_, '_>| {
        if let Ok(list) = object.cast::<PyList>() {
            return list.iter().any(|item| overrides(item.as_borrowed()));
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return tuple.iter().any(|item| overrides(item.as_borrowed()));
        }
        overrides(object)
    };
    (0..args.count()).any(|i| with_items(args.at(i))) || args.named().any(|(_, value)| with_items(value))
}

/// Whether an object's class has a `__torch_function__` that wants to see calls.
fn overrides(object: Object<'_, '_>) -> bool {
    let py = object.py();
    let is_plain = object.is_exact_instance_of::<PyTensor>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyString>()
        || object.is_none();
    if is_plain {
        return false;
    }
    let own = object.get_type().getattr_opt(intern!(py, "__torch_function__")).ok().flatten();
    own.is_some_and(|own| disabled(py).is_ok_and(|disabled| !own.is(disabled)))
}

/// [`_disabled_torch_function_impl`] as classes have it.
fn disabled(py: Python<'_>) -> PyResult<&Py<PyAny>> {
    static DISABLED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let find = || Ok(py.import("opforge._core")?.getattr("_disabled_torch_function_impl")?.unbind());
    DISABLED.get_or_try_init(py, find)
}

fn decide<'py>(py: Python<'py>, function: &Bound<'py, PyAny>, args: &Arguments<'_, 'py>) -> PyResult<Py<PyAny>> {
    static INTERCEPT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let find = || -> PyResult<_> { Ok(py.import("opforge._calls.intercept")?.getattr("decide")?.unbind()) };
    let positional = PyTuple::new(py, (0..args.count()).map(|i| args.at(i)))?;
    let named = PyDict::new(py);
    for (name, value) in args.named() {
        named.set_item(name, value)?;
    }
    Ok(INTERCEPT.get_or_try_init(py, find)?.bind(py).call1((function, positional, named))?.unbind())
}
