//! `sort(x, dim)`: a dimension in order, and where its elements were.

use crate::ops::prelude::*;

/// The elements in order along `dim`, and the indices, in i64, that they had. Equal elements keep their order; NaN counts as larger
/// than every number. The gradient goes back to where each element was.
///
/// # Errors
/// For a dimension out of range, and complex tensors.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, 1.0, 2.0], &Device::Cpu)?;
/// let (sorted, ids) = opforge::functional::sort(&x, -1, true, true)?;
/// assert_eq!(sorted.to_vec1::<f32>()?, [3.0, 2.0, 1.0]);
/// assert_eq!(ids.to_vec1::<i64>()?, [0, 2, 1]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = -1, descending = false, *, stable = false)]
#[python(torch, method, results(values, indices))]
#[operator(DTypes::REAL, samples)]
pub fn sort(input: &Tensor, dim: i64, descending: bool, stable: bool) -> Result<(Tensor, Tensor)> {
    let ids = super::argsort::argsort(input, dim, descending, stable)?;
    let sorted = if input.rank() == 0 { input.copy()? } else { super::gather::gather(input, dim, &ids)? };
    Ok((sorted, ids))
}

fn samples() -> Vec<Sample> {
    let call = |x: &[&Tensor]| Ok(sort(x[0], 0, true, true)?.0);
    vec![Sample::composed("sort", call, vec![Array::spread(&[6], -9.0..9.0)], |x| {
        let mut data = x[0].data.clone();
        data.sort_by(|a, b| b.total_cmp(a));
        Array::new(&[6], data)
    })]
}
