//! Constants written in place.

use std::borrow::Cow;

use crate::functional::copy_into;
use crate::ops::create::full::Full;
use crate::ops::prelude::*;

functions! { fill_with, fill_zero, fill_diagonal }

/// Fills `input` in place with a number, or with the one element of a tensor without dimensions; returns `input`.
///
/// # Errors
/// For a number beyond the range of the dtype, a tensor with dimensions, and memory that must not be written.
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::zeros(2, DType::F32, &Device::Cpu)?;
/// opforge::functional::fill_with(&x, 3i64.into())?;
/// assert_eq!(x.to_vec1::<f32>()?, [3.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(method, name = "fill_")]
pub fn fill_with(input: &Tensor, value: Operand) -> Result<Tensor> {
    match value {
        Operand::Scalar(value) => {
            let value = converted(OP, value, input.dtype())?;
            let input = &*once(input)?;
            let (shape, dtype, device) = (input.shape().clone(), input.dtype(), *input.device());
            dispatch_into(&Full { value, shape, dtype, device }, &[], &[input])?;
        }
        Operand::Tensor(value) if value.rank() == 0 => drop(copy_into(input, value, false)?),
        Operand::Tensor(value) => {
            let given = format!("shape {:?}", value.dims());
            return Err(Error::shape(OP, "value", given, "a number or a tensor without dimensions"));
        }
    }
    Ok(input.clone())
}

/// Fills `input` in place with zeros; returns `input`.
///
/// # Errors
/// For memory that must not be written.
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::ones(2, DType::F32, &Device::Cpu)?;
/// opforge::functional::fill_zero(&x)?;
/// assert_eq!(x.to_vec1::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(method, name = "zero_")]
pub fn fill_zero(input: &Tensor) -> Result<Tensor> {
    fill_with(input, Scalar::Int(0).into())
}

impl Tensor {
    /// Zeros, in place; recorded.
    #[track_caller]
    pub(crate) fn clear_elements(&self) -> Result<()> {
        fill_zero(self).map(drop)
    }
}

/// Fills the diagonal of a matrix in place; returns `input`. With `wrap`, the diagonal of a tall matrix goes on after each block of as many
/// rows as columns and one more. Of more dimensions, all of one length, the main diagonal is filled.
///
/// # Errors
/// For fewer than two dimensions, and more of different lengths; as [`fill_with`].
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::zeros((2, 2), DType::F32, &Device::Cpu)?;
/// opforge::functional::fill_diagonal(&x, 5i64.into(), false)?;
/// assert_eq!(x.to_vec2::<f32>()?, [[5.0, 0.0], [0.0, 5.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(wrap = false)]
#[python(method, name = "fill_diagonal_")]
pub fn fill_diagonal(input: &Tensor, fill_value: Scalar, wrap: bool) -> Result<Tensor> {
    let dims = input.dims();
    ensure(dims.len() == 2 || (dims.len() > 2 && dims.iter().all(|&n| n == dims[0])), || {
        Error::shape(OP, "input", format!("{dims:?}"), "two dimensions, or more of one length")
    })?;
    let (rows, columns) = (dims[0], dims[1]);
    let (row, step) = (input.stride()[0], input.stride().iter().sum());
    let fill = |start: usize, lengths: &[usize], steps: &[usize]| {
        let signed = |numbers: &[usize]| numbers.iter().map(|&n| n as i64).collect::<Vec<_>>();
        let offset = (input.layout().start_offset() + start * row) as i64;
        let view = crate::functional::as_strided(input, &signed(lengths), &signed(steps), Some(offset))?;
        fill_with(&view, fill_value.into())
    };
    let shortest = dims.iter().copied().min().unwrap_or(0);
    if shortest == 0 {
        return Ok(input.clone());
    }
    // Blocks of as many rows as columns and one more have a diagonal each; what is left may have part of one.
    let block = columns + 1;
    if !wrap || dims.len() > 2 || rows < block {
        fill(0, &[shortest], &[step])?;
        return Ok(input.clone());
    }
    fill(0, &[rows / block, columns], &[block * row, step])?;
    if rows % block > 0 {
        fill(rows - rows % block, &[columns.min(rows % block)], &[step])?;
    }
    Ok(input.clone())
}

/// The tensor's memory without the dimensions along which it repeats: what writes one number everywhere need not write it more than once.
#[track_caller]
fn once(tensor: &Tensor) -> Result<Cow<'_, Tensor>> {
    let repeats = |d: &usize| tensor.stride()[*d] == 0 && tensor.dims()[*d] > 1;
    (0..tensor.rank()).filter(repeats).try_fold(Cow::Borrowed(tensor), |t, d| t.narrow(d, 0, 1).map(Cow::Owned))
}
