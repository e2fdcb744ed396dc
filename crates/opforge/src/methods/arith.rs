//! `+ - * /` on tensors, references, numbers and results of the same: all give a `Result`.

use std::ops::{Add, Div, Mul, Sub};

use crate::Result;
use crate::Tensor;

macro_rules! operator {
    ($trait:ident, $method:ident, $tensor_scalar:expr, $scalar_tensor:expr) => {
        impl<B: std::borrow::Borrow<Tensor>> $trait<B> for Tensor {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, rhs: B) -> Self::Output {
                Tensor::$method(&self, rhs.borrow())
            }
        }
        impl<B: std::borrow::Borrow<Tensor>> $trait<B> for &Tensor {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, rhs: B) -> Self::Output {
                Tensor::$method(self, rhs.borrow())
            }
        }
        impl<B: std::borrow::Borrow<Tensor>> $trait<Tensor> for Result<B> {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, rhs: Tensor) -> Self::Output {
                Tensor::$method(self?.borrow(), &rhs)
            }
        }
        impl<B: std::borrow::Borrow<Tensor>> $trait<&Tensor> for Result<B> {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, rhs: &Tensor) -> Self::Output {
                Tensor::$method(self?.borrow(), rhs)
            }
        }
        impl<B: std::borrow::Borrow<Tensor>> $trait<Result<B>> for Tensor {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, rhs: Result<B>) -> Self::Output {
                Tensor::$method(&self, rhs?.borrow())
            }
        }
        impl<B: std::borrow::Borrow<Tensor>> $trait<Result<B>> for &Tensor {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, rhs: Result<B>) -> Self::Output {
                Tensor::$method(self, rhs?.borrow())
            }
        }
        impl $trait<f64> for Tensor {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, rhs: f64) -> Self::Output {
                $tensor_scalar(&self, rhs)
            }
        }
        impl $trait<f64> for &Tensor {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, rhs: f64) -> Self::Output {
                $tensor_scalar(self, rhs)
            }
        }
        impl $trait<Tensor> for f64 {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, rhs: Tensor) -> Self::Output {
                $scalar_tensor(self, &rhs)
            }
        }
        impl $trait<&Tensor> for f64 {
            type Output = Result<Tensor>;
            #[track_caller]
            fn $method(self, rhs: &Tensor) -> Self::Output {
                $scalar_tensor(self, rhs)
            }
        }
    };
}

operator!(Add, add, |t: &Tensor, s| t.affine(1.0, s), |s, t: &Tensor| t.affine(1.0, s));
operator!(Sub, sub, |t: &Tensor, s: f64| t.affine(1.0, -s), |s, t: &Tensor| t.affine(-1.0, s));
operator!(Mul, mul, |t: &Tensor, s| t.affine(s, 0.0), |s, t: &Tensor| t.affine(s, 0.0));
operator!(Div, div, |t: &Tensor, s: f64| t.affine(1.0 / s, 0.0), |s, t: &Tensor| t.recip()?.affine(s, 0.0));
