//! Memory of tensors for collectives.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use opforge::{DType, Error, Result, Tensor};
use opforge_core::DeviceLocation;
use opforge_dist::{Buffer, Reduction};

/// A tensor that nobody else has, whose memory a call may use until it is done.
pub struct Private(Tensor);

impl Private {
    /// A contiguous copy, when the elements have been computed.
    pub fn copy_of(tensor: &Tensor) -> Result<Self> {
        Ok(Private(tensor.detach().copy()?))
    }

    /// Zeros, for a result.
    pub fn zeros(dims: &[usize], dtype: DType) -> Result<Self> {
        Ok(Private(Tensor::zeros(dims, dtype, &opforge::Device::Cpu)?.copy()?))
    }

    /// The memory, lent to a call; and the tensor, for when the call has given it back.
    pub fn lend(self) -> Result<(Buffer, Tensor)> {
        let tensor = self.0;
        let len = tensor.elem_count() * tensor.dtype().size_in_bytes();
        let start = tensor.layout().start_offset() * tensor.dtype().size_in_bytes();
        let address = tensor.storage().expose()?.as_ptr().wrapping_add(start);
        let address = NonNull::new(address).unwrap_or(NonNull::dangling());
        let owner: Arc<dyn Any + Send + Sync> = Arc::new(tensor.clone());
        // SAFETY: the tensor is contiguous, so its `len` bytes begin at the address; they are initialised, since `expose` has waited for the copy that
        // wrote them; `owner` keeps the storage. `copy` gave the tensor memory of its own, and only the request holds the tensor until the buffer is
        // dropped: `PyCollectiveRequest::result` gives it out afterwards.
        let buffer = unsafe { Buffer::from_raw(address, len, DeviceLocation::Cpu, owner) };
        Ok((buffer, tensor))
    }
}

/// Refuses tensors whose elements are not in memory of this process, or, for results, cannot be written.
pub fn check(op: &'static str, argument: &'static str, tensor: &Tensor, is_result: bool) -> Result<()> {
    if !tensor.device().is_cpu() {
        return Err(Error::device(op, argument, tensor.device().location(), "cpu"));
    }
    if is_result && tensor.storage().is_read_only() {
        return Err(Error::value(op, argument, "a tensor over read-only memory", "a tensor that can be written"));
    }
    Ok(())
}

/// Refuses dtypes that a reduction has no meaning for.
pub fn check_reduction(op: &'static str, reduction: Reduction, dtype: DType) -> Result<()> {
    let is_ordered = matches!(reduction, Reduction::Max | Reduction::Min);
    let is_taken = match dtype {
        dtype if dtype.is_storage_only() => false,
        dtype if dtype.is_complex() => reduction == Reduction::Sum,
        DType::Bool => is_ordered,
        _ => true,
    };
    if is_taken {
        return Ok(());
    }
    let accepted =
        "numbers; of complex numbers only sums, of bool only max and min, and no 8-bit floats: convert first";
    Err(Error::dtype(op, "tensor", format!("{reduction} of {dtype}"), accepted))
}
