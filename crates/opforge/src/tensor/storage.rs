//! Tensors over memory that exists already.

use std::sync::Arc;

use opforge_runtime::Storage;

use super::Tensor;
use crate::{DType, Error, Layout, Meta, Result};

impl Tensor {
    /// A tensor over memory that exists already: another tensor's, or [somebody else's](Storage::from_raw). The layout counts elements of
    /// `dtype` from the storage's first byte on.
    ///
    /// # Errors
    /// For a layout that reaches beyond the storage and memory that is not aligned for the dtype. That bytes of [`DType::Bool`] are 0 or 1
    /// is not checked.
    ///
    /// ```
    /// # use opforge::{DType, Device, Layout, Tensor};
    /// let bits = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
    /// let ints = Tensor::over_storage(bits.storage().clone(), DType::U32, Layout::contiguous(2))?;
    /// assert_eq!(ints.to_vec1::<u32>()?, [1f32.to_bits(), 2f32.to_bits()]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn over_storage(storage: Arc<Storage>, dtype: DType, layout: Layout) -> Result<Tensor> {
        layout.shape().check("over_storage", dtype.size_in_bytes())?;
        let size = dtype.size_in_bytes();
        let bytes = layout.span().checked_mul(size).filter(|&bytes| bytes <= storage.nbytes());
        if bytes.is_none() {
            let given = format!("{layout:?} of {dtype}");
            return Err(Error::shape(
                "over_storage",
                "layout",
                given,
                format!("one within {} bytes", storage.nbytes()),
            ));
        }
        // Memory that is reserved later is aligned for every dtype.
        let has_data = storage.device().is_cpu() && storage.is_reserved() && layout.shape().elem_count() > 0;
        if has_data && !storage.data()?.as_ptr().addr().is_multiple_of(size) {
            let accepted = format!("memory at a multiple of {size} bytes");
            return Err(Error::value("over_storage", "storage", "memory that is not aligned", accepted));
        }
        Ok(Tensor::from_parts(Meta { dtype, layout }, storage))
    }
}
