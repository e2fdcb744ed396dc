//! Kernels that choose between elements, and that write one everywhere.

use std::marker::PhantomData;
use std::sync::Arc;

use num_complex::Complex;
use opforge_core::{DType, Element, Error, Meta, Result, Scalar, with_element};
use opforge_runtime::HostKernel;

use super::block::Block;
use super::check_dtypes;
use super::kernel::Spec;
use super::scalar::SelectStep;
use super::step::Step;
use crate::simd::{Routine, Simd};

const PICOSECONDS: usize = 100;

/// The kernel that takes the element of `a` where `cond` is not zero, else that of `b`.
///
/// # Errors
/// A condition that is neither bool nor u8; other dtypes or shapes that differ; an output that overlaps itself.
pub fn select(op: &'static str, cond: &Meta, a: &Meta, b: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    if !matches!(cond.dtype, DType::Bool | DType::U8) {
        return Err(Error::dtype(op, "cond", cond.dtype, "bool or u8"));
    }
    check_dtypes(op, a.dtype, &[b, output])?;
    let step = match a.dtype.size_in_bytes() {
        1 => Step::new(SelectStep(PhantomData::<u8>)),
        2 => Step::new(SelectStep(PhantomData::<u16>)),
        4 => Step::new(SelectStep(PhantomData::<u32>)),
        8 => Step::new(SelectStep(PhantomData::<u64>)),
        _ => Step::new(SelectStep(PhantomData::<Complex<f64>>)),
    };
    Spec { op, step, widen: false, ps: PICOSECONDS, failure: None }.kernel([cond, a, b], output)
}

/// The step that writes a value everywhere.
struct Fill<T>(T);

impl<T: Copy + Send + Sync + 'static> Routine for Fill<T> {
    type Args = *const Block<0>;
    type Output = bool;
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, block: *const Block<0>) -> bool {
        // SAFETY: the block's rows are writable for its elements, of the step's type, and nobody else's, while it is borrowed.
        unsafe {
            let Block { rows, cols, output, output_row, .. } = *block;
            for row in 0..rows as isize {
                let to = output.wrapping_offset(row * output_row).cast::<T>();
                std::slice::from_raw_parts_mut(to, cols).fill(self.0);
            }
        }
        false
    }
}

/// The kernel that writes one value, converted to the output's dtype, to every element. It takes no inputs.
///
/// # Errors
/// An output that overlaps itself.
pub fn fill(op: &'static str, value: Scalar, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    let step = with_element!(output.dtype, T => Step::new(Fill(T::from_scalar(value))));
    Spec { op, step, widen: false, ps: PICOSECONDS, failure: None }.kernel([], output)
}
