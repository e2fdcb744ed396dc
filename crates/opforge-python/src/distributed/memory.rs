//! Memory of tensors for collectives. They work on copies: whatever the program does with its tensors meanwhile, MPI reads and writes memory of its
//! own. Only `all_reduce` and `broadcast` of contiguous tensors that are waited for at once use the tensors' own memory.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use opforge::{DType, Error, Result, Tensor};
use opforge_core::DeviceLocation;
use opforge_dist::{Buffer, Reduction};
use opforge_runtime::vm;

/// A contiguous tensor whose memory a call may use until it is done.
pub struct Lent(Tensor);

impl Lent {
    /// A contiguous copy that nobody else has.
    pub fn copy_of(tensor: &Tensor) -> Result<Self> {
        Ok(Lent(tensor.detach().copy()?))
    }

    /// Zeros, for a result.
    pub fn zeros(dims: &[usize], dtype: DType) -> Result<Self> {
        Ok(Lent(Tensor::zeros(dims, dtype, &opforge::Device::Cpu)?.copy()?))
    }

    /// The tensor itself, if a call can use its memory as it is. The caller leaves it alone until the call is done: as with memory that numpy shares,
    /// what is read or written there meanwhile is undefined.
    pub fn itself(tensor: &Tensor) -> Option<Self> {
        let alignment = tensor.dtype().size_in_bytes().min(8);
        (tensor.is_contiguous() && tensor.storage().is_aligned(alignment)).then(|| Lent(tensor.detach()))
    }

    /// The memory, lent to a call; and the tensor, for when the call has given it back.
    pub fn lend(self) -> Result<(Buffer, Tensor)> {
        let tensor = self.0;
        let len = tensor.elem_count() * tensor.dtype().size_in_bytes();
        let start = tensor.layout().start_offset() * tensor.dtype().size_in_bytes();
        vm::wait_for_write(tensor.storage())?;
        let address = tensor.storage().data()?.as_ptr().wrapping_add(start);
        let address = NonNull::new(address).unwrap_or(NonNull::dangling());
        let owner: Arc<dyn Any + Send + Sync> = Arc::new(tensor.clone());
        // SAFETY: the tensor is contiguous, so its `len` bytes begin at the address; they are initialised, since all that writes them has been waited for
        // (`data` gives zeros otherwise); `owner` keeps the storage. Nobody else uses the memory until the buffer is dropped: `copy` gave the tensor memory
        // of its own, which `PyCollectiveRequest::result` gives out afterwards, or the caller of `itself` sees to it.
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
