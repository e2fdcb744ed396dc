//! Elementwise predicates, whose results are truth values.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, with_int};
use opforge_runtime::HostKernel;

use super::float::FloatTest;
use super::kernel::Spec;
use super::scalar::{ScalarMap, ScalarStep};
use super::step::Step;
use super::{check_dtypes, check_truth};
use opforge_tile::{CompareFn, Float, TestFn};

use crate::simd::Integer;

const PICOSECONDS: usize = 100;

#[derive(Clone, Copy)]
struct OfFloat<F>(F);
#[derive(Clone, Copy)]
struct OfInt<F, I>(F, PhantomData<I>);

impl<F: CompareFn> FloatTest<2> for OfFloat<F> {
    #[inline(always)]
    fn test<V: Float>(&self, [a, b]: [V; 2]) -> V::Mask {
        self.0.float(a, b)
    }
}
impl<F: CompareFn, I: Integer> ScalarMap<2> for OfInt<F, I> {
    type In = I;
    type Out = u8;
    #[inline(always)]
    fn map(&self, [a, b]: [I; 2]) -> u8 {
        self.0.int(a, b).into()
    }
}
impl<F: TestFn> FloatTest<1> for OfFloat<F> {
    #[inline(always)]
    fn test<V: Float>(&self, [x]: [V; 1]) -> V::Mask {
        self.0.float(x)
    }
}
impl<F: TestFn, I: Integer> ScalarMap<1> for OfInt<F, I> {
    type In = I;
    type Out = u8;
    #[inline(always)]
    fn map(&self, [x]: [I; 1]) -> u8 {
        self.0.int(x).into()
    }
}

/// A predicate of truth values: of bytes, each of which is true unless it is 0.
#[derive(Clone, Copy)]
struct OfTruth<F>(F);

impl<F: CompareFn> ScalarMap<2> for OfTruth<F> {
    type In = u8;
    type Out = u8;
    #[inline(always)]
    fn map(&self, [a, b]: [u8; 2]) -> u8 {
        self.0.int(u8::from(a != 0), u8::from(b != 0)).into()
    }
}
impl<F: TestFn> ScalarMap<1> for OfTruth<F> {
    type In = u8;
    type Out = u8;
    #[inline(always)]
    fn map(&self, [x]: [u8; 1]) -> u8 {
        self.0.int(u8::from(x != 0)).into()
    }
}

/// The kernel of a predicate of two elements of one dtype; the output is bool or u8, with values 0 and 1.
///
/// # Errors
/// Complex inputs; another output dtype; input dtypes or shapes that differ; an output that overlaps itself.
pub fn compare<F: CompareFn>(op: &'static str, f: F, a: &Meta, b: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    check_dtypes(op, a.dtype, &[b])?;
    check_truth(op, output)?;
    let step = match a.dtype {
        dtype if dtype.is_float() => Step::<2>::test(OfFloat(f), dtype.compute()),
        DType::Bool => Step::<2>::new(ScalarStep(OfTruth(f))),
        dtype => with_int!(dtype, I => Step::<2>::new(ScalarStep(OfInt(f, PhantomData::<I>))),
            _ => return Err(Error::UnsupportedDTypeForOp(dtype, op))),
    };
    Spec { op, step, widen: true, ps: PICOSECONDS, failure: None }.kernel([a, b], output)
}

/// The kernel of a predicate of one element; the output is bool or u8, with values 0 and 1.
///
/// # Errors
/// A complex input; another output dtype; shapes that differ; an output that overlaps itself.
pub fn test<F: TestFn>(op: &'static str, f: F, input: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    check_truth(op, output)?;
    let step = match input.dtype {
        dtype if dtype.is_float() => Step::<1>::test(OfFloat(f), dtype.compute()),
        DType::Bool => Step::<1>::new(ScalarStep(OfTruth(f))),
        dtype => with_int!(dtype, I => Step::<1>::new(ScalarStep(OfInt(f, PhantomData::<I>))),
            _ => return Err(Error::UnsupportedDTypeForOp(dtype, op))),
    };
    Spec { op, step, widen: true, ps: PICOSECONDS, failure: None }.kernel([input], output)
}
