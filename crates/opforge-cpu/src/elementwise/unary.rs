//! Kernels of functions of one element.

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, with_int};
use opforge_runtime::HostKernel;

use super::check_dtypes;
use super::float::{FloatMap, is_long, is_short, is_stored};
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

/// A function of the sign alone, of the bits of f16 or bf16.
#[derive(Clone, Copy)]
struct OfSign {
    keep: u16,
    flip: u16,
}

impl OfSign {
    fn new(is_negative: fn(bool) -> bool) -> Self {
        const SIGN: u16 = 1 << 15;
        let [of_positive, of_negative] = [false, true].map(is_negative);
        OfSign { keep: if of_positive == of_negative { !SIGN } else { !0 }, flip: if of_positive { SIGN } else { 0 } }
    }
}

impl ScalarMap<1> for OfSign {
    type In = u16;
    type Out = u16;
    #[inline(always)]
    fn map(&self, [x]: [u16; 1]) -> u16 {
        x & self.keep ^ self.flip
    }
}

impl<F: UnaryFn> FloatMap<1> for OfFloat<F> {
    const LONG: bool = is_long(F::PICOSECONDS);
    const SHORT: bool = is_short(F::PICOSECONDS);
    const STORED: bool = is_stored(F::PICOSECONDS);

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
    let of_sign = F::SIGN.filter(|_| matches!(input.dtype, DType::F16 | DType::BF16));
    if let Some(is_negative) = of_sign {
        let step = Step::new(ScalarStep(OfSign::new(is_negative)));
        return Spec { op, step, widen: false, ps: F::PICOSECONDS, failure: None }.kernel([input], output);
    }
    let (step, widen) = match input.dtype {
        dtype if dtype.is_float() => Step::of_floats(OfFloat(f), dtype),
        DType::Bool if F::BOOL => (Step::new(ScalarStep(OfBool(f))), false),
        dtype if F::INT => {
            with_int!(dtype, I => (Step::new(ScalarStep(OfInt(f, std::marker::PhantomData::<I>))), false), _ => return unsupported())
        }
        _ => return unsupported(),
    };
    Spec { op, step, widen, ps: F::PICOSECONDS, failure: None }.kernel([input], output)
}
