//! What tells kinds of calls apart, each of which has a program of its own: structures of arguments, and what else functions read as it is now.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use crate::tensor::PyTensor;

/// Containers in one another, at most.
const DEPTH: usize = 256;

/// The key of a value's structure, as `graph/_tree.py` tells it; tensors are added to a list, in order. The function `other` gives the keys of what is
/// neither a tensor, nor a plain value, nor exactly a tuple, list or dictionary; it gets the depth too.
///
/// Raises RecursionError for containers that are deeper than any that a program has, or in themselves.
#[pyfunction]
pub fn _structure_key<'py>(
    value: &Bound<'py, PyAny>,
    tensors: &Bound<'py, PyList>,
    other: &Bound<'py, PyAny>,
    depth: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    if depth == DEPTH {
        return Err(PyRecursionError::new_err(format!(
            "an argument is a container of more than {DEPTH} in one another"
        )));
    }
    let key = |item: &Bound<'py, PyAny>| _structure_key(item, tensors, other, depth + 1);
    let content = if value.is_exact_instance_of::<PyTensor>() {
        tensors.append(value)?;
        return Ok(value.get_type().into_any());
    } else if let Ok(items) = value.cast_exact::<PyTuple>() {
        PyTuple::new(py, items.iter().map(|item| key(&item)).collect::<PyResult<Vec<_>>>()?)?.into_any()
    } else if let Ok(items) = value.cast_exact::<PyList>() {
        PyTuple::new(py, items.iter().map(|item| key(&item)).collect::<PyResult<Vec<_>>>()?)?.into_any()
    } else if let Ok(items) = value.cast_exact::<PyDict>() {
        let items = items.iter().map(|(name, item)| (name, key(&item)?).into_pyobject(py));
        PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
    } else if is_plain(value) {
        told_apart(value)?
    } else {
        return other.call1((value, depth));
    };
    Ok((value.get_type(), content).into_pyobject(py)?.into_any())
}

/// Whether a value is told from others by its class and itself.
fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyComplex>()
}

/// A plain value, or the text of a number with zeros below 0, which are equal to others.
fn told_apart<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let is_below = |x: f64| x == 0.0 && x.is_sign_negative();
    let differs = match (value.cast::<PyFloat>(), value.cast::<PyComplex>()) {
        (Ok(float), _) => is_below(float.value()),
        (_, Ok(number)) => is_below(number.real()) || is_below(number.imag()),
        _ => false,
    };
    if differs { Ok(value.repr()?.into_any()) } else { Ok(value.clone()) }
}

/// What tells apart how modules, tensors and plain values are now: which they are, where elements lie, whether they need gradients, and the plain
/// attributes of modules. The modules come with it: as long as they are held no other has their identity.
///
/// `holder` tells of a class whose objects hold tensors the attributes, dictionaries, of children and of tensors; else it gives None.
#[pyfunction]
pub fn _state<'py>(
    roots: &Bound<'py, PyList>,
    holder: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyList>)> {
    let py = roots.py();
    let mut state = State {
        holder,
        known: HashMap::new(),
        seen: HashSet::new(),
        modules: Vec::new(),
        key: Vec::new(),
        tensors: DefaultHasher::new(),
    };
    for root in roots {
        if root.is_instance_of::<PyTensor>() {
            state.tensor(&root)?;
        } else if state.names(&root)?.is_some() {
            state.module(root)?;
        } else {
            state.plain(&root)?;
        }
    }
    state.key.push(state.tensors.finish().into_pyobject(py)?.into_any());
    Ok((PyTuple::new(py, state.key)?, PyList::new(py, state.modules)?))
}

struct State<'a, 'py> {
    holder: &'a Bound<'py, PyAny>,
    /// What `holder` said of classes, by their addresses.
    known: HashMap<*mut pyo3::ffi::PyTypeObject, Option<Names<'py>>>,
    /// The addresses of modules.
    seen: HashSet<usize>,
    modules: Vec<Bound<'py, PyAny>>,
    /// Each module's identity, classes and values of its plain attributes, and plain roots.
    key: Vec<Bound<'py, PyAny>>,
    tensors: DefaultHasher,
}

/// The names of the attributes that hold children, and those that hold tensors.
type Names<'py> = (Bound<'py, PyString>, Vec<Bound<'py, PyString>>);

impl<'py> State<'_, 'py> {
    fn names(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Option<Names<'py>>> {
        let kind: Bound<'py, PyType> = object.get_type();
        if let Some(names) = self.known.get(&kind.as_type_ptr()) {
            return Ok(names.clone());
        }
        let names: Option<Names<'py>> = self.holder.call1((&kind,))?.extract()?;
        Ok(self.known.entry(kind.as_type_ptr()).or_insert(names).clone())
    }

    /// Where a tensor's elements lie, how, and whether it needs gradients, which are those of the tensor, not of its memory.
    fn tensor(&mut self, object: &Bound<'py, PyAny>) -> PyResult<()> {
        let tensor = PyTensor::of(object.cast::<PyTensor>()?);
        Arc::as_ptr(tensor.storage()).hash(&mut self.tensors);
        (tensor.meta(), tensor.requires_grad().then(|| tensor.id())).hash(&mut self.tensors);
        Ok(())
    }

    fn plain(&mut self, value: &Bound<'py, PyAny>) -> PyResult<()> {
        self.key.extend([value.get_type().into_any(), told_apart(value)?]);
        Ok(())
    }

    /// A module and those in it.
    fn module(&mut self, module: Bound<'py, PyAny>) -> PyResult<()> {
        let mut waiting = vec![module];
        while let Some(module) = waiting.pop() {
            if !self.seen.insert(module.as_ptr() as usize) {
                continue;
            }
            let Some((children, tensors)) = self.names(&module)? else { continue };
            for name in tensors {
                for (_, tensor) in
                    module.getattr(name)?.cast::<PyDict>()?.iter().filter(|(_, tensor)| !tensor.is_none())
                {
                    self.tensor(&tensor)?;
                }
            }
            self.key.push((module.as_ptr() as usize).into_pyobject(module.py())?.into_any());
            let attributes = module.getattr(pyo3::intern!(module.py(), "__dict__"))?;
            for (_, value) in attributes.cast::<PyDict>()?.iter().filter(|(_, value)| is_plain(value)) {
                self.plain(&value)?;
            }
            let children = module.getattr(children)?;
            waiting.extend(children.cast::<PyDict>()?.iter().map(|(_, child)| child).filter(|child| !child.is_none()));
            self.modules.push(module);
        }
        Ok(())
    }
}
