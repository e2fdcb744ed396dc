//! Kernels of functions of one element.

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, with_int};
use opforge_runtime::HostKernel;

use super::check_dtypes;
use super::float::{FloatMap, is_long};
use super::kernel::Spec;
use super::scalar::{ScalarMap, ScalarStep};
use super::step::Step;
use opforge_tile::{Float, UnaryFn};

use crate::simd::Integer;

#[derive(Clone, Copy)]
struct OfFloat<F>(F);
#[derive(Clone, Copy)]
struct OfInt<F, I>(F, std::marker::PhantomData<I>);
#[derive(Clone, Copy)]
struct OfBool<F>(F);

impl<F: UnaryFn> FloatMap<1> for OfFloat<F> {
    const LONG: bool = is_long(F::PICOSECONDS);

    #[inline(always)]
    fn map<V: Float>(&self, [x]: [V; 1]) -> V {
        self.0.float(x)
    }
}
impl<F: UnaryFn, I: Integer> ScalarMap<1> for OfInt<F, I> {
    type In = I;
    type Out = I;
    #[inline(always)]
    fn map(&self, [x]: [I; 1]) -> I {
        self.0.int(x)
    }
}
impl<F: UnaryFn> ScalarMap<1> for OfBool<F> {
    type In = u8;
    type Out = u8;
    #[inline(always)]
    fn map(&self, [x]: [u8; 1]) -> u8 {
        self.0.boolean(x != 0).into()
    }
}

/// The kernel of a function of one element; the output has the input's dtype.
///
/// # Errors
/// A dtype that the function does not have; dtypes or shapes that differ; an output that overlaps itself.
pub fn unary<F: UnaryFn>(op: &'static str, f: F, input: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    check_dtypes(op, input.dtype, &[output])?;
    let unsupported = || Err(Error::UnsupportedDTypeForOp(input.dtype, op));
    let step = match input.dtype {
        dtype if dtype.is_float() => Step::float(OfFloat(f), dtype.compute()),
        DType::Bool if F::BOOL => Step::new(ScalarStep(OfBool(f))),
        dtype if F::INT => {
            with_int!(dtype, I => Step::new(ScalarStep(OfInt(f, std::marker::PhantomData::<I>))), _ => return unsupported())
        }
        _ => return unsupported(),
    };
    Spec { op, step, widen: true, ps: F::PICOSECONDS, failure: None }.kernel([input], output)
}
