use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::Kernel;

use super::float::FloatMap;
use super::kernel::Spec;
use super::scalar::{ScalarMap, ScalarStep};
use super::step::{Step, compute_dtype};
use super::{check_dtypes, with_int};
use crate::simd::{Float, Int};

/// A function of two elements.
pub trait BinaryFn: Copy + Send + Sync + 'static {
    /// Whether floats have the function; then [`float`](BinaryFn::float) must be implemented.
    const FLOAT: bool = true;
    /// Whether integers have the function; then [`int`](BinaryFn::int) must be implemented.
    const INT: bool = false;
    /// Whether truth values have the function; then [`boolean`](BinaryFn::boolean) must be implemented.
    const BOOL: bool = false;
    /// For functions that some integers have no result of: the argument at fault and what it accepts, such as
    /// `("rhs", "divisors other than 0")`. The kernel fails when [`int_fails`](BinaryFn::int_fails) is true of any element.
    const INT_FAILURE: Option<(&'static str, &'static str)> = None;
    /// Roughly the picoseconds an element takes on one core, in the cache.
    const PICOSECONDS: usize = 100;

    /// The function of floats.
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        const { assert!(!Self::FLOAT, "FLOAT demands an implementation of `float`") };
        let _ = b;
        a
    }
    /// The function of integers. Called for every element, also where [`int_fails`](BinaryFn::int_fails).
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        const { assert!(!Self::INT, "INT demands an implementation of `int`") };
        let _ = b;
        a
    }
    /// Whether the function has no result for these integers.
    #[inline(always)]
    fn int_fails<I: Int>(self, a: I, b: I) -> bool {
        const { assert!(Self::INT_FAILURE.is_none(), "INT_FAILURE demands an implementation of `int_fails`") };
        let _ = (a, b);
        false
    }
    /// The function of truth values.
    #[inline(always)]
    fn boolean(self, a: bool, b: bool) -> bool {
        assert!(!Self::BOOL, "BOOL demands an implementation of `boolean`");
        a && b
    }
}

struct OfFloat<F>(F);
struct OfInt<F, I>(F, PhantomData<I>);
struct OfBool<F>(F);

impl<F: BinaryFn> FloatMap<2> for OfFloat<F> {
    #[inline(always)]
    fn map<V: Float>(&self, [a, b]: [V; 2]) -> V {
        self.0.float(a, b)
    }
}
impl<F: BinaryFn, I: Int> ScalarMap<2> for OfInt<F, I> {
    type In = I;
    type Out = I;
    const CAN_FAIL: bool = F::INT_FAILURE.is_some();
    #[inline(always)]
    fn map(&self, [a, b]: [I; 2]) -> I {
        self.0.int(a, b)
    }
    #[inline(always)]
    fn fails(&self, [a, b]: [I; 2]) -> bool {
        self.0.int_fails(a, b)
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
pub fn binary<F: BinaryFn>(op: &'static str, f: F, a: &Meta, b: &Meta, output: &Meta) -> Result<Arc<dyn Kernel>> {
    check_dtypes(op, a.dtype, &[b, output])?;
    let unsupported = || Err(Error::UnsupportedDTypeForOp(a.dtype, op));
    let step = match a.dtype {
        dtype if dtype.is_float() => {
            if !F::FLOAT {
                return unsupported();
            }
            Step::float(OfFloat(f), compute_dtype(dtype))
        }
        DType::Bool if F::BOOL => Step::new(ScalarStep(OfBool(f))),
        dtype if F::INT => {
            with_int!(dtype, I => Step::new(ScalarStep(OfInt(f, PhantomData::<I>))), _ => return unsupported())
        }
        _ => return unsupported(),
    };
    Spec { op, step, widen: true, ps: F::PICOSECONDS, failure: F::INT_FAILURE }.kernel([a, b], output)
}
