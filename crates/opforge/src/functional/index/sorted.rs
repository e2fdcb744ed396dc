//! What sorting gives: the largest elements, the different ones, places in an order.

use crate::functional as f;

use crate::ops::index::argsort::ArgSort;
use crate::ops::prelude::*;

functions! { topk, msort, bucketize, unique, unique_consecutive }

/// The `k` largest elements along `dim` (the last), or the smallest, in order, and their indices in i64.
///
/// # Errors
/// For more elements than there are.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 4.0, 3.0], &Device::Cpu)?;
/// let (values, indices) = f::topk(&x, 2, -1, true, true)?;
/// assert_eq!((values.to_vec1::<f32>()?, indices.to_vec1::<i64>()?), (vec![4.0, 3.0], vec![1, 2]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = -1, largest = true, sorted = true)]
#[python(torch, method, results(values, indices))]
pub fn topk(input: &Tensor, k: i64, dim: i64, largest: bool, sorted: bool) -> Result<(Tensor, Tensor)> {
    let _ = sorted;
    let place = normalize_dim(dim, input.rank(), OP)?;
    let len = input.dims().get(place).copied().unwrap_or(1);
    let count = usize::try_from(k).ok().filter(|&k| k <= len);
    let count = count.ok_or_else(|| Error::value(OP, "k", k, format!("0 to {len}, the length of dim {dim}")))?;
    if input.rank() == 0 {
        let (values, indices) = topk(&input.reshape(1)?, k, 0, largest, sorted)?;
        return if count == 1 { Ok((values.reshape(())?, indices.reshape(())?)) } else { Ok((values, indices)) };
    }
    let first = ArgSort { dim: place, descending: largest, index: Rules::TORCH.index, count };
    let indices = dispatch1(&first, &[input])?;
    Ok((f::gather(input, dim, &indices)?, indices))
}

/// Sorted along the first dimension.
#[function]
pub fn msort(input: &Tensor) -> Result<Tensor> {
    Ok(f::sort(input, 0, false, true)?.0)
}

/// The places of values among ascending `boundaries`; see [`searchsorted`](fn@crate::functional::searchsorted).
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, bounds) = (Tensor::new(&[0f32, 3.0, 9.0], &Device::Cpu)?, Tensor::new(&[1f32, 3.0], &Device::Cpu)?);
/// assert_eq!(f::bucketize((&x).into(), &bounds, false, false)?.to_vec1::<i64>()?, [0, 1, 2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, out_int32 = false, right = false)]
#[python(torch)]
pub fn bucketize(input: Operand, boundaries: &Tensor, out_int32: bool, right: bool) -> Result<Tensor> {
    ensure(boundaries.rank() == 1, || wrong_shape(OP, "boundaries", boundaries.shape(), "a vector"))?;
    f::searchsorted(boundaries, input, out_int32, right, None, None)
}

/// The different elements in ascending order, or the different slices along `dim`; with `return_inverse` also where in them each element
/// went, with `return_counts` also how often each occurs (both in i64).
///
/// ```
/// # use opforge::{Device, Tensor, functional as f, declaration::Value};
/// let x = Tensor::new(&[3f32, 1.0, 3.0], &Device::Cpu)?;
/// let Value::Tensors(found) = f::unique(&x, true, true, true, None)? else { panic!() };
/// assert_eq!(found[0].to_vec1::<f32>()?, [1.0, 3.0]);
/// assert_eq!(found[1].to_vec1::<i64>()?, [1, 0, 1]);
/// assert_eq!(found[2].to_vec1::<i64>()?, [1, 2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(sorted = true, return_inverse = false, return_counts = false, dim = None)]
pub fn unique(
    input: &Tensor,
    sorted: bool,
    return_inverse: bool,
    return_counts: bool,
    dim: Option<i64>,
) -> Result<Value> {
    let _ = sorted;
    if dim.is_none()
        && let Some(found) = unique_by_counts(input, return_inverse, return_counts)?
    {
        return Ok(found);
    }
    let slices = Slices::new(OP, input, dim)?;
    let order = slices.order()?;
    let rows = slices.rows.index_select(&order, 0)?;
    let runs = Runs::new(&rows)?;
    let values = slices.restore(&rows.index_select(&runs.starts, 0)?, input)?;
    let inverse = || {
        let zeros = order.zeros_like()?;
        slices.shaped(&f::index_put(&zeros, &[Some(order.clone())], &runs.group()?, false)?, input)
    };
    runs.results(values, return_inverse, inverse, return_counts)
}

/// [`unique`] of integers between which there are no more others than there are of them: how often each comes is counted, nothing is sorted. None of
/// others.
#[track_caller]
fn unique_by_counts(input: &Tensor, return_inverse: bool, return_counts: bool) -> Result<Option<Value>> {
    let whole = input.dtype().is_int() && input.dtype() != DType::U64;
    if !whole || input.elem_count() == 0 || input.device() == &Device::Meta {
        return Ok(None);
    }
    let flat = input.detach().flatten_all()?.to_dtype(DType::I64)?;
    let [low, high] = [f::amin(&flat, None, false)?, f::amax(&flat, None, false)?].map(|x| x.to_scalar::<i64>());
    let (low, high) = (low?, high?);
    let places = high.checked_sub(low).and_then(|span| usize::try_from(span).ok()).map_or(usize::MAX, |span| span + 1);
    if places > input.elem_count() {
        return Ok(None);
    }
    let place = f::sub((&flat).into(), low.into(), Scalar::Int(1))?;
    let counts = f::counts_below(&place, places)?;
    let found = f::nonzero(&counts)?.flatten_all()?;
    let values = f::add((&found).into(), low.into(), Scalar::Int(1))?.to_dtype(input.dtype())?;
    if !return_inverse && !return_counts {
        return Ok(Some(Value::Tensor(values)));
    }
    let mut all = vec![values];
    if return_inverse {
        let rank = f::cumsum(&counts.ne(0i64)?, 0, Some(DType::I64))?.affine(1.0, -1.0)?;
        all.push(rank.index_select(&place, 0)?.reshape(input.shape())?);
    }
    if return_counts {
        all.push(counts.index_select(&found, 0)?);
    }
    Ok(Some(Value::Tensors(all)))
}

/// The first of each run of equal elements, or of equal slices along `dim`; with `return_inverse` also which run each element is in, with
/// `return_counts` also the runs' lengths (both in i64).
///
/// ```
/// # use opforge::{Device, Tensor, functional as f, declaration::Value};
/// let x = Tensor::new(&[3f32, 3.0, 1.0, 3.0], &Device::Cpu)?;
/// let Value::Tensor(found) = f::unique_consecutive(&x, false, false, None)? else { panic!() };
/// assert_eq!(found.to_vec1::<f32>()?, [3.0, 1.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(return_inverse = false, return_counts = false, dim = None)]
pub fn unique_consecutive(
    input: &Tensor,
    return_inverse: bool,
    return_counts: bool,
    dim: Option<i64>,
) -> Result<Value> {
    let slices = Slices::new(OP, input, dim)?;
    let runs = Runs::new(&slices.rows)?;
    let values = slices.restore(&slices.rows.index_select(&runs.starts, 0)?, input)?;
    runs.results(values, return_inverse, || slices.shaped(&runs.group()?, input), return_counts)
}

/// A tensor as a matrix, a row for each slice along a dimension; without one, for each element.
struct Slices {
    rows: Tensor,
    dim: Option<usize>,
}

impl Slices {
    fn new(op: &'static str, input: &Tensor, dim: Option<i64>) -> Result<Self> {
        let input = input.detach();
        let dim = dim.map(|d| f::existing_dim(op, &input, d)).transpose()?;
        let rows = match dim {
            None => input.reshape((input.elem_count(), 1))?,
            Some(dim) => {
                let first = f::movedim(&input, &[dim as i64], &[0])?;
                let count = first.dims()[0];
                first.reshape((count, first.elem_count() / count.max(1)))?
            }
        };
        Ok(Slices { rows, dim })
    }

    /// The indices that put the rows in ascending order: stable sorts by the columns, the first one last.
    fn order(&self) -> Result<Tensor> {
        let (count, width) = self.rows.shape().dims2()?;
        let mut order: Option<Tensor> = None;
        for column in (0..width).rev() {
            let keys = self.rows.narrow(1, column, 1)?.squeeze(1)?;
            let sorted = |keys: &Tensor| f::argsort(keys, 0, false, true);
            order = Some(match order {
                None => sorted(&keys)?,
                Some(order) => order.index_select(&sorted(&keys.index_select(&order, 0)?)?, 0)?,
            });
        }
        order.map_or_else(|| Tensor::arange(0i64, count as i64, self.rows.device()), Ok)
    }

    /// Some of the rows as slices of the tensor.
    fn restore(&self, rows: &Tensor, input: &Tensor) -> Result<Tensor> {
        let Some(dim) = self.dim else { return rows.flatten_all() };
        let mut dims = input.shape().clone().into_dims();
        dims.remove(dim);
        dims.insert(0, rows.dims()[0]);
        f::movedim(&rows.reshape(dims)?, &[0], &[dim as i64])?.contiguous()
    }

    /// A number for each row, in the tensor's shape where rows are elements.
    fn shaped(&self, numbers: &Tensor, input: &Tensor) -> Result<Tensor> {
        if self.dim.is_some() { Ok(numbers.clone()) } else { numbers.reshape(input.shape()) }
    }
}

/// Runs of equal rows.
struct Runs {
    /// Which rows begin one.
    first: Tensor,
    /// Where each begins.
    starts: Tensor,
}

impl Runs {
    fn new(rows: &Tensor) -> Result<Self> {
        let (count, device) = (rows.dims()[0], rows.device());
        if count == 0 {
            let [first, starts] = [DType::Bool, DType::I64].map(|dtype| Tensor::zeros(0, dtype, device));
            return Ok(Runs { first: first?, starts: starts? });
        }
        let (before, after) = (rows.narrow(0, 0, count - 1)?, rows.narrow(0, 1, count - 1)?);
        let changed = f::ne((&before).into(), (&after).into())?;
        let changed = if rows.dims()[1] == 1 { changed.squeeze(1)? } else { f::any(&changed, Some(&[1]), false)? };
        let first = Tensor::cat(&[&Tensor::ones(1, DType::Bool, device)?, &changed], 0)?;
        let starts = f::nonzero(&first)?.flatten_all()?;
        Ok(Runs { first, starts })
    }

    /// The run that each row is in.
    fn group(&self) -> Result<Tensor> {
        f::cumsum(&self.first, 0, Some(DType::I64))?.affine(1.0, -1.0)
    }

    fn counts(&self) -> Result<Tensor> {
        let total = Tensor::full(self.first.elem_count() as i64, 1, self.starts.device())?;
        let ends = Tensor::cat(&[&self.starts, &total], 0)?;
        let n = self.starts.elem_count();
        ends.narrow(0, 1, n)?.sub(&self.starts)
    }

    /// The values alone, or with what else is wanted.
    fn results(
        &self,
        values: Tensor,
        return_inverse: bool,
        inverse: impl FnOnce() -> Result<Tensor>,
        return_counts: bool,
    ) -> Result<Value> {
        if !return_inverse && !return_counts {
            return Ok(Value::Tensor(values));
        }
        let mut all = vec![values];
        if return_inverse {
            all.push(inverse()?);
        }
        if return_counts {
            all.push(self.counts()?);
        }
        Ok(Value::Tensors(all))
    }
}
