//! One Python name: its overloads, its in-place form, and `out=`.

use std::collections::{BTreeSet, HashMap};
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

use opforge::declaration::Value;
use opforge::functional::{check_out, in_place, write_back};
use opforge::{Error, Tensor};
use opforge_runtime::vm;
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyListMethods, PyNotImplemented, PyTuple};

use super::bind::{Arguments, Values};
use super::mismatch::{Mismatch, describe, explain};
use super::{Signature, forms, intercept, results};
use crate::error::{OrRaise, raise};
use crate::front_end;
use crate::tensor::PyTensor;

/// What a name does with its function's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// Returns it.
    Plain,
    /// Writes it back into the receiver.
    InPlace,
}

/// One Python name: the functions behind it, in the order in which they are tried.
pub struct Entry {
    pub name: &'static str,
    pub form: Form,
    pub overloads: Vec<&'static Signature>,
    /// The function or method that Python has of it.
    pub object: PyOnceLock<Py<PyAny>>,
}

static ENTRIES: PyOnceLock<HashMap<(&'static str, Form), &'static Entry>> = PyOnceLock::new();

/// Makes the entries known that [`entry`] finds.
pub fn register(py: Python<'_>, entries: Vec<&'static Entry>) {
    let by_name = entries.into_iter().map(|e| ((e.name, e.form), e)).collect();
    let _ = ENTRIES.set(py, by_name);
}

/// The entry of a function's name.
pub fn entry(py: Python<'_>, name: &str, form: Form) -> PyResult<&'static Entry> {
    let found = ENTRIES.get(py).and_then(|entries| entries.get(&(name, form)));
    found.copied().ok_or_else(|| raise(py, &Error::value(name.to_owned(), "name", name, "the name of a function")))
}

impl Entry {
    /// Calls the first overload that the arguments fit; `None` if they fit none.
    #[inline]
    pub fn try_call<'py>(&self, py: Python<'py>, args: &Arguments<'_, 'py>) -> Option<PyResult<Py<PyAny>>> {
        self.overloads.iter().find_map(|signature| Some(self.run(py, signature, signature.bind(args).ok()?, args)))
    }

    /// Calls the first overload that the arguments fit.
    ///
    /// # Errors
    /// TypeError, which says what was given and what is accepted; what the function raises.
    #[inline]
    pub fn call<'py>(&self, py: Python<'py>, args: &Arguments<'_, 'py>) -> PyResult<Py<PyAny>> {
        if let Some(result) = intercept::call(py, || self.object(py), args) {
            return result.and_then(|result| self.taken(py, result));
        }
        self.try_call(py, args).unwrap_or_else(|| self.call_otherwise(py, args))
    }

    /// The function or method that Python has of this.
    #[cold]
    pub fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let object = self.object.get(py).map(|object| object.bind(py).clone());
        object.ok_or_else(|| raise(py, &Error::value(self.name, "name", self.name, "the name of a function")))
    }

    /// The result of a call that Python decided, unless no class took it.
    #[cold]
    fn taken(&self, py: Python<'_>, result: Py<PyAny>) -> PyResult<Py<PyAny>> {
        if !result.is(PyNotImplemented::get(py)) {
            return Ok(result);
        }
        let text =
            format!("{}(): every __torch_function__ of the arguments' classes returned NotImplemented", self.name);
        Err(PyTypeError::new_err(text))
    }

    #[inline]
    fn run(
        &self,
        py: Python<'_>,
        signature: &Signature,
        mut values: Values,
        args: &Arguments<'_, '_>,
    ) -> PyResult<Py<PyAny>> {
        let function = signature.function;
        match signature.take_form(self.form, &mut values) {
            Form::Plain => {
                let result = front_end::attempt(|| function.invoke(&values)).or_raise(py)?;
                if let Some(receiver) = self.written(py, signature, &result, args) {
                    return Ok(receiver);
                }
                results::object(py, result, signature.results.as_ref())
            }
            Form::InPlace => {
                let object = args.first(&signature.params[0]);
                let object = object.ok_or_else(|| self.explain(args))?.cast::<PyTensor>()?;
                let receiver = object.get().tensor(py);
                let now = front_end::attempt(|| in_place(function, &receiver, &values)).or_raise(py)?;
                if now.id() != receiver.id() {
                    object.get().replace(py, now);
                }
                Ok(object.to_owned().into_any().unbind())
            }
        }
    }

    /// The receiver of a function that itself writes in place, such as `fill_` or `dropout` with `inplace`, and returns what it wrote into; or that has
    /// nothing to do.
    fn written(
        &self,
        py: Python<'_>,
        signature: &Signature,
        result: &Value,
        args: &Arguments<'_, '_>,
    ) -> Option<Py<PyAny>> {
        let Value::Tensor(result) = result else { return None };
        if !(signature.has_inplace || self.name.ends_with('_') || self.name == "contiguous") || args.count() == 0 {
            return None;
        }
        let receiver = args.at(0).cast::<PyTensor>().ok()?;
        (receiver.get().tensor(py).id() == result.id()).then(|| receiver.to_owned().into_any().unbind())
    }

    /// Calls in another form, or with the result going to the keyword `out`, if there is one; else explains why nothing fits.
    #[cold]
    fn call_otherwise<'py>(&self, py: Python<'py>, args: &Arguments<'_, 'py>) -> PyResult<Py<PyAny>> {
        if let Some(result) = intercept::call_by_class(py, || self.object(py), args) {
            return result.and_then(|result| self.taken(py, result));
        }
        if args.by_name("placement").or_else(|| args.by_name("sbp")).is_some() {
            return create_global(py, self.name, args);
        }
        let Some((out, rest)) = args.without(py, "out")? else {
            return forms::call(self, py, args).unwrap_or_else(|| Err(self.explain(args)));
        };
        let args = rest.arguments(args);
        let into = self.try_call_into(py, &args, out.bind(py));
        let result = into.or_else(|| self.try_call(py, &args)).or_else(|| forms::call(self, py, &args));
        let result = result.unwrap_or_else(|| Err(self.explain(&args)))?;
        if out.is_none(py) || result.is(&out) {
            return Ok(result);
        }
        let views = self.overloads.iter().any(|signature| signature.function.view);
        let result = if is_made_of_tensors(&args) { result } else { in_dtype_of(py, out.bind(py), result)? };
        match write_out(py, self.name, out.bind(py), result.bind(py), views) {
            Ok(()) => Ok(given_back(out.into_bound(py), result.bind(py))?.unbind()),
            Err(error) => {
                drop(result);
                front_end::called(vm::abandon_unwanted);
                Err(error)
            }
        }
    }

    /// As [`try_call`](Entry::try_call), of a function that makes one tensor of others: the result is `out` itself where an operator could write there.
    fn try_call_into<'py>(
        &self,
        py: Python<'py>,
        args: &Arguments<'_, 'py>,
        out: &Bound<'py, PyAny>,
    ) -> Option<PyResult<Py<PyAny>>> {
        let destination = out.cast::<PyTensor>().ok()?.get().tensor(py);
        let first = self.overloads.iter().find_map(|signature| Some((signature, signature.bind(args).ok()?)));
        let (signature, mut values) = first?;
        let (form, function) = (signature.take_form(self.form, &mut values), signature.function);
        let makes_one = form == Form::Plain && !function.view && function.returns == "Tensor";
        (makes_one && is_made_of_tensors(args)).then(|| {
            match front_end::attempt(|| function.invoke_into(&destination, &values)).or_raise(py)? {
                Value::Tensor(written) if written.id() == destination.id() => Ok(out.clone().unbind()),
                result => results::object(py, result, signature.results.as_ref()),
            }
        })
    }

    #[cold]
    fn explain(&self, args: &Arguments<'_, '_>) -> PyErr {
        let fails = |s: &&'static Signature| Some((*s, s.bind(args).err()?));
        let failures: Vec<(&Signature, Mismatch)> = self.overloads.iter().filter_map(fails).collect();
        let name = if self.form == Form::InPlace { format!("{}_", self.name) } else { self.name.to_owned() };
        explain(&name, &failures, args)
    }
}

/// A global tensor, made by a function that makes local ones.
#[cold]
fn create_global(py: Python<'_>, name: &str, args: &Arguments<'_, '_>) -> PyResult<Py<PyAny>> {
    let positional = PyTuple::new(py, (0..args.count()).map(|i| args.at(i).to_owned()))?;
    let named = PyDict::new(py);
    args.named().try_for_each(|(key, value)| named.set_item(key, value))?;
    let create = py.import("opforge._global.create")?.getattr("create")?;
    Ok(create.call1((name, positional, named))?.unbind())
}

/// Whether a tensor, or a list or tuple of some, is among the arguments.
fn is_made_of_tensors(args: &Arguments<'_, '_>) -> bool {
    let is_tensor = |value: &Bound<'_, PyAny>| value.is_instance_of::<PyTensor>();
    let holds = |value: Borrowed<'_, '_, PyAny>| {
        // A tensor's own iterator would make all of its rows.
        let is_sequence = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
        let items = is_sequence.then(|| value.try_iter().ok()).flatten();
        is_tensor(&value) || items.into_iter().flatten().flatten().any(|item| is_tensor(&item))
    };
    (0..args.count()).any(|i| holds(args.at(i))) || args.named().any(|(_, value)| holds(value))
}

/// What a function made of numbers alone, in the dtype of its destination.
fn in_dtype_of(py: Python<'_>, out: &Bound<'_, PyAny>, result: Py<PyAny>) -> PyResult<Py<PyAny>> {
    let (Ok(out), Ok(own)) = (out.cast::<PyTensor>(), result.bind(py).cast::<PyTensor>()) else { return Ok(result) };
    let cast = own.get().tensor(py).to_dtype(out.get().tensor(py).dtype()).or_raise(py)?;
    results::object(py, cast.into(), None)
}

#[cold]
fn wrong_out(name: &str, out: &Bound<'_, PyAny>, accepted: &str) -> PyErr {
    PyTypeError::new_err(format!("{name}(): argument 'out' must be {accepted}, not {}", describe(out.as_borrowed())))
}

/// Writes results into the tensors given as `out`: one, or a tuple of as many. One of another shape takes the result's, with a warning unless it is
/// empty. Nothing is written unless all can be. `views` says whether results may be views, which are copied.
fn write_out(
    py: Python<'_>,
    name: &'static str,
    out: &Bound<'_, PyAny>,
    result: &Bound<'_, PyAny>,
    views: bool,
) -> PyResult<()> {
    let pairs: Vec<_> = match result.cast::<PyTuple>() {
        Err(_) => vec![(out.clone(), result.clone())],
        Ok(results) => {
            let outs = destinations(out).filter(|outs| outs.len() == results.len());
            let outs = outs.ok_or_else(|| wrong_out(name, out, &format!("a tuple of {} Tensors", results.len())))?;
            outs.iter().zip(results.iter()).collect()
        }
    };
    let pairs = pairs.into_iter().map(|(out, result)| tensors(name, out, &result)).collect::<PyResult<Vec<_>>>()?;
    for (out, result) in &pairs {
        let out = out.get().tensor(py);
        check_out(name, &out, result).or_raise(py)?;
        if out.shape() != result.shape() && out.elem_count() > 0 {
            warn_of_shape(py, name, &out, result)?;
        }
    }
    pairs.into_iter().try_for_each(|(out, result)| write_one(py, name, out.get(), result, views))
}

/// The destinations of several results: a tuple or a list.
fn destinations<'py>(out: &Bound<'py, PyAny>) -> Option<Bound<'py, PyTuple>> {
    let list = || out.cast::<PyList>().ok().map(PyListMethods::to_tuple);
    out.cast::<PyTuple>().ok().cloned().or_else(list)
}

/// What a function with destinations gives: them, named as its results are.
fn given_back<'py>(out: Bound<'py, PyAny>, result: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let is_named = result.cast::<PyTuple>().is_ok() && !result.is_exact_instance_of::<PyTuple>();
    match destinations(&out) {
        Some(outs) if is_named => result.get_type().call1(outs),
        Some(outs) => Ok(outs.into_any()),
        None => Ok(out),
    }
}

/// What a function that is written in Python gives, written into its `out`, which is given back.
#[pyfunction]
pub fn _write_out<'py>(name: &str, out: Bound<'py, PyAny>, result: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    write_out(out.py(), lasting(name), &out, result, true)?;
    given_back(out, result)
}

/// The same name, kept for good: those of functions are few.
fn lasting(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.into());
    names.insert(kept);
    kept
}

/// A destination and what it is to hold.
fn tensors<'py>(
    name: &str,
    out: Bound<'py, PyAny>,
    result: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyTensor>, Tensor)> {
    let result = result.cast::<PyTensor>().map_err(|_| wrong_out(name, &out, "left out: the result is no tensor"))?;
    let result = result.get().tensor(out.py());
    let out = out.cast_into::<PyTensor>().map_err(|error| wrong_out(name, &error.into_inner(), "Tensor"))?;
    Ok((out, result))
}

#[cold]
fn warn_of_shape(py: Python<'_>, name: &str, out: &Tensor, result: &Tensor) -> PyResult<()> {
    let text = format!(
        "{name}: `out` of shape {:?} takes the result's, {:?}: give an empty tensor to say so",
        out.shape(),
        result.shape()
    );
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(text)?, 1)
}

fn write_one(py: Python<'_>, name: &'static str, out: &PyTensor, result: Tensor, views: bool) -> PyResult<()> {
    let destination = out.tensor(py);
    if destination.id() == result.id() {
        return Ok(());
    }
    if destination.shape() == result.shape() {
        return write_back(name, &destination, &result).or_raise(py);
    }
    let is_other = result.dtype() != destination.dtype();
    let own = if is_other || !views { result.to_dtype(destination.dtype()) } else { result.copy() };
    out.replace(py, own.or_raise(py)?);
    Ok(())
}
