//! Reductions of truth values: whether any, or all, elements differ from zero.

use super::expect_output;
use super::fold::{IntFold, IntMath, IntOutput};
use super::kernel::{ReduceKernel, prepare};
use super::plan::{Plan, check_output, split};
use crate::simd::Int;
use opforge_core::{DType, Error, Meta, Result};
use opforge_tile::TruthReducer;
use std::sync::Arc;

/// Reduces whether elements differ from zero, as NaN does, over `axes`. The output is Bool or U8, and otherwise as [`super::reduce`] says.
///
/// # Errors
/// Complex inputs, an axis out of range, an output of another size or dtype.
pub fn reduce_truth(
    op: &'static str,
    reducer: TruthReducer,
    input: &Meta,
    axes: &[usize],
    output: &Meta,
) -> Result<Arc<ReduceKernel>> {
    let (kept, reduced) = split(op, input, axes)?;
    check_output(op, output, &kept)?;
    expect_output(op, output.dtype, &[DType::Bool, DType::U8])?;
    if input.dtype.is_complex() || input.dtype.is_storage_only() {
        return Err(Error::UnsupportedDTypeForOp(input.dtype, op));
    }
    let plan = Plan::new(kept, reduced, false);
    let bits = 8 * input.dtype.size_in_bytes();
    // Floats are seen as integers of the same width, in which only the sign may differ from zero in a zero.
    let counting_bits = if input.dtype.is_float() { u64::MAX >> (65 - bits) } else { u64::MAX };
    let inverted = reducer == TruthReducer::All;
    let (math, output) = (AnyOf { counting_bits, inverted }, IntOutput::Byte { turned: inverted.into() });
    Ok(match bits {
        8 => prepare(IntFold::<_, u8, u8>::new(math, output), plan),
        16 => prepare(IntFold::<_, u16, u16>::new(math, output), plan),
        32 => prepare(IntFold::<_, u32, u32>::new(math, output), plan),
        _ => prepare(IntFold::<_, u64, u64>::new(math, output), plan),
    })
}

/// Whether any element is true, or if `inverted` any is false, which tells whether all are true: one type, since loops are compiled for each.
#[derive(Clone, Copy)]
struct AnyOf {
    /// The bits of an element that count.
    counting_bits: u64,
    inverted: bool,
}

impl IntMath for AnyOf {
    #[inline(always)]
    fn identity<T: Int>(self) -> T {
        T::from_i64(0)
    }
    #[inline(always)]
    fn map<T: Int>(self, x: T) -> T {
        let (of_true, of_false) = (T::from_i64((!self.inverted).into()), T::from_i64(self.inverted.into()));
        T::select(x.bit_and(T::from_i64(self.counting_bits as i64)).eq(T::from_i64(0)), of_false, of_true)
    }
    #[inline(always)]
    fn combine<T: Int>(self, a: T, b: T) -> T {
        a.bit_or(b)
    }
}
