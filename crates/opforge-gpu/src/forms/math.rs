//! Mathematical functions of values: those of tile functions, traced.

use opforge_tile::{BinaryFn, Float, UnaryFn, math};

use crate::value::Value;

macro_rules! functions {
    ($($name:ident = $ty:ident, $function:path;)*) => {
        $(#[derive(Clone, Copy)]
        struct $ty;
        impl UnaryFn for $ty {
            #[inline(always)]
            fn float<V: Float>(self, x: V) -> V {
                $function(x)
            }
        }
        /// The function of a float.
        pub(crate) fn $name(x: Value<'_>) -> Value<'_> {
            match opforge_trace::unary($ty, x.dtype(), x.code.target.arithmetic()) {
                Some(expression) => x.code.call(&expression, &[x]),
                None => x,
            }
        })*
    };
}
functions! {
    exp = Exp, math::exp;
    log = Log, math::log;
    log1p = Log1p, math::log_1p;
    sin = Sin, math::sin;
    cos = Cos, math::cos;
    tanh = Tanh, math::tanh;
    sigmoid = Sigmoid, math::sigmoid;
}

#[derive(Clone, Copy)]
struct Pow;

impl BinaryFn for Pow {
    #[inline(always)]
    fn float<V: Float>(self, x: V, y: V) -> V {
        math::pow(x, y)
    }
}

/// A power of a float.
pub(crate) fn pow<'a>(x: Value<'a>, y: Value<'a>) -> Value<'a> {
    match opforge_trace::binary(Pow, x.dtype(), x.code.target.arithmetic()) {
        Some(expression) => x.code.call(&expression, &[x, y]),
        None => x,
    }
}
