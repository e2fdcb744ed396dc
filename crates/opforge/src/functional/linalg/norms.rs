//! Norms of vectors and matrices.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use crate::family::matrix::real_dtype;
use crate::functional as f;
use crate::ops::prelude::*;
use crate::ops::reduce::amax::TotalExtremum;

functions! {
    norm, norm_named, vector_norm, matrix_norm_of, matrix_norm, linalg_norm, linalg_norm_named, dist, renorm,
}

/// The `p`-norm over dimensions, all of them without `dim`: see [`vector_norm`]. Without `p`, of 2.
///
/// # Errors
/// For a dimension out of range.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, -4.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::norm(&x, Some(1.0), None, false, None)?.to_scalar::<f32>()?, 7.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(p = None, dim = None, keepdim = false, dtype = None)]
pub fn norm(
    input: &Tensor,
    p: Option<f64>,
    dim: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    vector_norm(input, p.unwrap_or(2.0), dim, keepdim, dtype)
}

/// The norm of this name: `"fro"`, the square root of the sum of squares, or `"nuc"`, the sum of a matrix's singular values.
///
/// # Errors
/// For another name, and a dimension out of range.
#[function(p = "fro", dim = None, keepdim = false, dtype = None)]
#[python(torch, method, name = "norm")]
pub fn norm_named(input: &Tensor, p: &str, dim: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    match p {
        "fro" => vector_norm(input, 2.0, dim, keepdim, dtype),
        "nuc" => matrix_norm(input, "nuc", dim.unwrap_or(&[-2, -1]), keepdim, dtype),
        other => Err(Error::value(OP, "p", other, "a number, \"fro\" or \"nuc\"")),
    }
}

/// `(sum |x|^ord)^(1/ord)` over dimensions, all of them without `dim`; of infinity the greatest magnitude, of minus infinity the least, of 0
/// the number of elements that are not 0.
///
/// # Errors
/// For a dimension out of range.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, -4.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::vector_norm(&x, 2.0, None, false, None)?.to_scalar::<f32>()?, 5.0);
/// assert_eq!(opforge::functional::vector_norm(&x, f64::INFINITY, None, false, None)?.to_scalar::<f32>()?, 4.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(ord = 2.0, dim = None, keepdim = false, *, dtype = None)]
#[python(linalg)]
pub fn vector_norm(x: &Tensor, ord: f64, dim: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let x = floating(x)?;
    let x = x.to_dtype(dtype.unwrap_or(x.dtype()))?;
    match ord {
        2.0 => f::norm2(&x, dim, keepdim),
        1.0 => f::sum(&x.abs()?, dim, keepdim, None),
        0.0 => {
            let count = f::ne((&x).into(), 0.0.into())?.to_dtype(real_dtype(x.dtype()))?;
            let count = f::sum(&count, dim, keepdim, None)?;
            f::constant_in(count, &[&x])
        }
        f64::INFINITY => reduce_over(TotalExtremum::<true>, &magnitudes(&x)?, dim, keepdim),
        f64::NEG_INFINITY => reduce_over(TotalExtremum::<false>, &magnitudes(&x)?, dim, keepdim),
        _ => {
            // Powers overflow half precision before their root would.
            let is_half = matches!(x.dtype(), DType::F16 | DType::BF16);
            let wide = if is_half { x.to_dtype(DType::F32)? } else { x.clone() };
            let sum = f::sum(&power(&wide.abs()?, ord)?, dim, keepdim, None)?;
            power(&sum, 1.0 / ord)?.to_dtype(real_dtype(x.dtype()))
        }
    }
}

/// Magnitudes, of which one that is NaN has a gradient of 0.
#[track_caller]
fn magnitudes(x: &Tensor) -> Result<Tensor> {
    if x.requires_grad() { f::where_cond(&f::isnan(x)?, f64::NAN.into(), x.into())?.abs() } else { x.abs() }
}

/// Powers of numbers that are not negative. Zeros have a gradient of 0: that of a power there may be infinite.
#[track_caller]
pub(super) fn power(x: &Tensor, exponent: f64) -> Result<Tensor> {
    let is_zero = f::eq(x.into(), 0.0.into())?;
    let powers = f::where_cond(&is_zero, 1.0.into(), x.into())?.powf(exponent)?;
    f::where_cond(&is_zero, 0f64.powf(exponent).into(), (&powers).into())
}

/// The norm of the matrices that two dimensions hold: of 1 the greatest sum of a column's magnitudes, of infinity that of a row's, of -1 and
/// minus infinity the least; of 2 the greatest singular value, of -2 the least. The greatest of none is 0.
///
/// # Errors
/// For another order, dimensions that are not two different ones, and the least of none.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, -2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::matrix_norm_of(&x, 1.0, &[-2, -1], false, None)?.to_scalar::<f32>()?, 6.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = &[-2, -1], keepdim = false, *, dtype = None)]
#[python(linalg, name = "matrix_norm")]
pub fn matrix_norm_of(A: &Tensor, ord: f64, dim: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let x = matrices(A, dim, dtype)?;
    if ord.abs() == 2.0 {
        return of_singular_values(&x, dim, keepdim, |s| {
            if ord > 0.0 { greatest(s, s.rank() - 1, false) } else { f::amin(s, Some(&[-1]), false) }
        });
    }
    let place = |d: i64| normalize_dim(d, x.rank(), OP);
    let (rows, columns) = (place(dim[0])?, place(dim[1])?);
    let (summed, chosen) = if ord.abs() == 1.0 { (rows, columns) } else { (columns, rows) };
    let sums = f::sum(&x.abs()?, Some(&[summed as i64]), true, None)?;
    let extreme = match ord {
        1.0 | f64::INFINITY => greatest(&sums, chosen, true)?,
        -1.0 | f64::NEG_INFINITY => f::amin(&sums, Some(&[chosen as i64]), true)?,
        other => return Err(Error::value(OP, "ord", other, "\"fro\", \"nuc\", 1, -1, 2, -2, inf or -inf")),
    };
    if keepdim { Ok(extreme) } else { extreme.reshape(Axes::of(&[rows, columns]).reduced(x.shape(), false)) }
}

/// The norm of this name of the matrices that two dimensions hold: `"fro"`, the square root of the sum of squares, or `"nuc"`, the sum of
/// singular values.
///
/// # Errors
/// For another name, and dimensions that are not two different ones.
#[function(ord = "fro", dim = &[-2, -1], keepdim = false, *, dtype = None)]
#[python(linalg)]
pub fn matrix_norm(A: &Tensor, ord: &str, dim: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    match ord {
        "fro" => f::norm2(&matrices(A, dim, dtype)?, Some(dim), keepdim),
        "nuc" => of_singular_values(&matrices(A, dim, dtype)?, dim, keepdim, |s| f::sum(s, Some(&[-1]), false, None)),
        other => Err(Error::value(OP, "ord", other, "\"fro\", \"nuc\" or a number")),
    }
}

/// The norm of vectors or matrices: without `ord`, the square root of the sum of squares over `dim`; with it, of matrices if `dim` is two
/// dimensions, or none is given and the tensor has two, else of vectors.
///
/// # Errors
/// As [`vector_norm`] and [`matrix_norm_of`].
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, -4.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::linalg_norm(&x, None, None, false, None)?.to_scalar::<f32>()?, 5.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(ord = None, dim = None, keepdim = false, *, dtype = None)]
#[python(linalg, name = "norm")]
pub fn linalg_norm(
    A: &Tensor,
    ord: Option<f64>,
    dim: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    match (ord, dim) {
        (Some(ord), Some(dim)) if dim.len() == 2 => matrix_norm_of(A, ord, dim, keepdim, dtype),
        (Some(ord), None) if A.rank() == 2 => matrix_norm_of(A, ord, &[-2, -1], keepdim, dtype),
        (ord, dim) => vector_norm(A, ord.unwrap_or(2.0), dim, keepdim, dtype),
    }
}

/// The norm of this name of matrices, in the last dimensions unless `dim` says which: see [`matrix_norm`].
///
/// # Errors
/// As [`matrix_norm`].
#[function(dim = None, keepdim = false, *, dtype = None)]
#[python(linalg, name = "norm")]
pub fn linalg_norm_named(
    A: &Tensor,
    ord: &str,
    dim: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    matrix_norm(A, ord, dim.unwrap_or(&[-2, -1]), keepdim, dtype)
}

/// The `p`-norm of the difference of two tensors.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (a, b) = (Tensor::new(&[3f32, 4.0], &Device::Cpu)?, Tensor::new(&[0f32, 0.0], &Device::Cpu)?);
/// assert_eq!(opforge::functional::dist(&a, &b, 2.0)?.to_scalar::<f32>()?, 5.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(p = 2.0)]
pub fn dist(input: &Tensor, other: &Tensor, p: f64) -> Result<Tensor> {
    vector_norm(&f::sub(input.into(), other.into(), Scalar::Int(1))?, p, None, false, None)
}

/// The slices along `dim`, those whose `p`-norm is above `maxnorm` scaled down to it.
///
/// # Errors
/// For fewer than two dimensions, a `p` that is not positive and a negative `maxnorm`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 1.0], [6.0, 2.0]], &Device::Cpu)?;
/// let y = opforge::functional::renorm(&x, 1.0, 0, 4.0)?.to_vec2::<f32>()?;
/// assert!(y[0] == [1.0, 1.0] && (y[1][0] - 3.0).abs() < 1e-5 && (y[1][1] - 1.0).abs() < 1e-5);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, method, in_place)]
pub fn renorm(input: &Tensor, p: f64, dim: i64, maxnorm: f64) -> Result<Tensor> {
    ensure(input.rank() >= 2, || wrong_shape(OP, "input", input.shape(), "at least two dimensions"))?;
    if !(p > 0.0 && maxnorm >= 0.0) {
        return Err(Error::value(OP, "p, maxnorm", format!("{p}, {maxnorm}"), "p above 0 and maxnorm of 0 or more"));
    }
    let axis = f::existing_dim(OP, input, dim)? as i64;
    let others: Vec<i64> = (0..input.rank() as i64).filter(|&d| d != axis).collect();
    let dtype = input.dtype();
    let input = &if is_half(dtype) { input.to_dtype(DType::F32)? } else { input.clone() };
    let norm = vector_norm(input, p, Some(&others), true, None)?;
    // As PyTorch has it, a little less than the quotient.
    let scaled = norm.affine(1.0, 1e-7)?.recip()?.affine(maxnorm, 0.0)?;
    let factor = f::where_cond(&f::gt((&norm).into(), maxnorm.into())?, (&scaled).into(), 1.0.into())?;
    f::mul(input.into(), (&factor).into())?.to_dtype(dtype)
}

/// The greatest of numbers that are not negative along a dimension: of none it is 0.
#[track_caller]
fn greatest(x: &Tensor, dim: usize, keepdim: bool) -> Result<Tensor> {
    let along = Some(&[dim as i64][..]);
    if x.dims()[dim] == 0 { f::sum(x, along, keepdim, None) } else { f::amax(x, along, keepdim) }
}

/// What a function makes of the singular values of the matrices in two dimensions.
#[track_caller]
fn of_singular_values(
    x: &Tensor,
    dim: &[i64],
    keepdim: bool,
    reduce: impl Fn(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let reduced = reduce(&f::svdvals(&f::movedim(x, dim, &[-2, -1])?)?)?;
    if !keepdim {
        return Ok(reduced);
    }
    let place = |d: i64| normalize_dim(d, x.rank(), "matrix_norm");
    reduced.reshape(Axes::of(&[place(dim[0])?, place(dim[1])?]).reduced(x.shape(), true))
}

/// The tensor in floating point, checked to have matrices in two dimensions.
#[track_caller]
fn matrices(x: &Tensor, dim: &[i64], dtype: Option<DType>) -> Result<Tensor> {
    ensure(dim.len() == 2, || Error::value("matrix_norm", "dim", format!("{dim:?}"), "two dimensions"))?;
    ensure(x.rank() >= 2, || wrong_shape("matrix_norm", "A", x.shape(), "at least two dimensions"))?;
    f::reduce_dims("matrix_norm", x, Some(dim))?;
    let x = floating(x)?;
    x.to_dtype(dtype.unwrap_or(x.dtype()))
}
