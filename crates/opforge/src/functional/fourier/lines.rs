//! What all transforms are made of: lines along one dimension, cut or padded to a length, and the normalising factors.

use crate::functional as f;
use crate::functional::{complex_dtype, view_as_complex, view_as_real};
use crate::ops::fourier::dft::transformed;
use crate::ops::prelude::*;
use opforge_tile::forms::Spectrum;

/// Which way a transform goes: the sign of the exponent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Forward,
    Back,
}

/// Who divides by the length `n`: the transform back, both by its root, or the transform forward.
#[derive(Clone, Copy)]
pub(super) struct Norm(f64, f64);

impl Norm {
    /// As Python names it.
    pub fn new(op: &'static str, norm: Option<&str>) -> Result<Norm> {
        match norm.unwrap_or("backward") {
            "backward" => Ok(Norm(0.0, -1.0)),
            "ortho" => Ok(Norm(-0.5, -0.5)),
            "forward" => Ok(Norm(-1.0, 0.0)),
            other => Err(Error::value(op, "norm", other, "\"backward\", \"ortho\" or \"forward\"")),
        }
    }

    /// The factor of a transform of `n` numbers.
    fn factor(self, way: Way, n: usize) -> f64 {
        (n as f64).powf(if way == Way::Forward { self.0 } else { self.1 })
    }
}

/// A transform's input: floats or complex numbers with a dimension.
#[track_caller]
pub(super) fn input(op: &'static str, input: &Tensor) -> Result<Tensor> {
    let numbers = floating(input)?.into_owned();
    match numbers.dtype() {
        DType::F32 | DType::F64 | DType::C64 | DType::C128 => Ok(numbers),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

/// The same, of real numbers.
#[track_caller]
pub(super) fn real_input(op: &'static str, x: &Tensor) -> Result<Tensor> {
    ensure(!x.dtype().is_complex(), || Error::dtype(op, "input", x.dtype(), "real numbers"))?;
    input(op, x)
}

/// The same, as complex numbers.
#[track_caller]
pub(super) fn complex_input(op: &'static str, x: &Tensor) -> Result<Tensor> {
    let x = input(op, x)?;
    match complex_dtype(x.dtype()) {
        Some(_) => f::complex(&x, &x.zeros_like()?),
        None => Ok(x),
    }
}

/// A length that is given, or the input's.
pub(super) fn length(op: &'static str, given: Option<i64>, own: usize) -> Result<usize> {
    let length = given.map_or(Some(own), |n| usize::try_from(n).ok());
    let given = || given.map_or(own.to_string(), |n| n.to_string());
    length.filter(|&n| n > 0).ok_or_else(|| Error::value(op, "n", given(), "a length of 1 or more"))
}

/// Cut, or filled with zeros, to a length.
#[track_caller]
pub(super) fn fitted(x: &Tensor, dim: usize, len: usize) -> Result<Tensor> {
    let own = x.dims()[dim];
    if len <= own {
        return x.narrow(dim, 0, len);
    }
    if x.dtype().is_complex() {
        return view_as_complex(&padded(&view_as_real(x)?, dim, len - own)?);
    }
    padded(x, dim, len - own)
}

#[track_caller]
fn padded(x: &Tensor, dim: usize, more: usize) -> Result<Tensor> {
    let mut sides = vec![0; 2 * (x.rank() - dim)];
    *sides.last_mut().expect("two sides or more") = more as i64;
    f::pad(x, &sides, "constant", None)
}

/// From `n` numbers along `dim`, complex ones unless the way is forward, to as many complex ones.
#[track_caller]
pub(super) fn complex(x: &Tensor, dim: usize, n: usize, way: Way, norm: Norm) -> Result<Tensor> {
    let line = last(&fitted(x, dim, n)?, dim)?;
    let (pairs, spectrum) = match way {
        Way::Forward if !x.dtype().is_complex() => (line, Spectrum::OfRealToAll),
        _ => (view_as_real(&line)?, Spectrum::Complex { inverse: way == Way::Back }),
    };
    last(&view_as_complex(&transformed(&pairs, spectrum, norm.factor(way, n))?)?, dim)
}

/// From `n` real numbers along `dim` to the first `n / 2 + 1` of their transform's.
#[track_caller]
pub(super) fn of_real(x: &Tensor, dim: usize, n: usize, way: Way, norm: Norm) -> Result<Tensor> {
    let line = last(&fitted(x, dim, n)?, dim)?;
    let half = last(&view_as_complex(&transformed(&line, Spectrum::OfReal, norm.factor(way, n))?)?, dim)?;
    if way == Way::Back { f::conj(&half) } else { Ok(half) }
}

/// From the first `n / 2 + 1` of `n` complex numbers along `dim` to real ones.
#[track_caller]
pub(super) fn to_real(x: &Tensor, dim: usize, n: usize, way: Way, norm: Norm) -> Result<Tensor> {
    let half = fitted(x, dim, n / 2 + 1)?;
    let half = if way == Way::Forward { f::conj(&half)? } else { half };
    let pairs = view_as_real(&last(&half, dim)?)?;
    last(&transformed(&pairs, Spectrum::ToReal { odd: n % 2 == 1 }, norm.factor(way, n))?, dim)
}

/// The dimension exchanged with the last one.
#[track_caller]
fn last(x: &Tensor, dim: usize) -> Result<Tensor> {
    x.transpose(dim, x.rank() - 1)
}
