//! Kernels of functions of two elements.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, Scalar, with_int};
use opforge_runtime::HostKernel;

use super::check_dtypes;
use super::complex::{ComplexMap, ComplexStep};
use super::float::{FloatMap, is_long, is_short, is_stored};
use super::kernel::Spec;
use super::scalar::{ScalarMap, ScalarStep};
use super::step::Step;
use opforge_tile::{BinaryFn, Float, Number};

use crate::simd::Integer;

#[derive(Clone, Copy)]
struct OfFloat<F>(F);
#[derive(Clone, Copy)]
struct OfInt<F, I>(F, PhantomData<I>);
#[derive(Clone, Copy)]
struct OfBool<F>(F);
#[derive(Clone, Copy)]
struct OfComplex<F>(F);

impl<F: BinaryFn> FloatMap<2> for OfFloat<F> {
    const LONG: bool = is_long(F::PICOSECONDS);
    const SHORT: bool = is_short(F::PICOSECONDS);
    const STORED: bool = is_stored(F::PICOSECONDS);

    #[inline(always)]
    fn map<V: Float>(&self, [a, b]: [V; 2]) -> V {
        self.0.float(a, b)
    }
}
impl<F: BinaryFn, I: Integer> ScalarMap<2> for OfInt<F, I> {
    type In = I;
    type Out = I;
    const CAN_FAIL: bool = F::INT_FAILURE.is_some();
    // Integers of 64 bits are divided one by one, which vectors around them only hinder.
    const AVX2: bool = !is_long(F::PICOSECONDS) || size_of::<I>() < 8;
    #[inline(always)]
    fn map(&self, [a, b]: [I; 2]) -> I {
        self.0.int(a, b)
    }
    #[inline(always)]
    fn fails(&self, [a, b]: [I; 2]) -> bool {
        self.0.int_fails(a, b)
    }
}
impl<F: BinaryFn> ComplexMap<2> for OfComplex<F> {
    #[inline(always)]
    fn map<V: Float>(&self, [a, b]: [[V; 2]; 2]) -> [V; 2] {
        self.0.complex(a, b)
    }
}
impl<F: BinaryFn> ScalarMap<2> for OfBool<F> {
    type In = u8;
    type Out = u8;
    #[inline(always)]
    fn map(&self, [a, b]: [u8; 2]) -> u8 {
        self.0.boolean(a != 0, b != 0).into()
    }
}

/// The kernel of a function of two elements; all three dtypes are equal.
///
/// # Errors
/// A dtype that the function does not have; dtypes or shapes that differ; an output that overlaps itself. Running fails where
/// [`BinaryFn::int_fails`].
pub fn binary<F: BinaryFn>(op: &'static str, f: F, a: &Meta, b: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    check_dtypes(op, a.dtype, &[b, output])?;
    let unsupported = || Err(Error::UnsupportedDTypeForOp(a.dtype, op));
    let (step, widen) = match a.dtype {
        dtype if dtype.is_float() => {
            if !F::FLOAT {
                return unsupported();
            }
            Step::of_floats(OfFloat(f), dtype)
        }
        dtype if dtype.is_complex() => match of_complex(f, dtype) {
            Some(step) => (step, false),
            None => return unsupported(),
        },
        DType::Bool if F::BOOL => (Step::new(ScalarStep(OfBool(f))), false),
        dtype if F::INT => {
            with_int!(dtype, I => (Step::new(ScalarStep(OfInt(f, PhantomData::<I>))), false), _ => return unsupported())
        }
        _ => return unsupported(),
    };
    Spec { op, step, widen, ps: F::PICOSECONDS, failure: F::INT_FAILURE }.kernel([a, b], output)
}

/// A function of two elements, of which the first (`LEFT`) or the second is a number.
#[derive(Clone, Copy)]
struct OfNumber<F, const LEFT: bool> {
    f: F,
    number: Number,
}

impl<F: BinaryFn, const LEFT: bool> FloatMap<1> for OfNumber<F, LEFT> {
    const LONG: bool = is_long(F::PICOSECONDS);
    const SHORT: bool = is_short(F::PICOSECONDS);
    const STORED: bool = is_stored(F::PICOSECONDS);

    #[inline(always)]
    fn map<V: Float>(&self, [x]: [V; 1]) -> V {
        let number = V::splat(self.number.to_f64());
        if LEFT { self.f.float(number, x) } else { self.f.float(x, number) }
    }
}

/// The kernel of a function of an element of f16 or bf16 and a number of f32, which is operand `position`, 0 or 1.
///
/// # Errors
/// As [`binary()`]; for a function without [`BinaryFn::WIDE_NUMBERS`].
pub fn binary_of_number<F: BinaryFn>(
    op: &'static str,
    f: F,
    number: Scalar,
    position: usize,
    input: &Meta,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    check_dtypes(op, input.dtype, &[output])?;
    // A constant condition, so that only the code that can run is compiled.
    if const { F::WIDE_NUMBERS } && matches!(input.dtype, DType::F16 | DType::BF16) {
        let number = Number::from(number);
        let (step, widen) = match position {
            0 => Step::of_floats(OfNumber::<F, true> { f, number }, input.dtype),
            _ => Step::of_floats(OfNumber::<F, false> { f, number }, input.dtype),
        };
        return Spec { op, step, widen, ps: F::PICOSECONDS, failure: None }.kernel([input], output);
    }
    Err(Error::UnsupportedDTypeForOp(input.dtype, op))
}

/// The step of complex numbers, for functions that have them.
fn of_complex<F: BinaryFn>(f: F, dtype: DType) -> Option<Step<2>> {
    // A constant condition, so that only the code that can run is compiled.
    if const { F::COMPLEX } {
        return Some(match dtype {
            DType::C64 => Step::new(ComplexStep(OfComplex(f), PhantomData::<f32>)),
            _ => Step::new(ComplexStep(OfComplex(f), PhantomData::<f64>)),
        });
    }
    None
}
