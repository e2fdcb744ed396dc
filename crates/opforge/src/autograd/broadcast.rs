//! The gradient of a broadcast.

use crate::{Error, Result, Shape, Tensor};

/// Sums a gradient over the dimensions that a broadcast stretched, back to `shape`.
pub fn sum_to(grad: &Tensor, shape: &Shape) -> Result<Tensor> {
    if grad.shape() == shape {
        return Ok(grad.clone());
    }
    let lead = (grad.rank().checked_sub(shape.rank()))
        .ok_or_else(|| Error::shapes("sum_to", grad.shape(), shape, "lhs at least of rhs's rank"))?;
    let stretched = |d: &usize| *d < lead || (shape[*d - lead] == 1 && grad.dims()[*d] != 1);
    let dims: Vec<usize> = (0..grad.rank()).filter(stretched).collect();
    grad.sum_keepdim(dims)?.reshape(shape.clone())
}
