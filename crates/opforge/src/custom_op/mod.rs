//! Operators that a program defines itself, under candle's names: a function of storages and layouts, and a gradient.
//!
//! They run on the calling thread, on copies of the elements: candle's storages are vectors, which programs read and make. What candle's programs
//! compute with storages, without tensors, is computed by tensors over them. Candle's own storages of other devices are types
//! without values ([`CudaStorage`]), so that programs may name them: elements of any device are copied to main memory and back.
//!
//! ```
//! use opforge::{CpuStorage, CustomOp1, Device, Layout, Result, Shape, Tensor, cpu_backend, map_dtype};
//!
//! struct Square;
//!
//! impl CustomOp1 for Square {
//!     fn name(&self) -> &'static str {
//!         "square"
//!     }
//!     fn cpu_fwd(&self, s: &CpuStorage, l: &Layout) -> Result<(CpuStorage, Shape)> {
//!         let squares = map_dtype!("square", s, |s| cpu_backend::unary_map(s, l, |v| v * v), (F32, F64));
//!         Ok((squares, l.shape().clone()))
//!     }
//!     fn bwd(&self, arg: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
//!         Ok(Some(((arg * 2.0)? * grad)?))
//!     }
//! }
//!
//! # fn main() -> Result<()> {
//! let x = opforge::Var::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
//! let y = x.apply_op1(Square)?;
//! assert_eq!(y.to_vec1::<f32>()?, [1.0, 4.0, 9.0]);
//! assert_eq!(y.backward()?.get(&x).unwrap().to_vec1::<f32>()?, [2.0, 4.0, 6.0]);
//! # Ok(())
//! # }
//! ```

mod apply;
mod backend;
mod boundary;
mod host;
mod in_place;
mod maps;
mod shared;

pub use backend::{BackendDevice, BackendStorage, CpuDevice, ReduceOp};
pub use boundary::{BackpropOp, CudaStorage, MetalStorage, Storage, StorageRef};
pub use in_place::{InplaceOp1, InplaceOp2, InplaceOp3};
pub use maps::{Map1, Map1Any, Map2, Map2InPlace, Map2U8, binary_map, binary_map_vec, unary_map, unary_map_vec};
pub use opforge_core::{CpuStorage, CpuStorageRef};

use crate::{Error, Layout, Result, Shape, Tensor};

fn no_device(op: &'static str, device: &'static str) -> Error {
    Error::device(op, "device", device, "cpu: custom operators run on copies in main memory")
}

fn no_gradient(op: &'static str) -> Error {
    Error::BackwardNotSupported { op }.bt()
}

/// An operator of one tensor.
pub trait CustomOp1 {
    /// Its name, for error messages.
    fn name(&self) -> &'static str;
    /// Computes the elements of the result in row-major order, and its shape. The layout says where the argument's elements are.
    ///
    /// # Errors
    /// Whatever the operator refuses.
    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)>;
    /// The same on candle's own CUDA storage. Here the operator runs on copies in main memory, so it is never called.
    ///
    /// # Errors
    /// Always.
    fn cuda_fwd(&self, _: &CudaStorage, _: &Layout) -> Result<(CudaStorage, Shape)> {
        Err(no_device(self.name(), "CUDA"))
    }
    /// The same on candle's own Metal storage: never called, as [`Self::cuda_fwd`].
    ///
    /// # Errors
    /// Always.
    fn metal_fwd(&self, _: &MetalStorage, _: &Layout) -> Result<(MetalStorage, Shape)> {
        Err(no_device(self.name(), "Metal"))
    }
    /// The argument's gradient from the result's.
    ///
    /// # Errors
    /// By default: there is none.
    fn bwd(&self, _arg: &Tensor, _res: &Tensor, _grad_res: &Tensor) -> Result<Option<Tensor>> {
        Err(no_gradient(self.name()))
    }
}

/// An operator of two tensors.
pub trait CustomOp2 {
    /// Its name, for error messages.
    fn name(&self) -> &'static str;
    /// As [`CustomOp1::cpu_fwd`].
    ///
    /// # Errors
    /// Whatever the operator refuses.
    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)>;
    /// The same on candle's own CUDA storage. Here the operator runs on copies in main memory, so it is never called.
    ///
    /// # Errors
    /// Always.
    fn cuda_fwd(&self, _: &CudaStorage, _: &Layout, _: &CudaStorage, _: &Layout) -> Result<(CudaStorage, Shape)> {
        Err(no_device(self.name(), "CUDA"))
    }
    /// The same on candle's own Metal storage: never called, as [`Self::cuda_fwd`].
    ///
    /// # Errors
    /// Always.
    fn metal_fwd(&self, _: &MetalStorage, _: &Layout, _: &MetalStorage, _: &Layout) -> Result<(MetalStorage, Shape)> {
        Err(no_device(self.name(), "Metal"))
    }
    /// The arguments' gradients from the result's.
    ///
    /// # Errors
    /// By default: there are none.
    fn bwd(
        &self,
        _a: &Tensor,
        _b: &Tensor,
        _res: &Tensor,
        _grad_res: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        Err(no_gradient(self.name()))
    }
}

/// An operator of three tensors.
pub trait CustomOp3 {
    /// Its name, for error messages.
    fn name(&self) -> &'static str;
    /// As [`CustomOp1::cpu_fwd`].
    ///
    /// # Errors
    /// Whatever the operator refuses.
    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)>;
    /// The same on candle's own CUDA storage. Here the operator runs on copies in main memory, so it is never called.
    ///
    /// # Errors
    /// Always.
    fn cuda_fwd(
        &self,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        Err(no_device(self.name(), "CUDA"))
    }
    /// The same on candle's own Metal storage: never called, as [`Self::cuda_fwd`].
    ///
    /// # Errors
    /// Always.
    fn metal_fwd(
        &self,
        _: &MetalStorage,
        _: &Layout,
        _: &MetalStorage,
        _: &Layout,
        _: &MetalStorage,
        _: &Layout,
    ) -> Result<(MetalStorage, Shape)> {
        Err(no_device(self.name(), "Metal"))
    }
    /// The arguments' gradients from the result's.
    ///
    /// # Errors
    /// By default: there are none.
    fn bwd(
        &self,
        _a: &Tensor,
        _b: &Tensor,
        _c: &Tensor,
        _res: &Tensor,
        _grad_res: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        Err(no_gradient(self.name()))
    }
}

/// Applies an expression to the vector in a [`CpuStorage`] of one of the dtypes listed; returns an error for others.
#[macro_export]
macro_rules! map_dtype {
    ($name:expr, $storage:ident, $f:expr, ($($dtype:ident),+ $(,)?)) => {
        match $storage {
            $(CpuStorage::$dtype(values) => CpuStorage::$dtype($f(values)),)+
            other => {
                let dtype = $crate::backend::BackendStorage::dtype(other);
                return Err($crate::Error::UnsupportedDTypeForOp(dtype, $name).bt());
            }
        }
    };
}
