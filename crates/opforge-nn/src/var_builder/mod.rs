//! Where layers get their parameters from.

mod backends;
mod rename;
mod shards;

use std::collections::HashMap;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use opforge::npy::NpzTensors;
use opforge::pickle::PthTensors;
use opforge::safetensors::{BufferedSafetensors, MmapedSafetensors, SliceSafetensors};
use opforge::{DType, Device, Result, Shape, Tensor};

use self::backends::{Tensors, Zeros};
use crate::{Init, VarMap};

pub use rename::{Rename, Renamer};
pub use shards::{Shard, ShardedSafeTensors, ShardedVarBuilder};

/// Where a [`VarBuilderArgs`] gets its tensors, told more than a shape.
pub trait Backend: Send + Sync {
    /// What else is said of a tensor that is asked for.
    type Hints: Default;

    /// The tensor of this name and shape.
    ///
    /// # Errors
    /// When there is no such tensor.
    fn get(&self, shape: Shape, name: &str, hints: Self::Hints, dtype: DType, device: &Device) -> Result<Tensor>;

    /// The tensor of this name, whatever its shape.
    ///
    /// # Errors
    /// When there is no such tensor, or the backend needs more than a name.
    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor>;

    /// Whether there is a tensor of this name.
    fn contains_tensor(&self, name: &str) -> bool;
}

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

impl Backend for Box<dyn SimpleBackend + '_> {
    type Hints = Init;

    fn get(&self, shape: Shape, name: &str, init: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        self.as_ref().get(shape, name, init, dtype, device)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        self.as_ref().get_unchecked(name, dtype, device)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.as_ref().contains_tensor(name)
    }
}

/// Hands out a model's tensors by name: variables to train, or tensors from a file. Layers are built from it, each under its own prefix.
pub type VarBuilder<'a> = VarBuilderArgs<'a, Box<dyn SimpleBackend + 'a>>;

/// A [`VarBuilder`] over a [`Backend`] of any kind.
pub struct VarBuilderArgs<'a, B: Backend> {
    backend: Arc<B>,
    path: Vec<String>,
    /// The dtype of the tensors.
    pub dtype: DType,
    device: Device,
    borrowed: PhantomData<&'a ()>,
}

impl<B: Backend> Clone for VarBuilderArgs<'_, B> {
    fn clone(&self) -> Self {
        let VarBuilderArgs { backend, path, dtype, device, borrowed } = self;
        VarBuilderArgs {
            backend: backend.clone(),
            path: path.clone(),
            dtype: *dtype,
            device: *device,
            borrowed: *borrowed,
        }
    }
}

impl<'a> VarBuilder<'a> {
    fn with(backend: impl SimpleBackend + 'a, dtype: DType, device: &Device) -> Self {
        Self::from_backend(Box::new(backend), dtype, *device)
    }

    /// Over a backend of one's own.
    pub fn from_backend(backend: Box<dyn SimpleBackend + 'a>, dtype: DType, device: Device) -> Self {
        Self::new_with_args(backend, dtype, &device)
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
        VarBuilder { path, ..Self::with(Rename::new(self, renamer), dtype, &device) }
    }
}

impl<B: Backend> VarBuilderArgs<'_, B> {
    /// Over a backend.
    pub fn new_with_args(backend: B, dtype: DType, device: &Device) -> Self {
        VarBuilderArgs { backend: Arc::new(backend), path: Vec::new(), dtype, device: *device, borrowed: PhantomData }
    }

    /// The builder with a further prefix, which is separated by a dot from what follows.
    pub fn pp<S: ToString>(&self, prefix: S) -> Self {
        let mut pushed = self.clone();
        pushed.path.push(prefix.to_string());
        pushed
    }

    /// As [`VarBuilderArgs::pp`].
    pub fn push_prefix<S: ToString>(&self, prefix: S) -> Self {
        self.pp(prefix)
    }

    /// The builder with this prefix alone.
    pub fn set_prefix(&self, prefix: impl ToString) -> Self {
        VarBuilderArgs { path: vec![prefix.to_string()], ..self.clone() }
    }

    /// The builder without prefix.
    pub fn root(&self) -> Self {
        VarBuilderArgs { path: Vec::new(), ..self.clone() }
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
        VarBuilderArgs { dtype, ..self.clone() }
    }

    /// As [`VarBuilderArgs::to_dtype`].
    pub fn set_dtype(self, dtype: DType) -> Self {
        VarBuilderArgs { dtype, ..self }
    }

    /// The builder of another device.
    pub fn set_device(self, device: Device) -> Self {
        VarBuilderArgs { device, ..self }
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
        self.get_with_hints(shape, name, B::Hints::default())
    }

    /// The tensor of this name and shape, as hints say: a new variable starts as [`Init`] does.
    ///
    /// # Errors
    /// As [`VarBuilderArgs::get`].
    pub fn get_with_hints<S: Into<Shape>>(&self, shape: S, name: &str, hints: B::Hints) -> Result<Tensor> {
        self.get_with_hints_dtype(shape, name, hints, self.dtype)
    }

    /// As [`VarBuilderArgs::get_with_hints`], in another dtype.
    ///
    /// # Errors
    /// As [`VarBuilderArgs::get`].
    pub fn get_with_hints_dtype<S: Into<Shape>>(
        &self,
        shape: S,
        name: &str,
        hints: B::Hints,
        dtype: DType,
    ) -> Result<Tensor> {
        self.backend.get(shape.into(), &self.path(name), hints, dtype, &self.device)
    }

    /// The tensor of this name, whatever its shape.
    ///
    /// # Errors
    /// When there is none, or the shape would be needed to make it.
    pub fn get_unchecked(&self, name: &str) -> Result<Tensor> {
        self.get_unchecked_dtype(name, self.dtype)
    }

    /// As [`VarBuilderArgs::get_unchecked`], in another dtype.
    ///
    /// # Errors
    /// As [`VarBuilderArgs::get_unchecked`].
    pub fn get_unchecked_dtype(&self, name: &str, dtype: DType) -> Result<Tensor> {
        self.backend.get_unchecked(&self.path(name), dtype, &self.device)
    }
}
