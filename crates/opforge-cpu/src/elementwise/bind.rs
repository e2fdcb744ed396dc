//! Kernels of two inputs, one of which is a number.

use std::sync::Arc;

use opforge_core::{DType, Element, Error, Result, Scalar, with_element};
use opforge_runtime::HostKernel;

/// A kernel of two inputs, one of which is always the same number.
struct Bound {
    inner: Arc<dyn HostKernel>,
    /// Which input the number is.
    position: usize,
    number: Number,
}

/// A number's bytes, aligned for every dtype.
#[repr(align(16))]
struct Number([u8; 16]);

impl Number {
    fn new(op: &'static str, value: Scalar, dtype: DType) -> Result<Self> {
        if dtype.is_storage_only() || dtype.is_complex() {
            return Err(Error::UnsupportedDTypeForOp(dtype, op));
        }
        let mut number = Number([0; 16]);
        // SAFETY: the bytes are as many as the largest element has, and aligned for any.
        with_element!(dtype, T => unsafe { number.0.as_mut_ptr().cast::<T>().write(T::from_scalar(value)) });
        Ok(number)
    }
}

/// Binds input `position` (0 or 1) of a kernel of two inputs to a number of that input's dtype. The kernel was prepared for that input as a
/// broadcast scalar, all strides 0; the result takes the other input only.
///
/// # Errors
/// For complex dtypes, and those that are only stored.
pub fn bind(
    op: &'static str,
    inner: Arc<dyn HostKernel>,
    position: usize,
    value: Scalar,
    dtype: DType,
) -> Result<Arc<dyn HostKernel>> {
    Ok(Arc::new(Bound { inner, position, number: Number::new(op, value, dtype)? }))
}

impl HostKernel for Bound {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let number = self.number.0.as_ptr();
        let inputs = if self.position == 0 { [number, inputs[0]] } else { [inputs[0], number] };
        // SAFETY: the input and output are this kernel's; the number is one aligned element, which strides of 0 never leave.
        unsafe { self.inner.run(&inputs, outputs) }
    }

    fn cost(&self) -> u64 {
        self.inner.cost()
    }
}
