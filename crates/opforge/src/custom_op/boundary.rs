//! Tensors' memory as candle's programs see it: a [`Storage`] on some device, and tensors made of one.

use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;

use opforge_runtime::{Storage as Memory, vm};

use super::{BackendStorage, CpuStorage, host};
use crate::{DType, Device, Error, Layout, Meta, Result, Shape, Tensor};

/// Candle's own storage of a CUDA device. Custom operators get copies in main memory instead, so nothing is of this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CudaStorage {}

/// Candle's own storage of a Metal device. Nothing is of this type, as of [`CudaStorage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetalStorage {}

/// A tensor's elements, on some device.
#[derive(Debug, Clone)]
pub enum Storage {
    /// Elements in main memory, those of [added](crate::devices) devices too.
    Cpu(CpuStorage),
    /// Never: see [`CudaStorage`].
    Cuda(CudaStorage),
    /// Never: see [`MetalStorage`].
    Metal(MetalStorage),
    /// Elements that cannot be read: the kernel that should have computed them failed, or the device has no data.
    #[allow(missing_docs)]
    Unreadable { dtype: DType, device: Device, error: Error },
}

impl Storage {
    /// The dtype of the elements.
    pub fn dtype(&self) -> DType {
        match self {
            Storage::Cpu(storage) => storage.element_dtype(),
            Storage::Cuda(none) => match *none {},
            Storage::Metal(none) => match *none {},
            Storage::Unreadable { dtype, .. } => *dtype,
        }
    }

    /// Where the elements are.
    pub fn device(&self) -> Device {
        match self {
            Storage::Cpu(_) => Device::Cpu,
            Storage::Cuda(none) => match *none {},
            Storage::Metal(none) => match *none {},
            Storage::Unreadable { device, .. } => *device,
        }
    }

    /// A copy of the elements.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub fn try_clone(&self, layout: &Layout) -> Result<Self> {
        Ok(Storage::Cpu(self.cpu()?.try_clone(layout)?))
    }

    fn cpu(&self) -> Result<&CpuStorage> {
        match self {
            Storage::Cpu(storage) => Ok(storage),
            Storage::Cuda(none) => match *none {},
            Storage::Metal(none) => match *none {},
            Storage::Unreadable { error, .. } => Err(error.clone()),
        }
    }
}

/// A tensor's [`Storage`]: a copy of its elements in main memory, as they were when it was asked for.
#[derive(Debug)]
pub struct StorageRef<'a> {
    storage: Storage,
    tensor: PhantomData<&'a Tensor>,
}

impl Deref for StorageRef<'_> {
    type Target = Storage;
    fn deref(&self) -> &Storage {
        &self.storage
    }
}

/// How a tensor was computed, as [`Tensor::from_storage`] is told: [not by an operator](BackpropOp::none). Gradients through custom operators are those of
/// [`CustomOp1::bwd`](super::CustomOp1::bwd).
#[derive(Debug, Clone)]
pub struct BackpropOp(());

impl BackpropOp {
    /// Not by an operator: gradients end here.
    pub fn none() -> Self {
        BackpropOp(())
    }
}

impl Tensor {
    /// A copy of the memory that holds the elements, and where they are in it.
    ///
    /// ```
    /// # use opforge::{Device, Storage, Tensor};
    /// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?.narrow(1, 1, 1)?;
    /// let (storage, layout) = x.storage_and_layout();
    /// let Storage::Cpu(storage) = &*storage else { panic!("not on the CPU") };
    /// let elements: Vec<f32> = layout.strided_index().map(|i| storage.as_slice::<f32>().unwrap()[i]).collect();
    /// assert_eq!(elements, [2.0, 4.0]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn storage_and_layout(&self) -> (StorageRef<'_>, &Layout) {
        let unreadable = |error| Storage::Unreadable { dtype: self.dtype(), device: *self.device(), error };
        let storage = host::whole(self).map_or_else(unreadable, Storage::Cpu);
        (StorageRef { storage, tensor: PhantomData }, self.layout())
    }

    /// A tensor of this shape, of a storage's elements in row-major order. As a variable, it collects gradients.
    ///
    /// Where the storage has another number of elements than the shape, or an integer one is to be a variable, reading the tensor is an error.
    ///
    /// ```
    /// # use opforge::{CpuStorage, Storage, Tensor, op::BackpropOp};
    /// let x = Tensor::from_storage(Storage::Cpu(CpuStorage::F32(vec![1.0, 2.0])), 2, BackpropOp::none(), false);
    /// assert_eq!(x.to_vec1::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn from_storage<S: Into<Shape>>(storage: Storage, shape: S, _op: BackpropOp, is_variable: bool) -> Tensor {
        let (shape, dtype, at) = (shape.into(), storage.dtype(), Location::caller());
        let tensor = storage.cpu().cloned().and_then(|storage| host::into_tensor(storage, shape.clone(), &Device::Cpu));
        let tensor = tensor.and_then(|tensor| {
            if is_variable {
                tensor.set_requires_grad(true)?;
            }
            Ok(tensor)
        });
        tensor.unwrap_or_else(|error| unusable(dtype, &shape, at, error))
    }
}

/// A tensor whose reader gets this error; of no elements where the shape is one that no tensor can have.
fn unusable(dtype: DType, shape: &Shape, at: &'static Location<'static>, error: Error) -> Tensor {
    const OP: &str = "from_storage";
    let size = dtype.size_in_bytes();
    let sound = shape.check(OP, size).and_then(|()| Memory::new(Device::Cpu, shape.elem_count() * size));
    let (shape, memory) = match sound {
        Ok(memory) => (shape.clone(), memory),
        Err(_) => (Shape::from(0), Memory::from_vec(Vec::<u8>::new())),
    };
    vm::set_unusable(&memory, OP, at, error);
    Tensor::from_parts(Meta::contiguous(dtype, shape), memory)
}
