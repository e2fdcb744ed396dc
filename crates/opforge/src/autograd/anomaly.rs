//! Looking for NaN in a backward pass where it arises.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::node::Node;
use super::{GradFn, no_grad};
use crate::{DType, Error, Result, Tensor};

static CHECKS: AtomicBool = AtomicBool::new(false);

/// Sets whether every backward pass of the process checks the gradients that calls give: one with NaN is an error that names the call, before anything is added
/// to leaves. Each check waits for its gradient. Returns whether it was so before.
///
/// ```
/// # use opforge::{Device, Var, autograd};
/// let x = Var::new(&[0f32], &Device::Cpu)?;
/// autograd::set_nan_checks(true);
/// let error = x.sqrt()?.affine(0.0, 0.0)?.backward().unwrap_err().to_string();
/// autograd::set_nan_checks(false);
/// assert!(error.contains("'SqrtBackward0' returned nan values in its 0th output"));
/// # Ok::<(), opforge::Error>(())
/// ```
pub fn set_nan_checks(on: bool) -> bool {
    CHECKS.swap(on, Ordering::Relaxed)
}

/// Refuses a gradient of input `i` with NaN, where that is to be checked.
#[inline]
pub(super) fn check_nan(node: &Arc<Node>, i: usize, grad: &Tensor) -> Result<()> {
    if CHECKS.load(Ordering::Relaxed) { find_nan(node, i, grad) } else { Ok(()) }
}

#[cold]
fn find_nan(node: &Arc<Node>, i: usize, grad: &Tensor) -> Result<()> {
    let has_nan = || no_grad(|| grad.ne(grad)?.to_dtype(DType::U8)?.flatten_all()?.max(0)?.to_scalar::<u8>());
    if grad.elem_count() == 0 || has_nan()? == 0 {
        return Ok(());
    }
    let name = GradFn::of(node.clone()).name();
    let given = format!("Function '{name}' returned nan values in its {i}th output, called at {}", node.at);
    Err(Error::autograd(node.action.name().to_owned(), "gradient", given, "numbers"))
}
