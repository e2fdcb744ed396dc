//! How objects of each class are looked into, as `graph/_surroundings.py` tells it once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PyString, PyType};
use rustc_hash::{FxHashMap, FxHashSet};

/// What objects of a class are looked into for.
pub(super) enum Kind {
    Tensor,
    /// Objects that hold tensors, and others of their kind, under names of their own.
    Holder(Holder),
    Function,
    Method,
    Partial,
    Dict,
    /// Lists, tuples, sets and deques.
    Items,
    /// NumPy's arrays and numbers.
    Array,
    /// Users' objects, with the names of their slots.
    Object(Vec<Py<PyString>>),
    Other,
}

/// The names of what a holder has.
pub(super) struct Holder {
    /// The dictionary of children.
    pub children: Option<Py<PyString>>,
    /// The dictionaries of tensors.
    pub tensors: Vec<Py<PyString>>,
    /// Attributes that are looked at only if they are plain.
    skipped: Py<PyFrozenSet>,
    /// The addresses of these names, which interned ones have.
    interned: FxHashSet<usize>,
}

impl Holder {
    pub fn skips(&self, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.interned.contains(&(name.as_ptr() as usize)) || self.skipped.bind(name.py()).contains(name)?)
    }
}

/// A class.
pub(super) struct Class {
    pub kind: Kind,
    /// Those of its classes that are users' own, whose functions may run.
    pub own: Vec<Py<PyType>>,
}

/// Classes that are remembered; programs that make classes as they run would otherwise keep them all.
const MOST_CLASSES: usize = 1024;

/// What was told of classes and packages.
#[derive(Default)]
pub(super) struct Known {
    /// By addresses, with the classes, which keep theirs so.
    classes: FxHashMap<usize, (Py<PyType>, Arc<Class>)>,
    packages: HashMap<String, bool>,
}

/// How surroundings are looked into.
pub(super) struct Rules {
    /// Of a class: a word for its kind, users' own classes, and names.
    classify: Py<PyAny>,
    /// Whether the name of a module is of a users' package.
    is_users: Py<PyAny>,
    known: Mutex<Known>,
}

impl Rules {
    pub fn new(classify: Py<PyAny>, is_users: Py<PyAny>) -> Self {
        Rules { classify, is_users, known: Mutex::default() }
    }

    /// What was told is asked for again. It is dropped when nobody waits for it: what a class's end runs may come here again.
    pub fn forget(&self) {
        let known = std::mem::take(&mut *self.known());
        drop(known);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a class, which may be asked for now.
    pub fn class(&self, class: &Bound<'_, PyType>) -> PyResult<Arc<Class>> {
        let address = class.as_ptr() as usize;
        if let Some((_, known)) = self.known().classes.get(&address) {
            return Ok(Arc::clone(known));
        }
        if self.known().classes.len() >= MOST_CLASSES {
            self.forget();
        }
        let py = class.py();
        let (word, own, names): (String, Vec<Py<PyType>>, Bound<'_, PyAny>) =
            self.classify.bind(py).call1((class,))?.extract()?;
        let found = Arc::new(Class { kind: kind(&word, &names)?, own });
        let entry = (class.clone().unbind(), Arc::clone(&found));
        let before = self.known().classes.insert(address, entry);
        drop(before);
        Ok(found)
    }

    /// Whether a module of this name, or None, is of a users' package.
    pub fn is_users(&self, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        let text = match name.cast::<PyString>() {
            Ok(name) => name.to_str()?,
            Err(_) => "",
        };
        if let Some(&known) = self.known().packages.get(text) {
            return Ok(known);
        }
        let found = self.is_users.bind(name.py()).call1((text,))?.extract()?;
        self.known().packages.insert(text.to_owned(), found);
        Ok(found)
    }
}

fn kind(word: &str, names: &Bound<'_, PyAny>) -> PyResult<Kind> {
    Ok(match word {
        "tensor" => Kind::Tensor,
        "holder" => {
            let (children, tensors, skipped): (_, _, Bound<'_, PyFrozenSet>) = names.extract()?;
            let interned = skipped.iter().map(|name| name.as_ptr() as usize).collect();
            Kind::Holder(Holder { children, tensors, skipped: skipped.unbind(), interned })
        }
        "function" => Kind::Function,
        "method" => Kind::Method,
        "partial" => Kind::Partial,
        "dict" => Kind::Dict,
        "items" => Kind::Items,
        "array" => Kind::Array,
        "object" => Kind::Object(names.extract()?),
        "other" => Kind::Other,
        _ => return Err(PyValueError::new_err(format!("{word} is no kind of classes"))),
    })
}
