//! What is around functions: how all of it is now, as a key, and what of it can change.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use opforge::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt, PyList, PyString};

use super::classes::{Kind, Rules};
use super::walk::{See, walk};

/// How surroundings of functions are looked into.
#[pyclass(name = "_Surroundings", module = "opforge", frozen)]
pub struct PySurroundings(Rules);

/// Containers, variables (owner, name, value), and objects of no known kind.
type Parts<'py> = (Vec<Bound<'py, PyAny>>, Vec<Variable<'py>>, Vec<Bound<'py, PyAny>>);
type Variable<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Bound<'py, PyAny>);

#[pymethods]
impl PySurroundings {
    /// `classify` tells of a class the word for its kind, users' own classes among its bases, and names; `is_users` whether the name of a module is of a users' package.
    #[new]
    fn new(classify: Py<PyAny>, is_users: Py<PyAny>) -> Self {
        PySurroundings(Rules::new(classify, is_users))
    }

    /// Has classes told of anew.
    fn forget(&self) {
        self.0.forget();
    }

    /// What tells apart how what a function and objects read is now: a hash of plain values and of which holders there are, and one of all else. Objects come
    /// with it: as long as they are held no other has their identity.
    fn key<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        objects: &Bound<'py, PyAny>,
    ) -> PyResult<((u64, u64), Bound<'py, PyList>)> {
        let mut key = Key { plain: DefaultHasher::new(), rest: DefaultHasher::new(), held: Vec::new() };
        walk(&self.0, function, objects, &mut key)?;
        Ok(((key.plain.finish(), key.rest.finish()), PyList::new(function.py(), key.held)?))
    }

    /// What can change: containers, variables with their values, and objects that may be something that goes on.
    fn parts<'py>(&self, function: &Bound<'py, PyAny>, objects: &Bound<'py, PyAny>) -> PyResult<Parts<'py>> {
        let mut found = Changing::default();
        walk(&self.0, function, objects, &mut found)?;
        Ok((found.containers, found.variables, found.others))
    }
}

struct Key<'py> {
    /// Of plain values that are no part of a holder's attribute, and of holders' identities.
    plain: DefaultHasher,
    /// Of all else.
    rest: DefaultHasher,
    held: Vec<Bound<'py, PyAny>>,
}

impl<'py> Key<'py> {
    fn hold(&mut self, value: &Bound<'py, PyAny>) -> usize {
        self.held.push(value.clone());
        value.as_ptr() as usize
    }
}

/// What stands in the place of a value in the hash of all else.
const PLAIN: u8 = 0;
const LATER: u8 = 1;
const METHOD: u8 = 2;

impl<'py> See<'py> for Key<'py> {
    fn name(&mut self, name: &Bound<'py, PyAny>, inside: bool) -> PyResult<()> {
        name.hash()?.hash(if inside { &mut self.rest } else { &mut self.plain });
        Ok(())
    }

    fn plain(&mut self, value: &Bound<'py, PyAny>, inside: bool) -> PyResult<()> {
        if inside {
            return hash_plain(value, &mut self.rest);
        }
        PLAIN.hash(&mut self.rest);
        hash_plain(value, &mut self.plain)
    }

    fn later(&mut self) {
        LATER.hash(&mut self.rest);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        bytes.hash(&mut self.rest);
    }

    /// Where a tensor's elements lie, how, and whether it needs gradients, which are those of the tensor, not of its memory.
    fn tensor(&mut self, tensor: &Tensor) {
        Arc::as_ptr(tensor.storage()).hash(&mut self.rest);
        (tensor.meta(), tensor.requires_grad().then(|| tensor.id())).hash(&mut self.rest);
    }

    fn object(&mut self, value: &Bound<'py, PyAny>, kind: &Kind) -> PyResult<()> {
        match kind {
            Kind::Dict | Kind::Items => (value.get_type_ptr() as usize, value.len()?).hash(&mut self.rest),
            // Methods are made whenever they are asked for.
            Kind::Method => METHOD.hash(&mut self.rest),
            Kind::Holder(_) => self.hold(value).hash(&mut self.plain),
            _ => self.hold(value).hash(&mut self.rest),
        }
        Ok(())
    }

    fn again(&mut self, value: &Bound<'py, PyAny>, place: Option<u32>) {
        match place {
            Some(place) => place.hash(&mut self.rest),
            None => self.hold(value).hash(&mut self.rest),
        }
    }
}

/// Adds a plain value to a hash, with its class. Ints are taken as they are: Python's own hashes of -1 and -2 are one.
fn hash_plain(value: &Bound<'_, PyAny>, hash: &mut DefaultHasher) -> PyResult<()> {
    (value.get_type_ptr() as usize).hash(hash);
    if value.is_exact_instance_of::<PyString>() {
        value.hash()?.hash(hash);
    } else if value.is_exact_instance_of::<PyInt>() {
        match value.extract::<i64>() {
            Ok(int) => int.hash(hash),
            Err(_) => value.str()?.to_string().hash(hash),
        }
    } else if let Ok(float) = value.cast_exact::<PyFloat>() {
        float.value().to_bits().hash(hash);
    } else if let Ok(number) = value.cast_exact::<PyComplex>() {
        (number.real().to_bits(), number.imag().to_bits()).hash(hash);
    } else {
        // True, False and None are one object each.
        (value.as_ptr() as usize).hash(hash);
    }
    Ok(())
}

#[derive(Default)]
struct Changing<'py> {
    containers: Vec<Bound<'py, PyAny>>,
    variables: Vec<Variable<'py>>,
    others: Vec<Bound<'py, PyAny>>,
}

impl<'py> See<'py> for Changing<'py> {
    fn plain(&mut self, _value: &Bound<'py, PyAny>, _inside: bool) -> PyResult<()> {
        Ok(())
    }

    fn tensor(&mut self, _tensor: &Tensor) {}

    fn object(&mut self, value: &Bound<'py, PyAny>, kind: &Kind) -> PyResult<()> {
        if matches!(kind, Kind::Array | Kind::Object(_) | Kind::Other) {
            self.others.push(value.clone());
        }
        Ok(())
    }

    fn again(&mut self, _value: &Bound<'py, PyAny>, _place: Option<u32>) {}

    fn container(&mut self, value: &Bound<'py, PyAny>) {
        self.containers.push(value.clone());
    }

    fn variable(&mut self, owner: &Bound<'py, PyAny>, name: Option<&Bound<'py, PyAny>>, value: &Bound<'py, PyAny>) {
        self.variables.push((owner.clone(), name.cloned(), value.clone()));
    }
}
