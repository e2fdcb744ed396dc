//! Where layers get their parameters from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use opforge::npy::NpzTensors;
use opforge::pickle::PthTensors;
use opforge::safetensors::{BufferedSafetensors, MmapedSafetensors, SliceSafetensors};
use opforge::{DType, Device, Error, Result, Shape, Tensor};

use crate::var_map::{check_shape, missing};
use crate::{Init, VarMap};

/// Where a [`VarBuilder`] gets its tensors.
pub trait SimpleBackend: Send + Sync {
    /// The tensor of this name and shape; a backend that makes variables starts a new one as `init` says.
    ///
    /// # Errors
    /// When there is no such tensor.
    fn get(&self, shape: Shape, name: &str, init: Init, dtype: DType, device: &Device) -> Result<Tensor>;

    /// The tensor of this name, whatever its shape.
    ///
    /// # Errors
    /// When there is no such tensor, or the backend needs a shape.
    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor>;

    /// Whether there is a tensor of this name.
    fn contains_tensor(&self, name: &str) -> bool;
}

/// Hands out a model's tensors by name: variables to train, or tensors from a file. Layers are built from it, each under its own prefix.
#[derive(Clone)]
pub struct VarBuilder<'a> {
    backend: Arc<dyn SimpleBackend + 'a>,
    path: Vec<String>,
    dtype: DType,
    device: Device,
}

impl<'a> VarBuilder<'a> {
    fn with(backend: impl SimpleBackend + 'a, dtype: DType, device: &Device) -> Self {
        VarBuilder { backend: Arc::new(backend), path: Vec::new(), dtype, device: *device }
    }

    /// Over a backend of one's own.
    pub fn from_backend(backend: Box<dyn SimpleBackend + 'a>, dtype: DType, device: Device) -> Self {
        VarBuilder { backend: Arc::from(backend), path: Vec::new(), dtype, device }
    }

    /// Over a map of variables, which are made as they are asked for.
    pub fn from_varmap(map: &VarMap, dtype: DType, device: &Device) -> Self {
        Self::with(map.clone(), dtype, device)
    }

    /// Zeros of every shape asked for.
    pub fn zeros(dtype: DType, device: &Device) -> Self {
        Self::with(Zeros, dtype, device)
    }

    /// Over given tensors; they are converted to `dtype`.
    pub fn from_tensors(tensors: HashMap<String, Tensor>, dtype: DType, device: &Device) -> Self {
        Self::with(Tensors(tensors), dtype, device)
    }

    /// Over the tensors of safetensors files, which are read as they are asked for and converted to `dtype`. Of equal names, the last file's
    /// counts. The files are mapped and must keep their content: who truncates one ends this process when its tensors are read (`SIGBUS`).
    ///
    /// # Errors
    /// When a file cannot be read or is malformed.
    pub fn from_mmaped_safetensors<P: AsRef<Path>>(paths: &[P], dtype: DType, device: &Device) -> Result<Self> {
        Ok(Self::with(MmapedSafetensors::multi(paths)?, dtype, device))
    }

    /// Over the tensors of a safetensors file in memory; they are converted to `dtype`.
    ///
    /// # Errors
    /// When the bytes are malformed.
    pub fn from_buffered_safetensors(data: Vec<u8>, dtype: DType, device: &Device) -> Result<Self> {
        Ok(Self::with(BufferedSafetensors::new(data)?, dtype, device))
    }

    /// Over the tensors of a safetensors file in memory that is borrowed; they are converted to `dtype`.
    ///
    /// # Errors
    /// When the bytes are malformed.
    pub fn from_slice_safetensors(data: &'a [u8], dtype: DType, device: &Device) -> Result<Self> {
        Ok(Self::with(SliceSafetensors::new(data)?, dtype, device))
    }

    /// Over the arrays of a `.npz` archive, which are read as they are asked for and converted to `dtype`.
    ///
    /// # Errors
    /// When the file cannot be read or is malformed.
    pub fn from_npz<P: AsRef<Path>>(path: P, dtype: DType, device: &Device) -> Result<Self> {
        Ok(Self::with(NpzTensors::new(path)?, dtype, device))
    }

    /// Over the tensors of a checkpoint of PyTorch's, which are read as they are asked for and converted to `dtype`. Nothing in the file is executed.
    ///
    /// # Errors
    /// When the file cannot be read or is malformed, or its pickle names other than containers and tensors.
    pub fn from_pth<P: AsRef<Path>>(path: P, dtype: DType, device: &Device) -> Result<Self> {
        Ok(Self::with(PthTensors::new(path, None)?, dtype, device))
    }

    /// As [`VarBuilder::from_pth`], of the mapping that the file has under a key, such as `"state_dict"`.
    ///
    /// # Errors
    /// As [`VarBuilder::from_pth`], and for a key that the file lacks.
    pub fn from_pth_with_state<P: AsRef<Path>>(path: P, dtype: DType, key: &str, device: &Device) -> Result<Self> {
        Ok(Self::with(PthTensors::new(path, Some(key))?, dtype, device))
    }

    /// The builder of other names: a tensor that is asked for by a name is that of the name that `f` makes of it.
    pub fn rename_f<F: Fn(&str) -> String + Sync + Send + 'static>(self, f: F) -> Self {
        self.rename(f)
    }

    /// As [`VarBuilder::rename_f`].
    pub fn rename<R: Renamer + Send + Sync + 'a>(self, renamer: R) -> Self {
        let (dtype, device, path) = (self.dtype, self.device, self.path.clone());
        VarBuilder { backend: Arc::new(Rename::new(self, renamer)), path, dtype, device }
    }

    /// The builder with a further prefix, which a dot parts from what follows.
    pub fn pp<S: ToString>(&self, prefix: S) -> Self {
        let mut pushed = self.clone();
        pushed.path.push(prefix.to_string());
        pushed
    }

    /// As [`VarBuilder::pp`].
    pub fn push_prefix<S: ToString>(&self, prefix: S) -> Self {
        self.pp(prefix)
    }

    /// The builder with this prefix alone.
    pub fn set_prefix(&self, prefix: impl ToString) -> Self {
        VarBuilder { path: vec![prefix.to_string()], ..self.clone() }
    }

    /// The builder without prefix.
    pub fn root(&self) -> Self {
        VarBuilder { path: Vec::new(), ..self.clone() }
    }

    /// The prefix so far.
    pub fn prefix(&self) -> String {
        self.path.join(".")
    }

    /// The device of the tensors.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The dtype of the tensors.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The builder of another dtype.
    pub fn to_dtype(&self, dtype: DType) -> Self {
        VarBuilder { dtype, ..self.clone() }
    }

    /// As [`VarBuilder::to_dtype`].
    pub fn set_dtype(self, dtype: DType) -> Self {
        VarBuilder { dtype, ..self }
    }

    /// The builder of another device.
    pub fn set_device(self, device: Device) -> Self {
        VarBuilder { device, ..self }
    }

    /// The name under the prefix.
    fn path(&self, name: &str) -> String {
        self.path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(".")
    }

    /// Whether there is a tensor of this name under the prefix.
    pub fn contains_tensor(&self, name: &str) -> bool {
        self.backend.contains_tensor(&self.path(name))
    }

    /// The tensor of this name and shape; a new variable starts with zeros.
    ///
    /// # Errors
    /// When there is none, or it has another shape.
    pub fn get<S: Into<Shape>>(&self, shape: S, name: &str) -> Result<Tensor> {
        self.get_with_hints(shape, name, Init::default())
    }

    /// The tensor of this name and shape; a new variable starts as `init` says.
    ///
    /// # Errors
    /// As [`VarBuilder::get`].
    pub fn get_with_hints<S: Into<Shape>>(&self, shape: S, name: &str, init: Init) -> Result<Tensor> {
        self.get_with_hints_dtype(shape, name, init, self.dtype)
    }

    /// As [`VarBuilder::get_with_hints`], in another dtype.
    ///
    /// # Errors
    /// As [`VarBuilder::get`].
    pub fn get_with_hints_dtype<S: Into<Shape>>(
        &self,
        shape: S,
        name: &str,
        init: Init,
        dtype: DType,
    ) -> Result<Tensor> {
        self.backend.get(shape.into(), &self.path(name), init, dtype, &self.device)
    }

    /// The tensor of this name, whatever its shape.
    ///
    /// # Errors
    /// When there is none, or the shape would be needed to make it.
    pub fn get_unchecked(&self, name: &str) -> Result<Tensor> {
        self.get_unchecked_dtype(name, self.dtype)
    }

    /// As [`VarBuilder::get_unchecked`], in another dtype.
    ///
    /// # Errors
    /// As [`VarBuilder::get_unchecked`].
    pub fn get_unchecked_dtype(&self, name: &str, dtype: DType) -> Result<Tensor> {
        self.backend.get_unchecked(&self.path(name), dtype, &self.device)
    }
}

/// What gives tensors other names.
pub trait Renamer {
    /// The name by which a builder knows the tensor that is asked for by this name.
    fn rename(&self, name: &str) -> Cow<'_, str>;
}

impl<F: Fn(&str) -> String> Renamer for F {
    fn rename(&self, name: &str) -> Cow<'_, str> {
        Cow::Owned(self(name))
    }
}

/// A builder's tensors under other names: see [`VarBuilder::rename`].
pub struct Rename<'a, R: Renamer> {
    inner: VarBuilder<'a>,
    renamer: R,
}

impl<'a, R: Renamer> Rename<'a, R> {
    /// Names from the builder's root on.
    pub fn new(inner: VarBuilder<'a>, renamer: R) -> Self {
        Rename { inner: inner.root(), renamer }
    }
}

impl<R: Renamer + Send + Sync> SimpleBackend for Rename<'_, R> {
    fn get(&self, shape: Shape, name: &str, init: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        self.inner.backend.get(shape, &self.renamer.rename(name), init, dtype, device)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        self.inner.backend.get_unchecked(&self.renamer.rename(name), dtype, device)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.inner.backend.contains_tensor(&self.renamer.rename(name))
    }
}

impl SimpleBackend for NpzTensors {
    fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        let tensor = self.get_unchecked(name, dtype, device)?;
        check_shape(name, &shape, &tensor)?;
        Ok(tensor)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        NpzTensors::get(self, name)?.ok_or_else(|| missing(name))?.to_device(device)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.get_shape_and_dtype(name).is_ok()
    }
}

impl SimpleBackend for PthTensors {
    fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        let tensor = self.get_unchecked(name, dtype, device)?;
        check_shape(name, &shape, &tensor)?;
        Ok(tensor)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        PthTensors::get(self, name)?.ok_or_else(|| missing(name))?.to_device(device)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.tensor_infos().contains_key(name)
    }
}

impl SimpleBackend for VarMap {
    fn get(&self, shape: Shape, name: &str, init: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        VarMap::get(self, shape, name, init, dtype, device)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        self.lock().get(name).map(|var| var.as_tensor().clone()).ok_or_else(|| missing(name))
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.lock().contains_key(name)
    }
}

struct Zeros;

impl SimpleBackend for Zeros {
    fn get(&self, shape: Shape, _: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::zeros(shape, dtype, device)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        Err(Error::value("get_unchecked", "name", name, "a builder of tensors with shapes; this one makes zeros"))
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

struct Tensors(HashMap<String, Tensor>);

impl Tensors {
    fn load(&self, name: &str, device: &Device) -> Result<Tensor> {
        let tensor = self.get(name)?;
        if tensor.device() != device {
            return Err(Error::devices("get", device, tensor.device()));
        }
        Ok(tensor.clone())
    }

    fn get(&self, name: &str) -> Result<&Tensor> {
        self.0.get(name).ok_or_else(|| missing(name))
    }
}

/// Backends of given tensors, which `load` gives by name and `get` finds.
macro_rules! given_tensors {
    ($($ty:ty),*) => {
        $(impl SimpleBackend for $ty {
            fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
                let tensor = self.load(name, device)?;
                check_shape(name, &shape, &tensor)?;
                tensor.to_dtype(dtype)
            }

            fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
                self.load(name, device)?.to_dtype(dtype)
            }

            fn contains_tensor(&self, name: &str) -> bool {
                <$ty>::get(self, name).is_ok()
            }
        })*
    };
}
given_tensors!(Tensors, MmapedSafetensors, BufferedSafetensors, SliceSafetensors<'_>);
