//! Norms over single channels.

use crate::autograd::no_grad;
use crate::functional as f;
use crate::functional::batch_norm;
use crate::ops::nn::batch_norm::{check_running, update_running};
use crate::ops::nn::group_norm::of_groups;
use crate::ops::prelude::*;

functions! { instance_norm }

/// Each channel of each element of `[batch, channels, ..]` normalised by its own mean and variance; then scaled by `weight` and shifted by
/// `bias`. The running statistics, if given, move towards the averages over the batch; without `use_input_stats` they are used instead.
///
/// # Errors
/// For parameters or statistics that are not one number a channel, and channels of less than two elements; without running statistics if
/// they are to be used.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[[1f32, 3.0], [10.0, 30.0]]], &Device::Cpu)?;
/// let y = opforge::functional::instance_norm(&x, None, None, None, None, true, 0.1, 0.0)?;
/// assert_eq!(y.to_vec3::<f32>()?, [[[-1.0, 1.0], [-1.0, 1.0]]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(running_mean = None, running_var = None, weight = None, bias = None, use_input_stats = true, momentum = 0.1, eps = 1e-5)]
#[python(nn)]
pub fn instance_norm(
    input: &Tensor,
    running_mean: Option<&Tensor>,
    running_var: Option<&Tensor>,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    use_input_stats: bool,
    momentum: f64,
    eps: f64,
) -> Result<Tensor> {
    if !use_input_stats {
        return batch_norm(input, running_mean, running_var, weight, bias, false, momentum, eps);
    }
    let (channels, count) = match input.dims() {
        [_, channels, plane @ ..] => (*channels, plane.iter().product::<usize>()),
        _ => (0, 0),
    };
    if input.elem_count() == 0 && channels > 0 && input.dtype().is_float() {
        let inputs: Vec<&Tensor> = [Some(input), weight, bias].into_iter().flatten().collect();
        return f::constant_in(input.zeros_like()?, &inputs);
    }
    ensure(count >= 2, || {
        wrong_shape(OP, "input", input.shape(), "[batch, channels, ..] with more than one element a channel")
    })?;
    check_running(OP, [running_mean, running_var], channels)?;
    let [y, mean, var] = of_groups(OP, input, channels.max(1), [weight, bias], eps)?;
    let unbiased = no_grad(|| var.affine(count as f64 / (count as f64 - 1.0), 0.0))?;
    for (running, now) in [(running_mean, mean), (running_var, unbiased)] {
        let Some(running) = running else { continue };
        no_grad(|| update_running(running, &now.mean(0)?, momentum))?;
    }
    Ok(y)
}
