//! What tells kinds of calls apart, each of which has a program of its own: structures of arguments, and what else functions read as it is now.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyString, PyTuple, PyType};

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

/// Adds a plain value to a hash, with its class. Ints are taken as they are: Python's own hashes of -1 and -2 are one.
fn hash_plain(value: &Bound<'_, PyAny>, hash: &mut DefaultHasher) -> PyResult<()> {
    (value.get_type_ptr() as usize).hash(hash);
    if let Ok(float) = value.cast::<PyFloat>() {
        float.value().to_bits().hash(hash);
    } else if let Ok(number) = value.cast::<PyComplex>() {
        (number.real().to_bits(), number.imag().to_bits()).hash(hash);
    } else if value.is_instance_of::<PyInt>() {
        match value.extract::<i64>() {
            Ok(int) => int.hash(hash),
            Err(_) => value.str()?.to_string().hash(hash),
        }
    } else if !value.is_none() {
        value.hash()?.hash(hash);
    }
    Ok(())
}

/// What tells apart how modules, tensors and plain values are now: which they are, where elements lie, whether they need gradients, and the
/// attributes of modules: a hash of plain values and of which modules there are, and one of all else. The modules and other objects come with it: as long as they are held no other
/// has their identity.
///
/// Third come functions: those of modules' classes, and those that are attributes, whose variables are the caller's to look at.
///
/// `holder` tells of a class whose objects hold tensors the attributes, dictionaries, of children and of tensors, and its functions; of another class whether
/// attributes of its objects are to be looked at. Attributes of modules that are among the names `own` are not.
#[pyfunction]
pub fn _state<'py>(
    roots: &Bound<'py, PyList>,
    holder: &Bound<'py, PyAny>,
    own: &Bound<'py, PyFrozenSet>,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyList>, Bound<'py, PyList>)> {
    let py = roots.py();
    let mut state = State {
        holder,
        own,
        interned: own.iter().map(|name| name.as_ptr()).collect(),
        known: HashMap::new(),
        seen: HashSet::new(),
        held: Vec::new(),
        functions: Vec::new(),
        plain: DefaultHasher::new(),
        hash: DefaultHasher::new(),
    };
    for root in roots {
        if root.is_instance_of::<PyTensor>() {
            state.tensor(&root)?;
        } else if let Class::Module(_) = state.class(&root)? {
            state.module(root)?;
        } else if is_plain(&root) {
            hash_plain(&root, &mut state.plain)?;
        } else {
            state.identity(&root);
        }
    }
    let key = PyTuple::new(py, [state.plain.finish(), state.hash.finish()])?;
    Ok((key, PyList::new(py, state.held)?, PyList::new(py, state.functions)?))
}

/// Containers and objects in one another that attributes are looked for in.
const LEVELS: usize = 4;
/// Longer containers hold data.
const LENGTH: usize = 1024;

struct State<'a, 'py> {
    holder: &'a Bound<'py, PyAny>,
    own: &'a Bound<'py, PyFrozenSet>,
    /// The addresses of these names, which interned ones have.
    interned: Vec<*mut pyo3::ffi::PyObject>,
    /// What `holder` said of classes, by their addresses.
    known: HashMap<*mut pyo3::ffi::PyTypeObject, Class<'py>>,
    /// The addresses of modules and objects.
    seen: HashSet<usize>,
    held: Vec<Bound<'py, PyAny>>,
    functions: Vec<Bound<'py, PyAny>>,
    /// Of each module's identity and plain attributes, and of plain roots.
    plain: DefaultHasher,
    /// Of all else.
    hash: DefaultHasher,
}

#[derive(Clone)]
enum Class<'py> {
    /// Of modules: the names of the attributes that hold children, and those that hold tensors.
    Module(Rc<Names<'py>>),
    /// Of objects whose attributes are looked at.
    Object,
    Other,
}

type Names<'py> = (Bound<'py, PyString>, Vec<Bound<'py, PyString>>);

impl<'py> State<'_, 'py> {
    fn class(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Class<'py>> {
        let class: Bound<'py, PyType> = object.get_type();
        if let Some(known) = self.known.get(&class.as_type_ptr()) {
            return Ok(known.clone());
        }
        let told = self.holder.call1((&class,))?;
        let found = match told.cast::<PyBool>() {
            Ok(is_object) if is_object.is_true() => Class::Object,
            Ok(_) => Class::Other,
            Err(_) => {
                let (children, tensors, functions): (_, _, Vec<Bound<'py, PyAny>>) = told.extract()?;
                self.functions.extend(functions);
                Class::Module(Rc::new((children, tensors)))
            }
        };
        Ok(self.known.entry(class.as_type_ptr()).or_insert(found).clone())
    }

    /// Where a tensor's elements lie, how, and whether it needs gradients, which are those of the tensor, not of its memory.
    fn tensor(&mut self, object: &Bound<'py, PyAny>) -> PyResult<()> {
        let tensor = PyTensor::of(object.cast::<PyTensor>()?);
        Arc::as_ptr(tensor.storage()).hash(&mut self.hash);
        (tensor.meta(), tensor.requires_grad().then(|| tensor.id())).hash(&mut self.hash);
        Ok(())
    }

    /// A module and those in it.
    fn module(&mut self, module: Bound<'py, PyAny>) -> PyResult<()> {
        let mut waiting = vec![module];
        while let Some(module) = waiting.pop() {
            if !self.seen.insert(module.as_ptr() as usize) {
                continue;
            }
            let Class::Module(names) = self.class(&module)? else { continue };
            let (children, tensors) = &*names;
            let attributes = module.getattr(pyo3::intern!(module.py(), "__dict__"))?.cast_into::<PyDict>()?;
            let table = |name: &Bound<'py, PyString>| match attributes.get_item(name)? {
                Some(table) => Ok(table.cast_into::<PyDict>()?),
                None => PyResult::Ok(module.getattr(name)?.cast_into::<PyDict>()?),
            };
            for name in tensors {
                for (name, tensor) in table(name)?.iter() {
                    name.hash()?.hash(&mut self.hash);
                    if !tensor.is_none() {
                        self.tensor(&tensor)?;
                    }
                }
            }
            (module.as_ptr() as usize).hash(&mut self.plain);
            for (name, value) in attributes.iter() {
                if is_plain(&value) {
                    name.hash()?.hash(&mut self.plain);
                    hash_plain(&value, &mut self.plain)?;
                } else if !self.interned.contains(&name.as_ptr()) && !self.own.contains(&name)? {
                    name.hash()?.hash(&mut self.hash);
                    if value.cast::<PyDict>().is_ok_and(PyDictMethods::is_empty) {
                        continue;
                    }
                    self.attribute(&value, 0)?;
                }
            }
            for (name, child) in table(children)?.iter() {
                name.hash()?.hash(&mut self.hash);
                if !child.is_none() {
                    waiting.push(child);
                }
            }
            self.held.push(module);
        }
        Ok(())
    }

    /// What is neither a plain attribute nor a module's own: containers and users' objects are looked into, others are told apart by which they are.
    fn attribute(&mut self, value: &Bound<'py, PyAny>, level: usize) -> PyResult<()> {
        if value.is_instance_of::<PyTensor>() {
            return self.tensor(value);
        }
        if is_plain(value) {
            return hash_plain(value, &mut self.hash);
        }
        (value.get_type_ptr() as usize).hash(&mut self.hash);
        let is_short = |length: usize| length <= LENGTH && level < LEVELS;
        if let Ok(items) = value.cast_exact::<PyTuple>()
            && is_short(items.len())
        {
            items.len().hash(&mut self.hash);
            return items.iter().try_for_each(|item| self.attribute(&item, level + 1));
        }
        if let Ok(items) = value.cast_exact::<PyList>()
            && is_short(items.len())
        {
            items.len().hash(&mut self.hash);
            return items.iter().try_for_each(|item| self.attribute(&item, level + 1));
        }
        if let Ok(items) = value.cast::<PyDict>()
            && is_short(items.len())
        {
            items.len().hash(&mut self.hash);
            return items.iter().try_for_each(|(name, item)| {
                self.attribute(&name, level + 1)?;
                self.attribute(&item, level + 1)
            });
        }
        match self.class(value)? {
            Class::Module(_) => return self.module(value.clone()),
            Class::Object if level < LEVELS && self.seen.insert(value.as_ptr() as usize) => {
                if let Ok(attributes) = value.getattr(pyo3::intern!(value.py(), "__dict__"))
                    && let Ok(attributes) = attributes.cast::<PyDict>()
                {
                    attributes.iter().try_for_each(|(name, item)| {
                        name.hash()?.hash(&mut self.hash);
                        self.attribute(&item, level + 1)
                    })?;
                }
            }
            _ if value.is_callable() => self.functions.push(value.clone()),
            _ => {}
        }
        self.identity(value);
        Ok(())
    }

    /// Which object it is.
    fn identity(&mut self, value: &Bound<'py, PyAny>) {
        (value.as_ptr() as usize).hash(&mut self.hash);
        self.held.push(value.clone());
    }
}
