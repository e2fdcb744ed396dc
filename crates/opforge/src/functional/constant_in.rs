//! Results that do not depend on their inputs, in the graph all the same.

use crate::autograd::is_grad_enabled;
use crate::functional as f;
use crate::{Result, Tensor};

/// `result`, whose elements do not change with `inputs`, as a function of them: it requires grad if they do, and their gradients are zeros.
#[track_caller]
pub(crate) fn constant_in(result: Tensor, inputs: &[&Tensor]) -> Result<Tensor> {
    if !is_grad_enabled() {
        return Ok(result);
    }
    inputs.iter().filter(|input| input.requires_grad()).try_fold(result, |result, input| {
        let elements = if input.rank() == 0 { input.reshape(1)? } else { (*input).clone() };
        // The sum of none of the elements is 0. Subtracted, it leaves -0 as it is.
        let zero = f::sum(&elements.narrow(0, 0, 0)?, None, false, None)?;
        let zero = if zero.dtype().is_complex() && !result.dtype().is_complex() { f::real(&zero)? } else { zero };
        result.broadcast_sub(&zero.to_dtype(result.dtype())?)
    })
}
