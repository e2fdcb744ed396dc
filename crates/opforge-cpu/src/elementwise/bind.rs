//! Kernels of two inputs, one of which is a number.

use std::sync::Arc;

use opforge_core::{DType, Element, Error, Result, Scalar, with_element};
use opforge_runtime::{HostKernel, Strips};

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

    fn strips(self: Arc<Self>) -> Option<Arc<dyn Strips>> {
        let inner = self.inner.clone().strips()?;
        Some(Arc::new(BoundStrips { inner, bound: self }))
    }
}

/// A [`Bound`] kernel that runs strip by strip.
struct BoundStrips {
    inner: Arc<dyn Strips>,
    bound: Arc<Bound>,
}

impl BoundStrips {
    /// The inner kernel's operands: the only input, with the number before or after it.
    fn with_number<T>(&self, [x, _, _, output]: [T; 4], number: T, none: T) -> [T; 4] {
        if self.bound.position == 0 { [number, x, none, output] } else { [x, number, none, output] }
    }
}

impl Strips for BoundStrips {
    fn shape(&self) -> [usize; 2] {
        self.inner.shape()
    }

    fn steps(&self) -> [[isize; 2]; 4] {
        let steps = self.inner.steps();
        [steps[1 - self.bound.position], [0; 2], [0; 2], steps[3]]
    }

    unsafe fn run_strip(&self, operands: &[*mut u8; 4], shape: [usize; 2], rows: &[isize; 4]) -> Result<()> {
        let number = self.bound.number.0.as_ptr().cast_mut();
        let operands = self.with_number(*operands, number, std::ptr::null_mut());
        // SAFETY: the input and output are the caller's; the number is one aligned element, which steps of 0 never leave.
        unsafe { self.inner.run_strip(&operands, shape, &self.with_number(*rows, 0, 0)) }
    }
}
