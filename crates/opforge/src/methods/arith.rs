//! `+ - * /` on tensors, references, numbers and results of the same: all give a `Result`.

use std::borrow::Borrow;
use std::ops::{Add, Div, Mul, Sub};

use crate::Result;
use crate::Tensor;

/// One implementation of an operator: what `$left` and `$right`, called `$a` and `$b`, give.
macro_rules! implement {
    ($trait:ident $method:ident [$($generic:ident)?] |$a:ident: $left:ty, $b:ident: $right:ty| $result:expr) => {
        impl$(<$generic: Borrow<Tensor>>)? $trait<$right> for $left {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, $b: $right) -> Self::Output {
                let $a = self;
                $result
            }
        }
    };
}

/// An operator on all pairs of operands, by the method of its name and by what a number on either side does.
macro_rules! operator {
    ($trait:ident, $method:ident, $tensor_scalar:expr, $scalar_tensor:expr) => {
        implement!($trait $method [B] |a: Tensor, b: B| Tensor::$method(&a, b.borrow()));
        implement!($trait $method [B] |a: &Tensor, b: B| Tensor::$method(a, b.borrow()));
        implement!($trait $method [B] |a: Result<B>, b: Tensor| Tensor::$method(a?.borrow(), &b));
        implement!($trait $method [B] |a: Result<B>, b: &Tensor| Tensor::$method(a?.borrow(), b));
        implement!($trait $method [B] |a: Tensor, b: Result<B>| Tensor::$method(&a, b?.borrow()));
        implement!($trait $method [B] |a: &Tensor, b: Result<B>| Tensor::$method(a, b?.borrow()));
        implement!($trait $method [] |a: Tensor, b: f64| $tensor_scalar(&a, b));
        implement!($trait $method [] |a: &Tensor, b: f64| $tensor_scalar(a, b));
        implement!($trait $method [] |a: f64, b: Tensor| $scalar_tensor(a, &b));
        implement!($trait $method [] |a: f64, b: &Tensor| $scalar_tensor(a, b));
    };
}

operator!(Add, add, |t: &Tensor, s| t.affine(1.0, s), |s, t: &Tensor| t.affine(1.0, s));
operator!(Sub, sub, |t: &Tensor, s: f64| t.affine(1.0, -s), |s, t: &Tensor| t.affine(-1.0, s));
operator!(Mul, mul, |t: &Tensor, s| t.affine(s, 0.0), |s, t: &Tensor| t.affine(s, 0.0));
operator!(Div, div, |t: &Tensor, s: f64| t.affine(1.0 / s, 0.0), |s, t: &Tensor| t.recip()?.affine(s, 0.0));
