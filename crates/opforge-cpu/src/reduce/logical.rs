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
pub fn reduce_truth<R: TruthReducer>(
    op: &'static str,
    reducer: R,
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
    let plan = Plan::new(kept, reduced);
    let bits = 8 * input.dtype.size_in_bytes();
    // Floats are seen as integers of the same width, in which only the sign may differ from zero in a zero.
    let counting_bits = if input.dtype.is_float() { u64::MAX >> (65 - bits) } else { u64::MAX };
    let math = TruthMath { reducer, counting_bits };
    Ok(match bits {
        8 => prepare(IntFold::<_, u8, u8>::new(math, IntOutput::Byte), plan),
        16 => prepare(IntFold::<_, u16, u16>::new(math, IntOutput::Byte), plan),
        32 => prepare(IntFold::<_, u32, u32>::new(math, IntOutput::Byte), plan),
        _ => prepare(IntFold::<_, u64, u64>::new(math, IntOutput::Byte), plan),
    })
}

/// A truth reducer over integers of which some bits count.
#[derive(Clone, Copy)]
struct TruthMath<R> {
    reducer: R,
    counting_bits: u64,
}

impl<R: TruthReducer> IntMath for TruthMath<R> {
    #[inline(always)]
    fn identity<T: Int>(self) -> T {
        T::from_i64(R::IDENTITY.into())
    }
    #[inline(always)]
    fn map<T: Int>(self, x: T) -> T {
        let (zero, counts) = (T::from_i64(0), x.bit_and(T::from_i64(self.counting_bits as i64)));
        T::select(counts.eq(zero), zero, T::from_i64(1))
    }
    #[inline(always)]
    fn combine<T: Int>(self, a: T, b: T) -> T {
        self.reducer.combine(a, b)
    }
}
