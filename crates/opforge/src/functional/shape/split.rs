//! Tensors cut into views.

use crate::functional as f;
use crate::ops::prelude::*;
use opforge_runtime::alloc::check_available;

functions! {
    split, split_sections, split_with_sizes, chunk, tensor_split, tensor_split_at, tensor_split_by, hsplit, hsplit_at,
    vsplit, vsplit_at, dsplit, dsplit_at, unbind,
}

/// A dimension cut into parts of `split_size_or_sections` elements, the last of which may be shorter: views.
///
/// # Errors
/// For a size that is negative, or 0 along a dimension that is not empty.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(f::split(&x, 2, 0)?[1].to_vec1::<f32>()?, [3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = 0)]
#[view]
pub fn split(input: &Tensor, split_size_or_sections: i64, dim: i64) -> Result<Vec<Tensor>> {
    let dim = f::existing_dim(OP, input, dim)?;
    let len = input.dims()[dim];
    let size = usize::try_from(split_size_or_sections)
        .ok()
        .filter(|&n| n > 0 || len == 0)
        .ok_or_else(|| Error::value(OP, "split_size", split_size_or_sections, "a size of at least 1"))?;
    if len == 0 {
        return Ok(vec![input.clone()]);
    }
    views(len.div_ceil(size), |i| input.narrow(dim, i * size, size.min(len - i * size)))
}

/// A dimension cut into parts of these lengths: views.
///
/// # Errors
/// For lengths whose sum is not the dimension's.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(f::split_sections(&x, &[1, 2], 0)?[1].to_vec1::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = 0)]
#[python(torch, method, name = "split")]
#[view]
pub fn split_sections(input: &Tensor, split_size_or_sections: &[i64], dim: i64) -> Result<Vec<Tensor>> {
    let dim = f::existing_dim(OP, input, dim)?;
    let sizes = f::size_to_shape(OP, split_size_or_sections)?;
    let total = sizes.dims().iter().fold(0usize, |sum, &n| sum.saturating_add(n));
    if total != input.dims()[dim] {
        let accepted = format!("lengths whose sum is {}", input.dims()[dim]);
        return Err(Error::value(OP, "split_sizes", format!("{split_size_or_sections:?}"), accepted));
    }
    let mut start = 0;
    let part = |&len: &usize| {
        start += len;
        input.narrow(dim, start - len, len)
    };
    sizes.dims().iter().map(part).collect()
}

/// The same as [`split_sections`].
#[function(dim = 0)]
#[view]
pub fn split_with_sizes(input: &Tensor, split_sizes: &[i64], dim: i64) -> Result<Vec<Tensor>> {
    split_sections(input, split_sizes, dim)
}

/// A dimension cut into at most `chunks` parts of one length, the last of which may be shorter: views.
///
/// # Errors
/// For fewer than one chunk.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let parts = f::chunk(&Tensor::zeros(5, DType::F32, &Device::Cpu)?, 4, 0)?;
/// assert_eq!(parts.iter().map(Tensor::elem_count).collect::<Vec<_>>(), [2, 2, 1]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = 0)]
#[view]
pub fn chunk(input: &Tensor, chunks: i64, dim: i64) -> Result<Vec<Tensor>> {
    let place = f::existing_dim(OP, input, dim)?;
    let count = part_count(OP, chunks)?;
    match input.dims()[place].div_ceil(count) {
        0 => views(count, |_| Ok(input.clone())),
        size => split(input, size as i64, dim),
    }
}

/// A dimension cut into `indices_or_sections` parts whose lengths differ by 1 at most, the longer ones first: views.
///
/// # Errors
/// For fewer than one part.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let parts = f::tensor_split(&Tensor::zeros(7, DType::F32, &Device::Cpu)?, 3, 0)?;
/// assert_eq!(parts.iter().map(Tensor::elem_count).collect::<Vec<_>>(), [3, 2, 2]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = 0)]
#[view]
pub fn tensor_split(input: &Tensor, indices_or_sections: i64, dim: i64) -> Result<Vec<Tensor>> {
    let dim = f::existing_dim(OP, input, dim)?;
    let parts = part_count(OP, indices_or_sections)?;
    let (short, longer) = (input.dims()[dim] / parts, input.dims()[dim] % parts);
    let start = |i: usize| i * short + i.min(longer);
    views(parts, |i| input.narrow(dim, start(i), start(i + 1) - start(i)))
}

/// A dimension cut at these positions: views. Positions beyond stop there; negative ones count from the end.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(f::tensor_split_at(&x, &[1], 0)?[1].to_vec1::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = 0)]
#[python(torch, method, name = "tensor_split")]
#[view]
pub fn tensor_split_at(input: &Tensor, indices_or_sections: &[i64], dim: i64) -> Result<Vec<Tensor>> {
    let dim = f::existing_dim(OP, input, dim)?;
    let len = input.dims()[dim] as i64;
    let position = |&p: &i64| (if p < 0 { p.saturating_add(len).max(0) } else { p.min(len) }) as usize;
    let ends = indices_or_sections.iter().map(position).chain([len as usize]);
    let mut start = 0;
    let part = |end: usize| {
        let from = std::mem::replace(&mut start, end);
        input.narrow(dim, from.min(end), end.saturating_sub(from))
    };
    ends.map(part).collect()
}

/// As [`tensor_split`] and [`tensor_split_at`], with the number of parts or the positions in a tensor of integers.
///
/// # Errors
/// For tensors of other dtypes, and of more than one dimension.
#[function(dim = 0)]
#[python(torch, method, name = "tensor_split")]
#[view]
pub fn tensor_split_by(input: &Tensor, tensor_indices_or_sections: &Tensor, dim: i64) -> Result<Vec<Tensor>> {
    let numbers = tensor_indices_or_sections;
    if !numbers.dtype().is_int() {
        return Err(Error::dtype(OP, "tensor_indices_or_sections", numbers.dtype(), "an integer dtype"));
    }
    let numbers = numbers.to_dtype(DType::I64)?;
    match numbers.rank() {
        0 => tensor_split(input, numbers.to_scalar()?, dim),
        _ => tensor_split_at(input, &numbers.to_vec1::<i64>()?, dim),
    }
}

/// Cut along the second dimension, or the only one, into parts of one length: views.
///
/// # Errors
/// For a number of parts that does not divide the dimension, and fewer dimensions than 1.
#[function]
#[view]
pub fn hsplit(input: &Tensor, indices_or_sections: i64) -> Result<Vec<Tensor>> {
    even_parts(OP, input, indices_or_sections, 1, usize::from(input.rank() > 1))
}

/// Cut along the second dimension, or the only one; see [`tensor_split_at`].
#[function]
#[python(torch, method, name = "hsplit")]
#[view]
pub fn hsplit_at(input: &Tensor, indices_or_sections: &[i64]) -> Result<Vec<Tensor>> {
    tensor_split_at(input, indices_or_sections, i64::from(input.rank() > 1))
}

/// Cut along the first dimension, into parts of one length: views.
///
/// # Errors
/// For a number of parts that does not divide the dimension, and fewer dimensions than 2.
#[function]
#[view]
pub fn vsplit(input: &Tensor, indices_or_sections: i64) -> Result<Vec<Tensor>> {
    even_parts(OP, input, indices_or_sections, 2, 0)
}

/// Cut along the first dimension; see [`tensor_split_at`].
#[function]
#[python(torch, method, name = "vsplit")]
#[view]
pub fn vsplit_at(input: &Tensor, indices_or_sections: &[i64]) -> Result<Vec<Tensor>> {
    tensor_split_at(input, indices_or_sections, 0)
}

/// Cut along the third dimension, into parts of one length: views.
///
/// # Errors
/// For a number of parts that does not divide the dimension, and fewer dimensions than 3.
#[function]
#[view]
pub fn dsplit(input: &Tensor, indices_or_sections: i64) -> Result<Vec<Tensor>> {
    even_parts(OP, input, indices_or_sections, 3, 2)
}

/// Cut along the third dimension; see [`tensor_split_at`].
#[function]
#[python(torch, method, name = "dsplit")]
#[view]
pub fn dsplit_at(input: &Tensor, indices_or_sections: &[i64]) -> Result<Vec<Tensor>> {
    tensor_split_at(input, indices_or_sections, 2)
}

/// The elements of a dimension, which goes away: views.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::unbind(&x, 1)?[0].to_vec1::<f32>()?, [1.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = 0)]
#[view]
pub fn unbind(input: &Tensor, dim: i64) -> Result<Vec<Tensor>> {
    let dim = f::existing_dim(OP, input, dim)?;
    views(input.dims()[dim], |i| input.get_on_dim(dim, i))
}

/// So many views, whose number may be anything.
///
/// # Errors
/// [`Error::OutOfMemory`] before the first is made, and what making them says.
pub(crate) fn views(count: usize, view: impl FnMut(usize) -> Result<Tensor>) -> Result<Vec<Tensor>> {
    /// Bytes of a view with its layout, and of the object that a front end makes of it, about.
    const VIEW: usize = 512;
    check_available(count.saturating_mul(VIEW))?;
    (0..count).map(view).collect()
}

/// Parts of one length along a dimension of a tensor that has at least `rank` of them.
#[track_caller]
fn even_parts(op: &'static str, input: &Tensor, parts: i64, rank: usize, dim: usize) -> Result<Vec<Tensor>> {
    ensure(input.rank() >= rank, || wrong_shape(op, "input", input.shape(), format!("at least {rank} dimensions")))?;
    let count = part_count(op, parts)?;
    if !input.dims()[dim].is_multiple_of(count) {
        let accepted = format!("a divisor of {}, the length of dimension {dim}", input.dims()[dim]);
        return Err(Error::value(op, "indices_or_sections", parts, accepted));
    }
    tensor_split(input, parts, dim as i64)
}

/// A number of parts that a list of them can have.
fn part_count(op: &'static str, parts: i64) -> Result<usize> {
    const MOST: usize = 1 << 24;
    let count = usize::try_from(parts).ok().filter(|n| (1..=MOST).contains(n));
    count.ok_or_else(|| Error::value(op, "number of parts", parts, format!("1 to {MOST}")))
}
