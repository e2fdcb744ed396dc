//! Kernels of two inputs, one of which is a number.

use std::sync::Arc;

use opforge_core::{DType, Element, Error, Result, Scalar, bf16, f16};
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
        let mut bytes = [0; 16];
        let mut put = |le: &[u8]| bytes[..le.len()].copy_from_slice(le);
        match dtype {
            DType::Bool => put(&[value.to_bool().into()]),
            DType::U8 => put(&u8::from_scalar(value).to_ne_bytes()),
            DType::U16 => put(&u16::from_scalar(value).to_ne_bytes()),
            DType::U32 => put(&u32::from_scalar(value).to_ne_bytes()),
            DType::U64 => put(&u64::from_scalar(value).to_ne_bytes()),
            DType::I8 => put(&i8::from_scalar(value).to_ne_bytes()),
            DType::I16 => put(&i16::from_scalar(value).to_ne_bytes()),
            DType::I32 => put(&i32::from_scalar(value).to_ne_bytes()),
            DType::I64 => put(&i64::from_scalar(value).to_ne_bytes()),
            DType::F16 => put(&f16::from_scalar(value).to_ne_bytes()),
            DType::BF16 => put(&bf16::from_scalar(value).to_ne_bytes()),
            DType::F32 => put(&f32::from_scalar(value).to_ne_bytes()),
            DType::F64 => put(&f64::from_scalar(value).to_ne_bytes()),
            DType::F8E4M3 | DType::F8E5M2 | DType::C64 | DType::C128 => {
                return Err(Error::UnsupportedDTypeForOp(dtype, op));
            }
        }
        Ok(Number(bytes))
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
