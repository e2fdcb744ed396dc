//! How often values occur.

use opforge_tile::forms::Special;

use crate::family::index::onto;
use crate::functional as f;
use crate::ops::index::scatter_add::ScatterAdd;
use crate::ops::prelude::*;

functions! { bincount, histc }

/// How often each of the integers 0, 1, .. occurs in a vector, at least `minlength` of them.
///
/// # Errors
/// For tensors that are not vectors of integers of 0 or more.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1i64, 3, 1], &Device::Cpu)?;
/// assert_eq!(opforge::functional::bincount(&x, None, 0)?.to_vec1::<i64>()?, [0, 2, 0, 1]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(weights = None, minlength = 0)]
pub fn bincount(input: &Tensor, weights: Option<&Tensor>, minlength: i64) -> Result<Tensor> {
    if input.rank() != 1 || !input.dtype().is_int() {
        let given = format!("{:?} of {}", input.shape(), input.dtype());
        return Err(Error::shape(OP, "input", given, "a vector of integers"));
    }
    let least = usize::try_from(minlength).map_err(|_| Error::value(OP, "minlength", minlength, "0 or more"))?;
    let ids = input.to_dtype(DType::I64)?;
    let bins = if ids.elem_count() == 0 {
        least
    } else {
        // As unsigned numbers, negative ones are the greatest.
        let high = f::amax(&f::view_dtype(&ids.detach(), DType::U64)?, None, false)?.to_scalar::<u64>()? as i64;
        let bins = usize::try_from(high).ok().and_then(|high| high.checked_add(1));
        bins.ok_or_else(|| Error::value(OP, "input", high, "integers of 0 or more"))?.max(least)
    };
    match weights {
        Some(weights) if weights.shape() != input.shape() => {
            Err(Error::shapes(OP, input.shape(), weights.shape(), "a weight for each element"))
        }
        Some(weights) => {
            let dtype = if weights.dtype() == DType::F32 { DType::F32 } else { DType::F64 };
            let sums = Tensor::zeros(bins, dtype, input.device())?;
            f::scatter_add(&sums, 0, &ids, &weights.to_dtype(dtype)?)
        }
        None => counts_below(&ids, bins),
    }
}

/// How often each of the integers below `bins` comes in a vector of i64, which holds no others. Parts of a long one are counted apart, by threads.
#[track_caller]
pub(crate) fn counts_below(ids: &Tensor, bins: usize) -> Result<Tensor> {
    /// Parts, and the numbers for each count of theirs from which on it is worth adding them up.
    const PARTS: [usize; 2] = [8, 4];
    let (len, device) = (ids.elem_count(), ids.device());
    let parts = if len / PARTS[0] / PARTS[1] >= bins { PARTS[0] } else { 1 };
    let whole = len - len % parts;
    let one = Tensor::ones(1, DType::I64, device)?;
    let add = |counts: Tensor, ids: Tensor| {
        onto(&ScatterAdd { dim: ids.rank() - 1, special: Special::None }, counts, &ids, &one.broadcast_as(ids.shape())?)
    };
    let apart = Tensor::zeros((parts, bins), DType::I64, device)?;
    let counts = add(apart, ids.narrow(0, 0, whole)?.reshape((parts, whole / parts))?)?.sum(0)?;
    if whole == len { Ok(counts) } else { add(counts, ids.narrow(0, whole, len - whole)?) }
}

/// How many elements fall into each of `bins` equal parts of the range from `min` to `max`, of their own range if both are 0. Elements beyond
/// the range are not counted.
///
/// # Errors
/// For no bins, a range that is not finite or not in order, and tensors that are not floating-point.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::histc(&x, 4, 0.0, 3.0)?.to_vec1::<f32>()?, [0.0, 2.0, 1.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(bins = 100, min = 0.0, max = 0.0)]
pub fn histc(input: &Tensor, bins: i64, min: f64, max: f64) -> Result<Tensor> {
    ensure(input.dtype().is_float(), || Error::UnsupportedDTypeForOp(input.dtype(), OP))?;
    let count = usize::try_from(bins).ok().filter(|&n| n > 0);
    let count = count.ok_or_else(|| Error::value(OP, "bins", bins, "1 or more"))?;
    let x = input.detach().flatten_all()?.to_dtype(DType::F64)?;
    let (mut low, mut high) = (min, max);
    if low == high && x.elem_count() > 0 {
        let (least, greatest) = f::aminmax(&x, None, false)?;
        (low, high) = (least.to_scalar()?, greatest.to_scalar()?);
    }
    if low == high {
        (low, high) = (low - 1.0, high + 1.0);
    }
    if !(low < high && (high - low).is_finite()) {
        return Err(Error::value(OP, "min, max", format!("{low}, {high}"), "a finite range in order"));
    }
    let inside = x.ge(low)?.mul(&x.le(high)?)?;
    let place = x.affine(1.0, -low)?.affine(count as f64 / (high - low), 0.0)?.floor()?;
    // The last part has its upper bound; what is outside is counted as 0.
    let place = inside.where_cond(&place.clamp(0.0, (count - 1) as f64)?, &place.zeros_like()?)?;
    let zeros = Tensor::zeros(count, input.dtype(), input.device())?;
    zeros.index_add(&place.to_dtype(DType::I64)?, &inside.to_dtype(input.dtype())?, 0)
}
