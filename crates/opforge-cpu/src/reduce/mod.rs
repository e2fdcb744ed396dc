//! Reductions over any axes of inputs of any strides.
//!
//! What is reduced is a [`Reducer`]; this module brings the loops. Blocks of about a thousand elements are combined as a tree of wide
//! nodes, so rounding errors grow with the logarithm of the number of elements, and the chunks that threads share out depend on the shape
//! only, so results do not depend on the number of threads. f16 and bf16 accumulate in f32 and are rounded once.

mod arg;
mod cascade;
mod columns;
mod differences;
mod fold;
mod gather;
mod kernel;
mod logical;
mod moments;
mod plan;
mod rows;

use crate::simd::stored::StoredFloat;
use crate::simd::{Int, Integer};
use fold::{FloatFold, IntFold, IntMath, IntOutput};
use kernel::prepare;
use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use plan::{Plan, check_output, split};
use std::sync::Arc;

pub use arg::arg_reduce;
pub use differences::squares_of_differences;
pub use kernel::{Parts, ReduceKernel};
pub use logical::reduce_truth;
pub(crate) use moments::shrink;
pub use moments::spread;
pub use opforge_tile::{Integers, Reducer, TruthReducer};
pub(crate) use rows::sum_row;

/// Reduces `axes` of the input.
///
/// The output is contiguous with the kept dimensions in order; dimensions of length 1 may stand for the reduced ones. Its dtype is the
/// input's, or i64 where [`Integers::Widen`] applies; of bool, u8 and bool are one. An empty reduction gives the finished identity: for
/// integers that have none, as max has, the caller refuses it.
///
/// # Errors
/// Dtypes that are not supported, an axis out of range, an output of another size.
pub fn reduce<R: Reducer>(
    op: &'static str,
    reducer: R,
    input: &Meta,
    axes: &[usize],
    output: &Meta,
) -> Result<Arc<ReduceKernel>> {
    let (kept, reduced) = split(op, input, axes)?;
    check_output(op, output, &kept)?;
    let plan = Plan::new(kept, reduced, input.dtype.is_float());
    match input.dtype {
        DType::F16 => float::<R, f16>(op, reducer, plan, output.dtype),
        DType::BF16 => float::<R, bf16>(op, reducer, plan, output.dtype),
        DType::F32 => float::<R, f32>(op, reducer, plan, output.dtype),
        DType::F64 => float::<R, f64>(op, reducer, plan, output.dtype),
        DType::Bool => int::<R, u8, _>(op, OfTruth(reducer), plan, input.dtype, output.dtype),
        DType::U8 => int::<R, u8, _>(op, reducer, plan, input.dtype, output.dtype),
        DType::U16 => int::<R, u16, _>(op, reducer, plan, input.dtype, output.dtype),
        DType::U32 => int::<R, u32, _>(op, reducer, plan, input.dtype, output.dtype),
        // Added and multiplied in 64 bits, numbers are the same with a sign and without.
        DType::U64 if const { matches!(R::INTEGERS, Integers::Widen) } => {
            int::<R, i64, _>(op, reducer, plan, input.dtype, output.dtype)
        }
        DType::U64 => int::<R, u64, _>(op, reducer, plan, input.dtype, output.dtype),
        DType::I8 => int::<R, i8, _>(op, reducer, plan, input.dtype, output.dtype),
        DType::I16 => int::<R, i16, _>(op, reducer, plan, input.dtype, output.dtype),
        DType::I32 => int::<R, i32, _>(op, reducer, plan, input.dtype, output.dtype),
        DType::I64 => int::<R, i64, _>(op, reducer, plan, input.dtype, output.dtype),
        DType::F8E4M3 | DType::F8E5M2 | DType::C64 | DType::C128 => Err(Error::UnsupportedDTypeForOp(input.dtype, op)),
    }
}

fn float<R: Reducer, E: StoredFloat>(
    op: &'static str,
    reducer: R,
    plan: Plan,
    output: DType,
) -> Result<Arc<ReduceKernel>> {
    expect_output(op, output, &[E::DTYPE])?;
    Ok(prepare(FloatFold::<R, E>::new(reducer), plan))
}

fn int<R: Reducer, T: Integer, M: IntMath>(
    op: &'static str,
    math: M,
    plan: Plan,
    input: DType,
    output: DType,
) -> Result<Arc<ReduceKernel>> {
    // By constant conditions, so that only the code that can run is compiled.
    if const { matches!(R::INTEGERS, Integers::Same) } {
        let bool_or_u8: &[DType] = &[DType::Bool, DType::U8];
        expect_output(op, output, if bool_or_u8.contains(&input) { bool_or_u8 } else { &[T::DTYPE] })?;
        Ok(prepare(IntFold::<M, T, T>::new(math, IntOutput::Same), plan))
    } else if const { matches!(R::INTEGERS, Integers::Widen) } {
        let own = if input == DType::Bool { T::DTYPE } else { input };
        expect_output(op, output, &[own, DType::I64])?;
        let output = if output == DType::I64 { IntOutput::I64 } else { IntOutput::Same };
        Ok(prepare(IntFold::<M, T, i64>::new(math, output), plan))
    } else {
        Err(Error::UnsupportedDTypeForOp(input, op))
    }
}

/// A reduction of truth values: of bytes, each of which is 1 unless it is 0.
#[derive(Clone, Copy)]
struct OfTruth<R>(R);

impl<R: Reducer> IntMath for OfTruth<R> {
    #[inline(always)]
    fn identity<T: Int>(self) -> T {
        self.0.int_identity()
    }
    #[inline(always)]
    fn map<T: Int>(self, x: T) -> T {
        self.0.int_map(T::select(x.eq(T::from_i64(0)), x, T::from_i64(1)))
    }
    #[inline(always)]
    fn combine<T: Int>(self, a: T, b: T) -> T {
        self.0.int_combine(a, b)
    }
}

fn expect_output(op: &'static str, given: DType, accepted: &[DType]) -> Result<()> {
    if accepted.contains(&given) { Ok(()) } else { Err(Error::dtype(op, "output", given, format!("{accepted:?}"))) }
}
