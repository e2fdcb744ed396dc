//! Elements by their rank: medians, quantiles, the most frequent.

use opforge_core::normalize_dim;

use super::extrema::along;
use crate::functional as f;
use crate::operator::prelude::*;

functions! {
    /// The median of all elements, the lower one of two; NaN if any is NaN.
    ///
    /// # Errors
    /// When there are none.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[4f32, 1.0, 3.0, 2.0], &Device::Cpu)?;
    /// assert_eq!(opforge::functional::median(&x)?.to_scalar::<f32>()?, 2.0);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn median(input: &Tensor) -> Result<Tensor> {
        Ok(median_dim(&input.flatten_all()?, 0, false)?.0)
    }

    /// The median along `dim`, the lower one of two, and its index; NaN where any is NaN.
    ///
    /// # Errors
    /// For a dimension that is out of range or empty.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[4f32, 1.0, 3.0, 2.0], &Device::Cpu)?;
    /// let (value, index) = opforge::functional::median_dim(&x, 0, false)?;
    /// assert_eq!((value.to_scalar::<f32>()?, index.to_scalar::<i64>()?), (2.0, 3));
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(torch, method, name = "median", results(values, indices))]
    pub fn median_dim(input: &Tensor, dim: i64, keepdim: bool = false) -> Result<(Tensor, Tensor)> {
        ranked(input, dim, keepdim, "median", |order, sorted, axis| {
            let last = sorted.dims()[axis] - 1;
            let first_nan = f::argmax(&f::isnan(input)?, Some(axis as i64), true)?;
            let broken = f::isnan(&sorted.narrow(axis, last, 1)?)?;
            f::where_cond(&broken, (&first_nan).into(), (&order.narrow(axis, last / 2, 1)?).into())
        })
    }

    /// The median of all elements that are not NaN.
    ///
    /// # Errors
    /// When there are no elements.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[4f32, f32::NAN, 3.0], &Device::Cpu)?;
    /// assert_eq!(opforge::functional::nanmedian(&x)?.to_scalar::<f32>()?, 3.0);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn nanmedian(input: &Tensor) -> Result<Tensor> {
        Ok(nanmedian_dim(&input.flatten_all()?, 0, false)?.0)
    }

    /// The median along `dim` of the elements that are not NaN, and its index.
    ///
    /// # Errors
    /// For a dimension that is out of range or empty.
    #[python(torch, method, name = "nanmedian", results(values, indices))]
    pub fn nanmedian_dim(input: &Tensor, dim: i64, keepdim: bool = false) -> Result<(Tensor, Tensor)> {
        ranked(input, dim, keepdim, "nanmedian", |order, sorted, axis| {
            let numbers = f::sum(&f::logical_not(&f::isnan(sorted)?)?, Some(&[axis as i64]), true, None)?;
            let middle = f::floor_divide((&f::clamp(&numbers.affine(1.0, -1.0)?, Some(0i64.into()), None)?).into(), 2i64.into())?;
            f::gather(order, axis as i64, &middle)
        })
    }

    /// The `k`-th least element along `dim`, counted from 1, and its index.
    ///
    /// # Errors
    /// For a `k` that the dimension does not have.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[4f32, 1.0, 3.0], &Device::Cpu)?;
    /// let (value, index) = opforge::functional::kthvalue(&x, 2, -1, false)?;
    /// assert_eq!((value.to_scalar::<f32>()?, index.to_scalar::<i64>()?), (3.0, 2));
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(torch, method, results(values, indices))]
    pub fn kthvalue(input: &Tensor, k: i64, dim: i64 = -1, keepdim: bool = false) -> Result<(Tensor, Tensor)> {
        let axis = normalize_dim(dim, input.rank(), "kthvalue")?;
        let len = input.dims().get(axis).copied().unwrap_or(1);
        let Some(place) = usize::try_from(k).ok().and_then(|k| k.checked_sub(1)).filter(|&place| place < len) else {
            return Err(Error::index("kthvalue", "k", k, format!("1 to {len}")));
        };
        ranked(input, dim, keepdim, "kthvalue", |order, _, axis| order.narrow(axis, place, 1))
    }

    /// The most frequent element along `dim`, the least of several, and the index of its last occurrence.
    ///
    /// # Errors
    /// For a dimension that is out of range or empty.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[4i64, 1, 4, 3], &Device::Cpu)?;
    /// let (value, index) = opforge::functional::mode(&x, -1, false)?;
    /// assert_eq!((value.to_scalar::<i64>()?, index.to_scalar::<i64>()?), (4, 2));
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(torch, method, results(values, indices))]
    pub fn mode(input: &Tensor, dim: i64 = -1, keepdim: bool = false) -> Result<(Tensor, Tensor)> {
        ranked(input, dim, keepdim, "mode", |order, sorted, axis| {
            let len = sorted.dims()[axis];
            let mut shape = vec![1; sorted.rank()];
            shape[axis] = len;
            let places = f::arange_to(Scalar::from(len), None, Some(*input.device()), false)?.reshape(shape)?;
            let places = places.broadcast_as(sorted.shape())?;
            // How far into its run of equal elements each place is: the distance from the last place where a run began.
            let mut first = sorted.dims().to_vec();
            first[axis] = 1;
            let begin = Tensor::zeros(first, DType::Bool, input.device())?;
            let same = f::eq((&sorted.narrow(axis, 1, len - 1)?).into(), (&sorted.narrow(axis, 0, len - 1)?).into())?;
            let same = Tensor::cat(&[&begin, &same], axis)?;
            let starts = f::where_cond(&same, 0i64.into(), (&places).into())?;
            let depth = places.sub(&f::cummax(&starts, axis as i64)?.0)?;
            f::gather(order, axis as i64, &f::argmax(&depth, Some(axis as i64), true)?)
        })
    }

    /// The quantiles `q`, from 0 to 1, along `dim`, of all elements without it: where `q * (n - 1)` falls between two of the sorted elements,
    /// `interpolation` tells what becomes of them: `"linear"`, `"lower"`, `"higher"`, `"nearest"` or `"midpoint"`. NaN where any is NaN.
    ///
    /// # Errors
    /// For an unknown interpolation, a `q` beyond 0 to 1, integers, and when there are no elements.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[4f32, 1.0, 3.0, 2.0], &Device::Cpu)?;
    /// assert_eq!(opforge::functional::quantile(&x, 0.5, None, false, "linear")?.to_scalar::<f32>()?, 2.5);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn quantile(
        input: &Tensor,
        q: f64,
        dim: Option<i64> = None,
        keepdim: bool = false;
        interpolation: &str = "linear",
    ) -> Result<Tensor> {
        let (sorted, axis) = sorted_floats(input, dim)?;
        let value = at_quantile(&sorted, axis, q, interpolation)?;
        shaped(value, input, dim, keepdim)
    }

    /// As [`quantile`], for several `q`: the result has them in its first dimension.
    ///
    /// # Errors
    /// As [`quantile`], and for a `q` with more than one dimension.
    #[python(torch, method, name = "quantile")]
    pub fn quantiles(
        input: &Tensor,
        q: &Tensor,
        dim: Option<i64> = None,
        keepdim: bool = false;
        interpolation: &str = "linear",
    ) -> Result<Tensor> {
        let (sorted, axis) = sorted_floats(input, dim)?;
        let numbers = q.detach().to_dtype(DType::F64)?;
        let one = |q: f64| shaped(at_quantile(&sorted, axis, q, interpolation)?, input, dim, keepdim);
        match q.rank() {
            0 => one(numbers.to_scalar()?),
            1 => {
                let values = numbers.to_vec1()?.into_iter().map(one).collect::<Result<Vec<_>>>()?;
                if values.is_empty() { Err(Error::shape("quantile", "q", "[0]", "at least one number")) } else { Tensor::stack(&values, 0) }
            }
            _ => Err(Error::shape("quantile", "q", format!("{:?}", q.shape()), "at most one dimension")),
        }
    }
}

/// The element along `dim` at a place that `choose` takes from the order (and the sorted elements), and the place.
#[track_caller]
fn ranked(
    input: &Tensor,
    dim: i64,
    keepdim: bool,
    op: &'static str,
    choose: impl Fn(&Tensor, &Tensor, usize) -> Result<Tensor>,
) -> Result<(Tensor, Tensor)> {
    along(input, dim, keepdim, op, |input, _, _| {
        let axis = normalize_dim(dim, input.rank(), op)?;
        if input.dims()[axis] == 0 {
            return Err(Error::shape(op, "input", format!("{:?}", input.shape()), "at least one element along dim"));
        }
        let order = f::argsort(input, dim, false, true)?;
        choose(&order, &f::gather(&input.detach(), dim, &order)?, axis)
    })
}

/// The elements in order along a dimension, or all of them.
#[track_caller]
fn sorted_floats(input: &Tensor, dim: Option<i64>) -> Result<(Tensor, usize)> {
    if !matches!(input.dtype(), DType::F32 | DType::F64) {
        return Err(Error::dtype("quantile", "input", input.dtype(), "f32 or f64"));
    }
    let flat = if dim.is_none() || input.rank() == 0 { input.flatten_all()? } else { input.clone() };
    let axis = normalize_dim(dim.unwrap_or(0), flat.rank(), "quantile")?;
    if flat.dims()[axis] == 0 {
        return Err(Error::shape("quantile", "input", format!("{:?}", input.shape()), "at least one element"));
    }
    Ok((f::sort(&flat, axis as i64, false, false)?.0, axis))
}

/// One quantile of sorted elements, the dimension kept.
#[track_caller]
fn at_quantile(sorted: &Tensor, axis: usize, q: f64, interpolation: &str) -> Result<Tensor> {
    if !(0.0..=1.0).contains(&q) {
        return Err(Error::value("quantile", "q", q, "a number from 0 to 1"));
    }
    let last = sorted.dims()[axis] - 1;
    let place = q * last as f64;
    let (lower, higher) = (place.floor(), place.ceil());
    let weight = match interpolation {
        "linear" => place - lower,
        "lower" => 0.0,
        "higher" => 1.0,
        "nearest" => place.round_ties_even() - lower,
        "midpoint" => 0.5 * (higher - lower),
        other => {
            let accepted = "\"linear\", \"lower\", \"higher\", \"nearest\" or \"midpoint\"";
            return Err(Error::value("quantile", "interpolation", other, accepted));
        }
    };
    let at = |place: f64| sorted.narrow(axis, place as usize, 1);
    let value = f::lerp(&at(lower)?, &at(higher)?, weight.into())?;
    // NaN is last in order.
    let broken = f::isnan(&at(last as f64)?)?;
    f::where_cond(&broken, f64::NAN.into(), (&value).into())
}

/// A quantile with its dimension as the caller wants it.
#[track_caller]
fn shaped(value: Tensor, input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
    match dim {
        Some(dim) if input.rank() > 0 => {
            let axis = normalize_dim(dim, input.rank(), "quantile")?;
            if keepdim { Ok(value) } else { value.squeeze(axis) }
        }
        _ if keepdim => value.reshape(vec![1; input.rank()]),
        _ => value.reshape(()),
    }
}
