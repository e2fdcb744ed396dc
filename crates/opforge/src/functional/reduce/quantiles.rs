//! Quantiles: where a part of the elements lies below.

use super::medians::unless_nan;
use crate::functional as f;
use crate::ops::prelude::*;

functions! { quantile, quantiles, nanquantile, nanquantiles }

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
#[function(dim = None, keepdim = false, *, interpolation = "linear")]
pub fn quantile(input: &Tensor, q: f64, dim: Option<i64>, keepdim: bool, interpolation: &str) -> Result<Tensor> {
    Rows::new(OP, input, dim, keepdim)?.at(q, interpolation)
}

/// As [`quantile`], for several `q`: the result has them in its first dimension.
///
/// # Errors
/// As [`quantile`], and for a `q` with more than one dimension.
#[function(dim = None, keepdim = false, *, interpolation = "linear")]
#[python(torch, method, name = "quantile")]
pub fn quantiles(input: &Tensor, q: &Tensor, dim: Option<i64>, keepdim: bool, interpolation: &str) -> Result<Tensor> {
    Sorted::new(Rows::new(OP, input, dim, keepdim)?, true)?.at_each(q, interpolation)
}

/// [`quantile`] of the elements that are not NaN; NaN where all are.
///
/// # Errors
/// As [`quantile`].
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[4f32, f32::NAN, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::nanquantile(&x, 0.5, None, false, "linear")?.to_scalar::<f32>()?, 3.5);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false, *, interpolation = "linear")]
pub fn nanquantile(input: &Tensor, q: f64, dim: Option<i64>, keepdim: bool, interpolation: &str) -> Result<Tensor> {
    Sorted::new(Rows::new(OP, input, dim, keepdim)?, false)?.at(q, None, interpolation)
}

/// As [`nanquantile`], for several `q`: the result has them in its first dimension.
///
/// # Errors
/// As [`quantiles`].
#[function(dim = None, keepdim = false, *, interpolation = "linear")]
#[python(torch, method, name = "nanquantile")]
pub fn nanquantiles(
    input: &Tensor,
    q: &Tensor,
    dim: Option<i64>,
    keepdim: bool,
    interpolation: &str,
) -> Result<Tensor> {
    Sorted::new(Rows::new(OP, input, dim, keepdim)?, false)?.at_each(q, interpolation)
}

/// What quantiles are of.
struct Rows {
    op: &'static str,
    elements: Tensor,
    axis: usize,
    /// The shape of a result.
    shape: Shape,
}

impl Rows {
    #[track_caller]
    fn new(op: &'static str, input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Self> {
        if !matches!(input.dtype(), DType::F32 | DType::F64) {
            return Err(Error::dtype(op, "input", input.dtype(), "f32 or f64"));
        }
        let flat = if dim.is_none() || input.rank() == 0 { input.flatten_all()? } else { input.clone() };
        let axis = normalize_dim(dim.unwrap_or(0), flat.rank(), op)?;
        let mut shape = match dim {
            Some(_) => input.shape().clone().into_dims(),
            None => vec![1; input.rank()],
        };
        ensure(flat.dims()[axis] != 0, || wrong_shape(op, "input", input.shape(), "at least one element"))?;
        match (shape.get_mut(axis), keepdim) {
            (Some(len), true) => *len = 1,
            (Some(_), false) if dim.is_some() => drop(shape.remove(axis)),
            (_, false) => shape.clear(),
            (None, true) => {}
        }
        Ok(Rows { op, elements: flat, axis, shape: shape.into() })
    }

    /// One quantile, NaN where any is NaN: one element or two are looked for, and nothing is sorted.
    #[track_caller]
    fn at(self, q: f64, interpolation: &str) -> Result<Tensor> {
        check_q(self.op, q)?;
        let place = q * (self.elements.dims()[self.axis] - 1) as f64;
        let (first, weight) = match interpolation {
            "linear" => (place.floor(), Some(place - place.floor())),
            "lower" => (place.floor(), None),
            "higher" => (place.ceil(), None),
            "nearest" => (place.round_ties_even(), None),
            "midpoint" => (place.floor(), Some(if place.fract() == 0.0 { 0.0 } else { 0.5 })),
            other => return Err(unknown(self.op, other)),
        };
        let (elements, count) = (self.elements.detach(), if weight > Some(0.0) { 2 } else { 1 });
        let indices = f::argplace(&elements, self.axis, first as usize, count)?;
        let indices = unless_nan(&elements, self.axis, &indices)?;
        let found = f::gather(&self.elements, self.axis as i64, &indices)?;
        let Some(weight) = weight else { return found.reshape(self.shape) };
        // Between an infinity and itself too, as in `Sorted`, which gives NaN.
        let [lower, higher] = [0, count - 1].map(|i| found.narrow(self.axis, i, 1));
        f::lerp(&lower?, &higher?, weight.into())?.reshape(self.shape)
    }
}

#[track_caller]
fn check_q(op: &'static str, q: f64) -> Result<()> {
    ensure((0.0..=1.0).contains(&q), || Error::value(op, "q", q, "a number from 0 to 1"))
}

fn unknown(op: &'static str, interpolation: &str) -> Error {
    let accepted = "\"linear\", \"lower\", \"higher\", \"nearest\" or \"midpoint\"";
    Error::value(op, "interpolation", interpolation, accepted)
}

/// The elements in order, NaN last, and what becomes of a quantile of them.
struct Sorted {
    op: &'static str,
    elements: Tensor,
    axis: usize,
    /// The place of each row's last number, in f64, NaN where a NaN is to be found; the dimension is kept.
    last: Tensor,
    /// The last place.
    end: f64,
    /// The shape of a result.
    shape: Shape,
}

impl Sorted {
    #[track_caller]
    fn new(Rows { op, elements, axis, shape }: Rows, with_nan: bool) -> Result<Self> {
        let elements = f::sort(&elements, axis as i64, false, false)?.0;
        let (dim, end) = (&[axis as i64][..], (elements.dims()[axis] - 1) as f64);
        let numbers = f::sum(&f::logical_not(&f::isnan(&elements)?)?, Some(dim), true, Some(DType::F64))?;
        let last = f::clamp(&numbers.affine(1.0, -1.0)?, Some(0.0.into()), None)?;
        let found = if with_nan {
            f::where_cond(&f::lt((&last).into(), end.into())?, f64::NAN.into(), (&last).into())?
        } else {
            last
        };
        Ok(Sorted { op, elements, axis, last: found, end, shape })
    }

    /// One quantile; `tracked` is its number as a tensor in f64, if that needs a gradient.
    #[track_caller]
    fn at(&self, q: f64, tracked: Option<Tensor>, interpolation: &str) -> Result<Tensor> {
        check_q(self.op, q)?;
        let place = tracked.map_or_else(|| self.last.affine(q, 0.0), |q| self.last.broadcast_mul(&q))?;
        let place = f::where_cond(&f::isnan(&place)?, self.end.into(), (&place).into())?;
        let (lower, higher) = (place.floor()?, place.ceil()?);
        let element = |place: &Tensor| f::gather(&self.elements, self.axis as i64, &place.to_dtype(DType::I64)?);
        // An element by itself is no way of length 0 to the next one: that may be infinite.
        let wanted = match interpolation {
            "linear" => place,
            "midpoint" => lower.add(&higher)?.affine(0.5, 0.0)?,
            "lower" => return element(&lower)?.reshape(&self.shape),
            "higher" => return element(&higher)?.reshape(&self.shape),
            "nearest" => return element(&f::round(&place, 0)?)?.reshape(&self.shape),
            other => return Err(unknown(self.op, other)),
        };
        let weight = wanted.sub(&lower)?.to_dtype(self.elements.dtype())?;
        f::lerp(&element(&lower)?, &element(&higher)?, (&weight).into())?.reshape(&self.shape)
    }

    /// A quantile for each number of a vector, or for the only number.
    #[track_caller]
    fn at_each(&self, q: &Tensor, interpolation: &str) -> Result<Tensor> {
        let numbers = q.to_dtype(DType::F64)?;
        match q.rank() {
            0 => self.at(numbers.detach().to_scalar()?, q.requires_grad().then_some(numbers), interpolation),
            1 if q.elem_count() > 0 => {
                let tracked = |i: usize| q.requires_grad().then(|| numbers.get(i)).transpose();
                let at = |(i, number)| self.at(number, tracked(i)?, interpolation);
                let values = numbers.detach().to_vec1()?.into_iter().enumerate().map(at);
                Tensor::stack(&values.collect::<Result<Vec<_>>>()?, 0)
            }
            1 => Err(Error::shape(self.op, "q", "[0]", "at least one number")),
            _ => Err(wrong_shape(self.op, "q", q.shape(), "at most one dimension")),
        }
    }
}
