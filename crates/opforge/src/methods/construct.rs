//! New tensors from numbers and data.

use std::sync::Arc;

use opforge_core::{Element, Scalar};
use opforge_runtime::Storage;
use opforge_runtime::alloc::Room;

use crate::Tensor;
use crate::devices::beside;
use crate::dispatch::{EagerLocal, dispatch1, interpreted_by};
use crate::ops::create::full::Full;
use crate::{DType, Device, Error, Meta, NdArray, Result, Shape, ShapeWithOneHole, WithDType};

impl Tensor {
    /// A tensor of one number, [converted](Scalar::converted) to the dtype.
    #[track_caller]
    pub fn full_scalar<S: Into<Shape>>(value: Scalar, shape: S, dtype: DType, device: &Device) -> Result<Self> {
        let value = crate::functional::converted("full", value, dtype)?;
        dispatch1(&Full { value, shape: shape.into(), dtype, device: *device }, &[])
    }

    /// A tensor of one number.
    #[track_caller]
    pub fn full<D: WithDType, S: Into<Shape>>(value: D, shape: S, device: &Device) -> Result<Self> {
        Self::full_scalar(value.to_scalar(), shape, D::DTYPE, device)
    }

    /// Zeros.
    #[track_caller]
    pub fn zeros<S: Into<Shape>>(shape: S, dtype: DType, device: &Device) -> Result<Self> {
        Self::full_scalar(Scalar::Int(0), shape, dtype, device)
    }

    /// Ones.
    #[track_caller]
    pub fn ones<S: Into<Shape>>(shape: S, dtype: DType, device: &Device) -> Result<Self> {
        Self::full_scalar(Scalar::Int(1), shape, dtype, device)
    }

    /// Zeros of this tensor's shape, dtype and device.
    #[track_caller]
    pub fn zeros_like(&self) -> Result<Self> {
        let _beside = beside(self);
        Self::zeros(self.shape(), self.dtype(), self.device())?.placed_like(self)
    }

    /// Ones of this tensor's shape, dtype and device.
    #[track_caller]
    pub fn ones_like(&self) -> Result<Self> {
        let _beside = beside(self);
        Self::ones(self.shape(), self.dtype(), self.device())?.placed_like(self)
    }

    /// A tensor of a number, or of nested arrays or vectors up to four deep.
    ///
    /// # Errors
    /// When nested vectors differ in length.
    pub fn new<A: NdArray>(array: A, device: &Device) -> Result<Self> {
        let shape = array.shape()?;
        Self::from_vec(array.into_elements(), shape, device)
    }

    /// A tensor that takes over the elements, in row-major order. One length of the shape may be left open: `(2, ())`.
    ///
    /// # Errors
    /// When the number of elements is not that of the shape.
    pub fn from_vec<S: ShapeWithOneHole, T: Element>(data: Vec<T>, shape: S, device: &Device) -> Result<Self> {
        let meta = meta_of::<S, T>(shape, data.len())?;
        placed(meta, *device, std::mem::size_of_val(&data[..]), || Storage::from_vec(data))
    }

    /// As [`Tensor::from_vec`], of elements that lie in memory of the allocator's.
    pub(crate) fn from_room<S: ShapeWithOneHole, T: Element>(data: Room<T>, shape: S, device: &Device) -> Result<Self> {
        let meta = meta_of::<S, T>(shape, data.len())?;
        placed(meta, *device, std::mem::size_of_val(&data[..]), || Storage::from_room(data))
    }

    /// A tensor with a copy of the elements, in row-major order.
    ///
    /// # Errors
    /// When the number of elements is not that of the shape.
    pub fn from_slice<S: ShapeWithOneHole, T: Element>(data: &[T], shape: S, device: &Device) -> Result<Self> {
        Self::from_room(Room::copied(data)?, shape, device)
    }

    /// A vector of an iterator's elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn from_iter<T: Element>(iter: impl IntoIterator<Item = T>, device: &Device) -> Result<Self> {
        let data = Room::collect(iter)?;
        let len = data.len();
        Self::from_room(data, len, device)
    }
}

/// The tensor of elements in main memory, on a device.
fn placed(meta: Meta, device: Device, nbytes: usize, storage: impl FnOnce() -> Arc<Storage>) -> Result<Tensor> {
    if device.is_meta() {
        return Ok(Tensor::from_parts(meta, Storage::new(device, nbytes)?));
    }
    let tensor = Tensor::from_parts(meta, storage());
    match device {
        Device::Cpu => Ok(tensor),
        // Numbers are there at once, in graphs too, whose constants they are.
        device => interpreted_by(&EagerLocal, || tensor.to_device(&device)),
    }
}

/// A contiguous tensor of so many elements and this shape.
fn meta_of<S: ShapeWithOneHole, T: Element>(shape: S, len: usize) -> Result<Meta> {
    let shape = shape.into_shape(len)?;
    shape.check("from_vec", T::DTYPE.size_in_bytes())?;
    if shape.elem_count() != len {
        return Err(Error::ShapeMismatch { buffer_size: len, shape: Box::new(shape) });
    }
    Ok(Meta::contiguous(T::DTYPE, shape))
}
