//! Variables by name.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opforge::{DType, Device, Error, Result, Shape, Tensor, Var, safetensors};

use crate::Init;

/// Variables by name: a model's parameters. Clones share them.
#[derive(Clone, Default)]
pub struct VarMap {
    data: Arc<Mutex<HashMap<String, Var>>>,
}

impl VarMap {
    /// Without variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// The variables by name.
    pub fn data(&self) -> &Mutex<HashMap<String, Var>> {
        &self.data
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<String, Var>> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All variables, in the order of their names.
    pub fn all_vars(&self) -> Vec<Var> {
        let data = self.lock();
        let mut named: Vec<_> = data.iter().collect();
        named.sort_by_key(|(name, _)| name.as_str());
        named.into_iter().map(|(_, var)| var.clone()).collect()
    }

    /// Writes all variables to a safetensors file.
    ///
    /// # Errors
    /// When the file cannot be written, or a variable's value failed to compute.
    pub fn save<P: AsRef<Path>>(&self, path: P) -> Result<()> {
        let data = self.lock();
        let tensors: HashMap<&str, Tensor> =
            data.iter().map(|(name, var)| (name.as_str(), var.as_tensor().clone())).collect();
        safetensors::save(&tensors, path)
    }

    /// Sets every variable to the tensor of its name in a safetensors file. The file may hold others too.
    ///
    /// # Errors
    /// When the file cannot be read, or lacks a variable's tensor or has it with another shape or dtype; then no variable has changed.
    pub fn load<P: AsRef<Path>>(&mut self, path: P) -> Result<()> {
        let path = path.as_ref();
        let context = |e: Error| e.context(format!("loading {}", path.display()));
        let loaded = safetensors::load(path, &Device::Cpu).map_err(context)?;
        let data = self.lock();
        let mut pairs = Vec::with_capacity(data.len());
        for (name, var) in data.iter() {
            let tensor = loaded.get(name).ok_or_else(|| context(missing(name)))?;
            check_shape(name, var.shape(), tensor)?;
            if var.dtype() != tensor.dtype() {
                return Err(Error::dtype("load", name.to_owned(), tensor.dtype(), var.dtype()));
            }
            pairs.push((var, tensor));
        }
        pairs.into_iter().try_for_each(|(var, tensor)| var.set(tensor))
    }

    /// Sets one variable.
    ///
    /// # Errors
    /// When there is none of this name, or it has another shape or dtype.
    pub fn set_one<K: AsRef<str>, V: AsRef<Tensor>>(&mut self, name: K, value: V) -> Result<()> {
        let name = name.as_ref();
        let data = self.lock();
        let var = data.get(name).ok_or_else(|| missing(name))?;
        var.set(value.as_ref()).map_err(|e| e.context(format!("setting {name}")))
    }

    /// Sets variables by name.
    ///
    /// # Errors
    /// As [`VarMap::set_one`].
    pub fn set<I: Iterator<Item = (K, V)>, K: AsRef<str>, V: AsRef<Tensor>>(&mut self, iter: I) -> Result<()> {
        iter.into_iter().try_for_each(|(name, value)| self.set_one(name, value))
    }

    /// The variable of this name, made now if there is none.
    ///
    /// # Errors
    /// When there is one of another shape, and as [`Init::var`].
    pub fn get<S: Into<Shape>>(
        &self,
        shape: S,
        path: &str,
        init: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let shape = shape.into();
        let mut data = self.lock();
        if let Some(var) = data.get(path) {
            check_shape(path, &shape, var)?;
            return Ok(var.as_tensor().clone());
        }
        let var = init.var(shape, dtype, device)?;
        let tensor = var.as_tensor().clone();
        data.insert(path.to_owned(), var);
        Ok(tensor)
    }
}

pub(crate) fn missing(name: &str) -> Error {
    Error::CannotFindTensor { path: name.to_owned() }
}

/// A tensor found under a name has the shape that was asked for.
pub(crate) fn check_shape(name: &str, wanted: &Shape, found: &Tensor) -> Result<()> {
    if found.shape() == wanted {
        return Ok(());
    }
    let (expected, got) = (Box::new(wanted.clone()), Box::new(found.shape().clone()));
    Err(Error::UnexpectedShape { msg: format!("get {name}"), expected, got })
}
