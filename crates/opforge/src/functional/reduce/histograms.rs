//! Histograms: how many elements, or how much weight, fall between edges.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { histogram, histogram_between }

/// How many elements, or how much `weight`, fall into each of `bins` equal parts of `range`, without it of the elements' own, and the parts' edges.
/// A part has its lower edge, the last one its upper edge too. With `density` the areas of all parts sum to 1.
///
/// # Errors
/// For no bins, a range that is not finite or not in order, weights of another shape, and tensors that are not f32 or f64.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 1.0], &Device::Cpu)?;
/// let (hist, edges) = f::histogram(&x, 3, Some(&[0.0, 3.0]), None, false)?;
/// assert_eq!((hist.to_vec1::<f32>()?, edges.to_vec1::<f32>()?), (vec![0.0, 2.0, 1.0], vec![0.0, 1.0, 2.0, 3.0]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(bins = 100, *, range = None, weight = None, density = false)]
#[python(torch, method, results(hist, bin_edges))]
pub fn histogram(
    input: &Tensor,
    bins: i64,
    range: Option<&[f64]>,
    weight: Option<&Tensor>,
    density: bool,
) -> Result<(Tensor, Tensor)> {
    check(input, weight)?;
    let edges = equal_edges(input, bins, range)?;
    Ok((counts(input, &edges, weight, density)?, edges))
}

/// As [`histogram`], between the edges that `bins` holds in ascending order.
///
/// # Errors
/// As [`histogram`], and for fewer than two edges.
#[function(*, weight = None, density = false)]
#[python(torch, method, name = "histogram", results(hist, bin_edges))]
pub fn histogram_between(
    input: &Tensor,
    bins: &Tensor,
    weight: Option<&Tensor>,
    density: bool,
) -> Result<(Tensor, Tensor)> {
    check(input, weight)?;
    if bins.rank() != 1 || bins.elem_count() < 2 || bins.dtype() != input.dtype() {
        let given = format!("{:?} of {}", bins.shape(), bins.dtype());
        return Err(Error::shape(OP, "bins", given, format!("a vector of at least two edges, of {}", input.dtype())));
    }
    Ok((counts(input, bins, weight, density)?, bins.copy()?))
}

fn check(input: &Tensor, weight: Option<&Tensor>) -> Result<()> {
    if !matches!(input.dtype(), DType::F32 | DType::F64) {
        return Err(Error::dtype("histogram", "input", input.dtype(), "f32 or f64"));
    }
    match weight {
        Some(w) if w.shape() != input.shape() => {
            Err(Error::shapes("histogram", input.shape(), w.shape(), "a weight for each element"))
        }
        Some(w) if w.dtype() != input.dtype() => Err(Error::dtypes("histogram", input.dtype(), w.dtype())),
        _ => Ok(()),
    }
}

fn equal_edges(input: &Tensor, bins: i64, range: Option<&[f64]>) -> Result<Tensor> {
    if !(1..i64::MAX).contains(&bins) {
        return Err(Error::value("histogram", "bins", bins, "1 or more, and fewer than fit an i64"));
    }
    let (mut low, mut high) = match range {
        Some(&[low, high]) => (low, high),
        Some(other) => return Err(Error::value("histogram", "range", format!("{other:?}"), "two numbers")),
        None if input.elem_count() == 0 => (0.0, 1.0),
        None => {
            let (low, high) = f::aminmax(&input.detach().to_dtype(DType::F64)?, None, false)?;
            (low.to_scalar()?, high.to_scalar()?)
        }
    };
    if low == high {
        (low, high) = (low - 0.5, high + 0.5);
    }
    if !(low < high && (high - low).is_finite()) {
        return Err(Error::value("histogram", "range", format!("{low}, {high}"), "a finite range in order"));
    }
    f::linspace(low.into(), high.into(), bins + 1, Some(input.dtype()), Some(*input.device()), false)
}

fn counts(input: &Tensor, edges: &Tensor, weight: Option<&Tensor>, density: bool) -> Result<Tensor> {
    let x = input.detach().flatten_all()?;
    let (count, edges) = (edges.elem_count() - 1, edges.detach().contiguous()?);
    let (first, last) = (edges.get(0)?, edges.get(count)?);
    let inside =
        f::logical_and((&f::ge((&x).into(), (&first).into())?).into(), (&f::le((&x).into(), (&last).into())?).into())?;
    let place = f::searchsorted(&edges, (&x).into(), false, true, None, None)?.affine(1.0, -1.0)?;
    let place = f::clamp(&place, Some(0i64.into()), Some(Scalar::from(count - 1).into()))?;
    let weight = match weight {
        Some(weight) => f::where_cond(&inside, (&weight.detach().flatten_all()?).into(), 0.0.into())?,
        None => inside.to_dtype(x.dtype())?,
    };
    let hist = Tensor::zeros(count, x.dtype(), x.device())?.index_add(&place, &weight, 0)?;
    if !density {
        return Ok(hist);
    }
    hist.broadcast_div(&hist.sum_all()?)?.div(&f::diff(&edges, 1, -1, None, None)?)
}
