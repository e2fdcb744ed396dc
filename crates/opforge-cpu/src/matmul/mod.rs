//! Matrix products, by packed blocks and register kernels of our own; small and tall operands are read where they lie. The output is split over threads, never
//! the sum, so results do not depend on the number of threads. `make bench` compares them with candle's and with the machine's ceiling.

mod fold;
mod gemm;
mod gemv;
mod lanes;
mod micro;
pub(crate) mod operand;
mod pack;
mod pairs;
mod prepack;
mod problem;
mod rectangles;
mod small;
mod tall;
#[cfg(target_arch = "x86_64")]
mod tiles;

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::HostKernel;

use crate::matmul::operand::Operand;
pub(crate) use fold::{folded, products};
use gemm::Gemm;
use gemv::Gemv;
pub(crate) use micro::{Ahead, Args, Kernels, Session};
pub(crate) use pack::{Matrix, Packing, pack, pack_strips};
use problem::Problem;
use small::Small;
use tall::Tall;

/// The kernel for `output [.., m, n] = a [.., m, k] b [.., k, n]`.
///
/// Batch dimensions are equal (broadcast ones have stride 0), strides are free, the output is contiguous. `f16` and `bf16` are summed in
/// `f32` and rounded once, or not at all if the output is of `f32`; integers wrap. A product over `k == 0` is zero. Results do not depend on the
/// number of threads.
///
/// # Errors
/// Shape or dtype mismatch; bool and complex numbers.
pub fn matmul(op: &'static str, a: &Meta, b: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    dispatch(op, a.dtype, Problem::matmul(op, a, b, output)?)
}

/// The kernel for `output [.., n] = x [.., k] times the transpose of w [n, k], plus bias [n]`.
///
/// Inputs are `x`, `w` and, if given, `bias`; all else is as for [`matmul`].
///
/// # Errors
/// As [`matmul`].
pub fn linear(op: &'static str, x: &Meta, w: &Meta, bias: Option<&Meta>, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    dispatch(op, x.dtype, Problem::linear(op, x, w, bias, output)?)
}

/// Products of signed integers wrap to the same bits as those of unsigned ones.
fn dispatch(op: &'static str, dtype: DType, problem: Problem) -> Result<Arc<dyn HostKernel>> {
    match dtype {
        DType::U8 | DType::I8 => Ok(prepare::<u8>(problem)),
        DType::U16 | DType::I16 => Ok(prepare::<u16>(problem)),
        DType::U32 | DType::I32 => Ok(prepare::<u32>(problem)),
        DType::U64 | DType::I64 => Ok(prepare::<u64>(problem)),
        DType::F16 => Ok(prepare::<f16>(problem)),
        DType::BF16 => Ok(prepare::<bf16>(problem)),
        DType::F32 => Ok(prepare::<f32>(problem)),
        DType::F64 => Ok(prepare::<f64>(problem)),
        DType::Bool | DType::F8E4M3 | DType::F8E5M2 | DType::C64 | DType::C128 => {
            Err(Error::UnsupportedDTypeForOp(dtype, op))
        }
    }
}

fn prepare<T: Operand>(problem: Problem) -> Arc<dyn HostKernel> {
    let is_folded = !problem.wide && fold::fits::<T>(&problem);
    if problem.batches() * problem.m * problem.n == 0 {
        Arc::new(Nothing)
    } else if problem.m == 1 || problem.n == 1 && !is_folded {
        Arc::new(Gemv::<T>::new(problem))
    } else if problem.wide {
        Arc::new(Gemm::<T>::new(problem))
    } else if problem.n > 1 && small::fits::<T>(&problem) {
        Arc::new(Small::<T>::new(problem))
    } else if is_folded || tall::fits::<T>(&problem) {
        Arc::new(Tall::<T>::new(problem))
    } else {
        Arc::new(Gemm::<T>::new(problem))
    }
}

/// A product without elements.
struct Nothing;

impl HostKernel for Nothing {
    unsafe fn run(&self, _: &[*const u8], _: &[*mut u8]) -> Result<()> {
        Ok(())
    }
    fn cost(&self) -> u64 {
        0
    }
}
