//! Parameters: tensors that collect gradients and whose value can be replaced.

use std::fmt;
use std::ops::Deref;

use crate::{DType, Device, Element, Error, FloatDType, NdArray, Result, Shape, ShapeWithOneHole, Tensor};

/// A tensor that collects gradients and whose value can be replaced: a parameter.
#[derive(Clone, Debug)]
pub struct Var(Tensor);

impl Deref for Var {
    type Target = Tensor;
    fn deref(&self) -> &Tensor {
        &self.0
    }
}

impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl AsRef<Tensor> for Var {
    fn as_ref(&self) -> &Tensor {
        &self.0
    }
}

impl Var {
    fn wrap(tensor: Tensor) -> Result<Self> {
        if tensor.dtype().is_float() {
            tensor.set_requires_grad(true)?;
        }
        Ok(Var(tensor))
    }

    /// Zeros.
    pub fn zeros<S: Into<Shape>>(shape: S, dtype: DType, device: &Device) -> Result<Self> {
        Self::wrap(Tensor::zeros(shape, dtype, device)?)
    }

    /// Ones.
    pub fn ones<S: Into<Shape>>(shape: S, dtype: DType, device: &Device) -> Result<Self> {
        Self::wrap(Tensor::ones(shape, dtype, device)?)
    }

    /// From a number or nested arrays.
    pub fn new<A: NdArray>(array: A, device: &Device) -> Result<Self> {
        Self::wrap(Tensor::new(array, device)?)
    }

    /// From elements in row-major order.
    pub fn from_vec<S: ShapeWithOneHole, T: Element>(data: Vec<T>, shape: S, device: &Device) -> Result<Self> {
        Self::wrap(Tensor::from_vec(data, shape, device)?)
    }

    /// From elements in row-major order.
    pub fn from_slice<S: ShapeWithOneHole, T: Element>(data: &[T], shape: S, device: &Device) -> Result<Self> {
        Self::wrap(Tensor::from_slice(data, shape, device)?)
    }

    /// Uniform in `[lo, up)`.
    pub fn rand<S: Into<Shape>, T: FloatDType>(lo: T, up: T, shape: S, device: &Device) -> Result<Self> {
        Self::wrap(Tensor::rand(lo, up, shape, device)?)
    }

    /// Normal with this mean and standard deviation.
    pub fn randn<S: Into<Shape>, T: FloatDType>(mean: T, std: T, shape: S, device: &Device) -> Result<Self> {
        Self::wrap(Tensor::randn(mean, std, shape, device)?)
    }

    /// Uniform in `[lo, up)`, in a dtype that the program knows only when it runs.
    ///
    /// # Errors
    /// For dtypes that are not floats.
    pub fn rand_f64<S: Into<Shape>>(lo: f64, up: f64, shape: S, dtype: DType, device: &Device) -> Result<Self> {
        Self::wrap(Tensor::zeros(shape, dtype, device)?.rand_like(lo, up)?)
    }

    /// Normal, in a dtype that the program knows only when it runs.
    ///
    /// # Errors
    /// For dtypes that are not floats.
    pub fn randn_f64<S: Into<Shape>>(mean: f64, std: f64, shape: S, dtype: DType, device: &Device) -> Result<Self> {
        Self::wrap(Tensor::zeros(shape, dtype, device)?.randn_like(mean, std)?)
    }

    /// A variable of the tensor's elements: the tensor itself where it [is a variable](Tensor::is_variable), a copy outside of its graph otherwise.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn from_tensor(tensor: &Tensor) -> Result<Self> {
        if tensor.is_variable() { Ok(Var(tensor.clone())) } else { Self::wrap(tensor.detach().copy()?) }
    }

    /// The variable as a plain tensor that gradients still flow to.
    pub fn as_tensor(&self) -> &Tensor {
        &self.0
    }

    /// As [`Var::as_tensor`], owned.
    pub fn into_inner(self) -> Tensor {
        self.0
    }

    /// The value outside of the graph; shares storage.
    pub fn as_detached_tensor(&self) -> Tensor {
        self.0.detach()
    }

    /// Replaces the elements in place: earlier clones and views see the new ones.
    ///
    /// # Errors
    /// When shape or dtype differ.
    #[track_caller]
    pub fn set(&self, source: &Tensor) -> Result<()> {
        if source.shape() != self.0.shape() {
            return Err(Error::shapes("set", self.0.shape(), source.shape(), "equal shapes"));
        }
        if source.dtype() != self.0.dtype() {
            return Err(Error::dtypes("set", self.0.dtype(), source.dtype()));
        }
        super::no_grad(|| self.0.copy_from(source))
    }
}
