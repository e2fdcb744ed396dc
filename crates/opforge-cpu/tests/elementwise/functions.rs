//! Functions that the tests apply.

use super::*;

#[derive(Clone, Copy)]
pub struct Affine {
    pub mul: f64,
    pub add: f64,
}
impl UnaryFn for Affine {
    const INT: bool = true;
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x * V::splat(self.mul) + V::splat(self.add)
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x.wrapping_mul(I::from_i64(self.mul as i64)).wrapping_add(I::from_i64(self.add as i64))
    }
}

#[derive(Clone, Copy)]
pub struct Add;
impl BinaryFn for Add {
    const INT: bool = true;
    const BOOL: bool = true;
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn boolean<M: Mask>(self, a: M, b: M) -> M {
        a | b
    }
}

#[derive(Clone, Copy)]
pub struct Div;
impl BinaryFn for Div {
    const INT: bool = true;
    const INT_FAILURE: Option<(&'static str, &'static str)> = Some(("rhs", "divisors other than 0"));
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a / b
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I {
        a.div_trunc(b)
    }
    #[inline(always)]
    fn int_fails<I: Int>(self, _: I, b: I) -> I::Mask {
        b.eq(I::from_i64(0))
    }
}

#[derive(Clone, Copy)]
pub struct Less;
impl CompareFn for Less {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V::Mask {
        a.lt(b)
    }
    #[inline(always)]
    fn int<I: Int>(self, a: I, b: I) -> I::Mask {
        a.lt(b)
    }
}

#[derive(Clone, Copy)]
pub struct IsNan;
impl TestFn for IsNan {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V::Mask {
        x.is_nan()
    }
    #[inline(always)]
    fn int<I: Int>(self, _: I) -> I::Mask {
        I::truth(false)
    }
}

#[derive(Clone, Copy)]
pub struct Lerp;
impl TernaryFn for Lerp {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V, weight: V) -> V {
        a + weight * (b - a)
    }
}
