//! Tensors joined, and grids of them.

use opforge_runtime::alloc::Room;

use crate::functional as f;
use crate::ops::prelude::*;

functions! {
    concat, concatenate, hstack, vstack, row_stack, dstack, column_stack, meshgrid, cartesian_prod, combinations,
    block_diag,
}

/// The same as [`cat`](fn@crate::functional::cat).
#[function(dim = 0)]
pub fn concat(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    f::cat(tensors, dim)
}

/// The same as [`cat`](fn@crate::functional::cat).
#[function(dim = 0)]
pub fn concatenate(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    f::cat(tensors, dim)
}

/// Tensors side by side: along the first dimension if they are vectors, otherwise along the second.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(f::hstack(&[x.clone(), x])?.to_vec1::<f32>()?, [1.0, 2.0, 1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn hstack(tensors: &[Tensor]) -> Result<Tensor> {
    let parts = with_dims(tensors, f::atleast_1d)?;
    f::cat(&parts, i64::from(parts.first().is_some_and(|t| t.rank() > 1)))
}

/// Tensors one below the other; vectors are rows.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(f::vstack(&[x.clone(), x])?.to_vec2::<f32>()?, [[1.0, 2.0], [1.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn vstack(tensors: &[Tensor]) -> Result<Tensor> {
    f::cat(&with_dims(tensors, f::atleast_2d)?, 0)
}

/// The same as [`vstack`].
#[function]
pub fn row_stack(tensors: &[Tensor]) -> Result<Tensor> {
    vstack(tensors)
}

/// Tensors joined along the third dimension.
#[function]
pub fn dstack(tensors: &[Tensor]) -> Result<Tensor> {
    f::cat(&with_dims(tensors, f::atleast_3d)?, 2)
}

/// Tensors side by side; vectors are columns.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(f::column_stack(&[x.clone(), x])?.to_vec2::<f32>()?, [[1.0, 1.0], [2.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn column_stack(tensors: &[Tensor]) -> Result<Tensor> {
    let column = |t: &Tensor| if t.rank() < 2 { t.reshape((t.elem_count(), 1)) } else { Ok(t.clone()) };
    f::cat(&with_dims(tensors, column)?, 1)
}

/// The coordinates of all points of the grid that vectors span, one tensor a vector. With `indexing` `"ij"` the grid's dimensions are
/// the vectors' in order; with `"xy"` the first two are exchanged.
///
/// # Errors
/// For tensors of more than one dimension, and another `indexing`.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[1f32, 2.0], &Device::Cpu)?, Tensor::new(&[5f32], &Device::Cpu)?);
/// assert_eq!(f::meshgrid(&[x, y], "ij")?[0].to_vec2::<f32>()?, [[1.0], [2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, indexing = "ij")]
#[view]
pub fn meshgrid(tensors: &[Tensor], indexing: &str) -> Result<Vec<Tensor>> {
    let swapped = match indexing {
        "ij" => false,
        "xy" => tensors.len() > 1,
        other => return Err(Error::value(OP, "indexing", other, "\"ij\" or \"xy\"")),
    };
    if let Some(t) = tensors.iter().find(|t| t.rank() > 1) {
        return Err(wrong_shape(OP, "tensors", t.shape(), "rank at most 1"));
    }
    let dim = |i: usize| if swapped && i < 2 { 1 - i } else { i };
    let shape: Shape = (0..tensors.len()).map(|d| tensors[dim(d)].elem_count()).collect();
    let grid = |(i, t): (usize, &Tensor)| {
        let mut along = vec![1; tensors.len()];
        along[dim(i)] = t.elem_count();
        t.reshape(along)?.broadcast_as(&shape)
    };
    tensors.iter().enumerate().map(grid).collect()
}

/// All tuples of one element from each vector, a row each; of a single vector the vector itself.
///
/// # Errors
/// For no tensors, and tensors that are not vectors.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(f::cartesian_prod(&[x.clone(), x])?.to_vec2::<f32>()?, [[1.0, 1.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn cartesian_prod(tensors: &[Tensor]) -> Result<Tensor> {
    if let Some(t) = tensors.iter().find(|t| t.rank() != 1) {
        return Err(wrong_shape(OP, "tensors", t.shape(), "vectors"));
    }
    if let [one] = tensors {
        return one.copy();
    }
    let columns = meshgrid(tensors, "ij")?.iter().map(Tensor::flatten_all).collect::<Result<Vec<_>>>()?;
    f::stack(&columns, 1)
}

/// All choices of `r` elements of a vector, a row each, in order; with `with_replacement` an element may come several times.
///
/// # Errors
/// For a tensor that is not a vector, and more rows than fit in memory.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(f::combinations(&x, 2, false)?.to_vec2::<f32>()?, [[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(r = 2, with_replacement = false)]
pub fn combinations(input: &Tensor, r: usize, with_replacement: bool) -> Result<Tensor> {
    ensure(input.rank() == 1, || wrong_shape(OP, "input", input.shape(), "a vector"))?;
    const MOST: usize = 16;
    ensure(r <= MOST, || Error::value(OP, "r", r, format!("at most {MOST}")))?;
    if r == 0 {
        return Tensor::zeros(0, input.dtype(), input.device());
    }
    let (places, count) = chosen(input.elem_count(), r, with_replacement)?;
    let places = Tensor::from_room(places, count * r, input.device())?;
    f::index_select(input, 0, &places)?.reshape((count, r))
}

/// All choices of `r` numbers below `n`, ascending, one after another, and how many there are; with `again` numbers may be equal.
#[track_caller]
fn chosen(n: usize, r: usize, again: bool) -> Result<(Room<i64>, usize)> {
    // As many strictly ascending ones among more numbers.
    let of = if again && n > 0 { n + r - 1 } else { n };
    let count =
        (0..r as u128).try_fold(1u128, |count, i| Some(count.checked_mul((of as u128).saturating_sub(i))? / (i + 1)));
    let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
    Shape::from([count, r]).check("combinations", DType::I64.size_in_bytes())?;
    let mut places = Room::with_capacity(count * r)?;
    let step = i64::from(!again);
    let mut choice: SmallVec<[i64; 16]> = (0..r as i64).map(|i| i * step).collect();
    for _ in 0..count {
        choice.iter().try_for_each(|&place| places.push(place))?;
        // The last that can grow does, and those after it start anew.
        let most = |i: usize| n as i64 - 1 - (r - 1 - i) as i64 * step;
        let Some(grows) = (0..r).rev().find(|&i| choice[i] < most(i)) else { break };
        choice[grows] += 1;
        (grows + 1..r).for_each(|i| choice[i] = choice[i - 1] + step);
    }
    Ok((places, count))
}

/// Matrices along the diagonal of a matrix, zeros elsewhere; vectors are rows. Dtypes are promoted.
///
/// # Errors
/// For more than two dimensions.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(f::block_diag(&[x.clone(), x])?.to_vec2::<f32>()?, [[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn block_diag(tensors: &[Tensor]) -> Result<Tensor> {
    let blocks = with_dims(tensors, f::atleast_2d)?;
    let width: usize = blocks.iter().map(|t| t.dims()[1]).sum();
    let mut before = 0;
    let row = |t: &Tensor| {
        let (_, own) = t.shape().dims2().map_err(|e| e.context(OP))?;
        before += own;
        t.pad_with_zeros(1, before - own, width - before)
    };
    f::cat(&blocks.iter().map(row).collect::<Result<Vec<_>>>()?, 0)
}

fn with_dims(tensors: &[Tensor], f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Vec<Tensor>> {
    tensors.iter().map(f).collect()
}
