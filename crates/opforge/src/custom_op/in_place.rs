//! Custom operators that change a tensor in place.

use super::{CpuStorage, CudaStorage, MetalStorage, host, no_device};
use crate::{Error, Layout, Meta, Result, Tensor};

/// An operator that changes a tensor in place. It has no gradient.
pub trait InplaceOp1 {
    /// Its name, for error messages.
    fn name(&self) -> &'static str;
    /// Changes the elements that the layout names.
    ///
    /// # Errors
    /// Whatever the operator refuses; the tensor stays as it was.
    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()>;
    /// The same on candle's own CUDA storage. Here the operator runs on copies in main memory, so it is never called.
    ///
    /// # Errors
    /// Always.
    fn cuda_fwd(&self, _: &mut CudaStorage, _: &Layout) -> Result<()> {
        Err(no_device(self.name(), "CUDA"))
    }
    /// The same on candle's own Metal storage: never called, as [`Self::cuda_fwd`].
    ///
    /// # Errors
    /// Always.
    fn metal_fwd(&self, _: &mut MetalStorage, _: &Layout) -> Result<()> {
        Err(no_device(self.name(), "Metal"))
    }
}

/// An operator that changes a tensor in place with the help of another.
pub trait InplaceOp2 {
    /// Its name, for error messages.
    fn name(&self) -> &'static str;
    /// As [`InplaceOp1::cpu_fwd`].
    ///
    /// # Errors
    /// Whatever the operator refuses; the tensor stays as it was.
    fn cpu_fwd(&self, s1: &mut CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<()>;
    /// The same on candle's own CUDA storage. Here the operator runs on copies in main memory, so it is never called.
    ///
    /// # Errors
    /// Always.
    fn cuda_fwd(&self, _: &mut CudaStorage, _: &Layout, _: &CudaStorage, _: &Layout) -> Result<()> {
        Err(no_device(self.name(), "CUDA"))
    }
    /// The same on candle's own Metal storage: never called, as [`Self::cuda_fwd`].
    ///
    /// # Errors
    /// Always.
    fn metal_fwd(&self, _: &mut MetalStorage, _: &Layout, _: &MetalStorage, _: &Layout) -> Result<()> {
        Err(no_device(self.name(), "Metal"))
    }
}

/// An operator that changes a tensor in place with the help of two others.
pub trait InplaceOp3 {
    /// Its name, for error messages.
    fn name(&self) -> &'static str;
    /// As [`InplaceOp1::cpu_fwd`].
    ///
    /// # Errors
    /// Whatever the operator refuses; the tensor stays as it was.
    fn cpu_fwd(
        &self,
        s1: &mut CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<()>;
    /// The same on candle's own CUDA storage. Here the operator runs on copies in main memory, so it is never called.
    ///
    /// # Errors
    /// Always.
    fn cuda_fwd(
        &self,
        _: &mut CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
    ) -> Result<()> {
        Err(no_device(self.name(), "CUDA"))
    }
    /// The same on candle's own Metal storage: never called, as [`Self::cuda_fwd`].
    ///
    /// # Errors
    /// Always.
    fn metal_fwd(
        &self,
        _: &mut MetalStorage,
        _: &Layout,
        _: &MetalStorage,
        _: &Layout,
        _: &MetalStorage,
        _: &Layout,
    ) -> Result<()> {
        Err(no_device(self.name(), "Metal"))
    }
}

/// Changes a copy of what a tensor's layout spans, and writes it back.
#[track_caller]
fn change(
    op: &'static str,
    tensor: &Tensor,
    change: impl FnOnce(&mut CpuStorage, &Layout) -> Result<()>,
) -> Result<()> {
    let (mut storage, layout, start) = host::spanned(tensor)?;
    change(&mut storage, &layout)?;
    let (dtype, len) = (tensor.dtype(), layout.span());
    if storage.element_dtype() != dtype {
        return Err(Error::dtype(op, "storage", storage.element_dtype(), dtype));
    }
    let changed = host::into_tensor(storage, len.into(), tensor.device());
    let changed = changed.map_err(|error| error.context(format!("the result of {op}")))?;
    let place = Meta { dtype, layout: Layout::contiguous_with_offset(len, start) };
    Tensor::from_parts(place, tensor.storage().clone()).copy_from(&changed)
}

impl Tensor {
    /// Changes this tensor in place. Gradients do not flow through the change.
    ///
    /// # Errors
    /// Those of the operator; read-only memory; a storage that the operator left with another length or dtype.
    #[track_caller]
    pub fn inplace_op1<I: InplaceOp1>(&self, c: &I) -> Result<()> {
        change(c.name(), self, |s, l| c.cpu_fwd(s, l))
    }

    /// Changes this tensor in place with the help of another, which is seen as it was before.
    ///
    /// # Errors
    /// As [`Tensor::inplace_op1`].
    #[track_caller]
    pub fn inplace_op2<I: InplaceOp2>(&self, rhs: &Tensor, c: &I) -> Result<()> {
        let (s2, l2, _) = host::spanned(rhs)?;
        change(c.name(), self, |s, l| c.cpu_fwd(s, l, &s2, &l2))
    }

    /// Changes this tensor in place with the help of two others, which are seen as they were before.
    ///
    /// # Errors
    /// As [`Tensor::inplace_op1`].
    #[track_caller]
    pub fn inplace_op3<I: InplaceOp3>(&self, t2: &Tensor, t3: &Tensor, c: &I) -> Result<()> {
        let ((s2, l2, _), (s3, l3, _)) = (host::spanned(t2)?, host::spanned(t3)?);
        change(c.name(), self, |s, l| c.cpu_fwd(s, l, &s2, &l2, &s3, &l3))
    }
}
