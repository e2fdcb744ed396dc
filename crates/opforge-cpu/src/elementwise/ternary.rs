//! Kernels of functions of three elements.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{Error, Meta, Result, with_int};
use opforge_runtime::HostKernel;

use super::check_dtypes;
use super::float::{FloatMap, is_long, is_short, is_stored};
use super::kernel::Spec;
use super::scalar::{ScalarMap, ScalarStep};
use super::step::Step;
use opforge_tile::{Float, TernaryFn};

use crate::simd::Integer;

#[derive(Clone, Copy)]
struct OfFloat<F>(F);
#[derive(Clone, Copy)]
struct OfInt<F, I>(F, PhantomData<I>);

impl<F: TernaryFn> FloatMap<3> for OfFloat<F> {
    const LONG: bool = is_long(F::PICOSECONDS);
    const SHORT: bool = is_short(F::PICOSECONDS);
    const STORED: bool = is_stored(F::PICOSECONDS);

    #[inline(always)]
    fn map<V: Float>(&self, [a, b, c]: [V; 3]) -> V {
        self.0.float(a, b, c)
    }
}
impl<F: TernaryFn, I: Integer> ScalarMap<3> for OfInt<F, I> {
    type In = I;
    type Out = I;
    #[inline(always)]
    fn map(&self, [a, b, c]: [I; 3]) -> I {
        self.0.int(a, b, c)
    }
}

/// The kernel of a function of three elements; all four dtypes are equal.
///
/// # Errors
/// A dtype that the function does not have; dtypes or shapes that differ; an output that overlaps itself.
pub fn ternary<F: TernaryFn>(
    op: &'static str,
    f: F,
    [a, b, c]: [&Meta; 3],
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    check_dtypes(op, a.dtype, &[b, c, output])?;
    let unsupported = || Err(Error::UnsupportedDTypeForOp(a.dtype, op));
    let (step, widen) = match a.dtype {
        dtype if dtype.is_float() => Step::of_floats(OfFloat(f), dtype),
        dtype if F::INT => {
            with_int!(dtype, I => (Step::new(ScalarStep(OfInt(f, PhantomData::<I>))), false), _ => return unsupported())
        }
        _ => return unsupported(),
    };
    Spec { op, step, widen, ps: F::PICOSECONDS, failure: None }.kernel([a, b, c], output)
}
