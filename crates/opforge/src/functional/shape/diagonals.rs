//! Diagonals read, written and made into matrices.

use opforge_runtime::alloc::Room;

use crate::functional as f;
use crate::ops::prelude::*;
use crate::ops::shape::diagonal::Diagonal;

functions! { diag, diag_embed, diagflat, diagonal_scatter, tril_indices, triu_indices }

/// The diagonal of a matrix, `diagonal` above the main one; of a vector, the matrix with it on that diagonal.
///
/// # Errors
/// For other ranks.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// let matrix = f::diag(&x, 0)?;
/// assert_eq!(matrix.to_vec2::<f32>()?, [[1.0, 0.0], [0.0, 2.0]]);
/// assert_eq!(f::diag(&matrix, 0)?.to_vec1::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(diagonal = 0)]
pub fn diag(input: &Tensor, diagonal: i64) -> Result<Tensor> {
    match input.rank() {
        1 => diag_embed(input, diagonal, -2, -1),
        2 => f::diagonal(input, diagonal, 0, 1)?.copy(),
        _ => Err(wrong_shape(OP, "input", input.shape(), "rank 1 or 2")),
    }
}

/// Zeros with the last dimension's elements on a diagonal, `offset` above the main one, of two new dimensions `dim1` and `dim2`.
///
/// # Errors
/// For dimensions that are equal or out of range.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32], [2.0]], &Device::Cpu)?;
/// assert_eq!(f::diag_embed(&x, 1, -2, -1)?.flatten_all()?.to_vec1::<f32>()?, [0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(offset = 0, dim1 = -2, dim2 = -1)]
pub fn diag_embed(input: &Tensor, offset: i64, dim1: i64, dim2: i64) -> Result<Tensor> {
    let Some((&last, lead)) = input.dims().split_last() else { return Err(f::no_dims(OP)) };
    let dim = |d| normalize_dim(d, input.rank() + 1, OP);
    let (dim1, dim2) = (dim(dim1)?, dim(dim2)?);
    ensure(dim1 != dim2, || Error::value(OP, "dim2", dim2, "another dimension than dim1"))?;
    let size = usize::try_from(offset.unsigned_abs()).ok().and_then(|n| n.checked_add(last));
    let size = size.ok_or_else(|| Error::value(OP, "offset", offset, "a size that fits the address space"))?;
    let mut shape = lead.to_vec();
    shape.insert(dim1.min(dim2), size);
    shape.insert(dim1.max(dim2), size);
    Shape::from(&shape[..]).check(OP, input.dtype().size_in_bytes())?;
    embed(Diagonal { offset, dim1, dim2 }, input, &Meta::contiguous(input.dtype(), shape))
}

/// The matrix with all elements, in row-major order, on the diagonal `offset` above the main one.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(f::diagflat(&x, 0)?.to_vec2::<f32>()?, [[1.0, 0.0], [0.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(offset = 0)]
pub fn diagflat(input: &Tensor, offset: i64) -> Result<Tensor> {
    diag_embed(&input.flatten_all()?, offset, -2, -1)
}

/// A copy of `input` with `src` in place of a diagonal, as [`diagonal`](fn@crate::functional::diagonal) shows it.
///
/// # Errors
/// For a source of another shape.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = f::diagonal_scatter(&x, &Tensor::new(&[7f32, 8.0], &Device::Cpu)?, 0, 0, 1)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[7.0, 2.0], [3.0, 8.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(offset = 0, dim1 = 0, dim2 = 1)]
pub fn diagonal_scatter(input: &Tensor, src: &Tensor, offset: i64, dim1: i64, dim2: i64) -> Result<Tensor> {
    let dim = |d| normalize_dim(d, input.rank(), OP);
    overlay(Diagonal { offset, dim1: dim(dim1)?, dim2: dim(dim2)? }, input, &src.to_dtype(input.dtype())?)
}

/// The rows and columns, `[2, n]` in `dtype` (i64), of the elements on and below a diagonal of a `row` by `col` matrix, in row-major order.
///
/// ```
/// # use opforge::functional as f;
/// assert_eq!(f::tril_indices(2, 2, 0, None, None)?.to_vec2::<i64>()?, [[0, 1, 1], [0, 0, 1]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(offset = 0, *, dtype = None, device = None)]
pub fn tril_indices(
    row: usize,
    col: usize,
    offset: i64,
    dtype: Option<DType>,
    device: Option<Device>,
) -> Result<Tensor> {
    triangle_indices(true, [row, col], offset, dtype, device)
}

/// The rows and columns, `[2, n]` in `dtype` (i64), of the elements on and above a diagonal of a `row` by `col` matrix, in row-major order.
///
/// ```
/// # use opforge::functional as f;
/// assert_eq!(f::triu_indices(2, 2, 0, None, None)?.to_vec2::<i64>()?, [[0, 0, 1], [0, 1, 1]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(offset = 0, *, dtype = None, device = None)]
pub fn triu_indices(
    row: usize,
    col: usize,
    offset: i64,
    dtype: Option<DType>,
    device: Option<Device>,
) -> Result<Tensor> {
    triangle_indices(false, [row, col], offset, dtype, device)
}

/// How many elements of a `rows` by `columns` matrix lie on and below a diagonal.
fn on_and_below([rows, columns]: [i128; 2], offset: i128) -> i128 {
    // Rows before the first have none, those from the last on all of theirs; those between have one more each.
    let first = (-offset).clamp(0, rows);
    let last = (columns - offset).clamp(first, rows);
    let between = last - first;
    between * (first + offset + 1) + between * (between - 1) / 2 + (rows - last) * columns
}

fn triangle_indices(
    lower: bool,
    [rows, columns]: [usize; 2],
    offset: i64,
    dtype: Option<DType>,
    device: Option<Device>,
) -> Result<Tensor> {
    // No tensor is longer, and rows without columns are none.
    let length = |n: usize| n.min(i64::MAX as usize) as i128;
    let (width, shift) = (length(columns), i128::from(offset));
    let all = if width > 0 { length(rows) } else { 0 };
    let (of_row, count) = match lower {
        true => ((-shift).clamp(0, all)..all, on_and_below([all, width], shift)),
        false => (0..(width - shift).clamp(0, all), all * width - on_and_below([all, width], shift - 1)),
    };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    Shape::from([2, count]).check("triangle_indices", DType::I64.size_in_bytes())?;
    let mut places = Room::filled(2 * count, 0i64)?;
    let (mut of_rows, mut of_columns) = places.split_at_mut(count);
    for row in of_row {
        let diagonal = (row + shift + i128::from(lower)).clamp(0, width);
        let own = if lower { 0..diagonal } else { diagonal..width };
        let (now, rest) = of_rows.split_at_mut((own.end - own.start) as usize);
        now.fill(row as i64);
        of_rows = rest;
        let (now, rest) = of_columns.split_at_mut((own.end - own.start) as usize);
        now.iter_mut().zip(own).for_each(|(place, column)| *place = column as i64);
        of_columns = rest;
    }
    let places = Tensor::from_room(places, (2, count), &Device::Cpu)?;
    places.to_dtype(dtype.unwrap_or(DType::I64))?.to_device(&f::device_or_default("triangle_indices", device)?)
}
