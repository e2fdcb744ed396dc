//! Norms over groups of channels.

use crate::functional::{batch_norm, layer_norm};
use crate::operator::prelude::*;
use crate::ops::nn::batch_norm::{of_batch, update_running};

/// Batch, channels, and elements of a channel.
fn sizes(op: &'static str, input: &Tensor) -> Result<[usize; 3]> {
    match input.dims() {
        [batch, channels, plane @ ..] => Ok([*batch, *channels, plane.iter().product()]),
        _ => Err(Error::shape(op, "input", format!("{:?}", input.shape()), "[batch, channels, ..]")),
    }
}

/// Scales and shifts each channel.
#[track_caller]
fn affine(op: &'static str, y: Tensor, given: [Option<&Tensor>; 2]) -> Result<Tensor> {
    let channels = y.dims()[1];
    let shape: Vec<usize> = (0..y.rank()).map(|d| if d == 1 { channels } else { 1 }).collect();
    let mut y = y;
    for (i, param) in given.into_iter().enumerate() {
        let Some(param) = param else { continue };
        if param.dims() != [channels] {
            let name = ["weight", "bias"][i];
            return Err(Error::shape(op, name, format!("{:?}", param.shape()), format!("[{channels}]")));
        }
        let param = param.to_dtype(y.dtype())?.reshape(shape.clone())?;
        y = if i == 0 { y.broadcast_mul(&param)? } else { y.broadcast_add(&param)? };
    }
    Ok(y)
}

functions! {
    /// Groups of channels of `[batch, channels, ..]` normalised, each of `num_groups` groups of each batch element by its own mean and variance
    /// (of the population); then each channel is scaled by `weight` and shifted by `bias`.
    ///
    /// # Errors
    /// For channels that `num_groups` does not divide, and parameters that are not one number a channel.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 3.0, 10.0, 30.0]], &Device::Cpu)?;
    /// let y = opforge::functional::group_norm(&x, 2, None, None, 0.0)?;
    /// assert_eq!(y.to_vec2::<f32>()?, [[-1.0, 1.0, -1.0, 1.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(nn)]
    pub fn group_norm(
        input: &Tensor,
        num_groups: i64,
        weight: Option<&Tensor> = None,
        bias: Option<&Tensor> = None,
        eps: f64 = 1e-5,
    ) -> Result<Tensor> {
        let [batch, channels, plane] = sizes("group_norm", input)?;
        let groups = usize::try_from(num_groups).ok().filter(|&n| n > 0 && channels.is_multiple_of(n));
        let groups = groups.ok_or_else(|| {
            Error::value("group_norm", "num_groups", num_groups, format!("a divisor of the {channels} channels"))
        })?;
        let len = channels / groups * plane;
        let rows = input.reshape((batch * groups, len))?;
        let normal = layer_norm(&rows, &[len as i64], None, None, eps)?;
        affine("group_norm", normal.reshape(input.shape())?, [weight, bias])
    }

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
    #[python(nn)]
    pub fn instance_norm(
        input: &Tensor,
        running_mean: Option<&Tensor> = None,
        running_var: Option<&Tensor> = None,
        weight: Option<&Tensor> = None,
        bias: Option<&Tensor> = None,
        use_input_stats: bool = true,
        momentum: f64 = 0.1,
        eps: f64 = 1e-5,
    ) -> Result<Tensor> {
        if !use_input_stats {
            return batch_norm(input, running_mean, running_var, weight, bias, false, momentum, eps);
        }
        let [batch, channels, plane] = sizes("instance_norm", input)?;
        if plane < 2 {
            let accepted = "more than one element a channel";
            return Err(Error::shape("instance_norm", "input", format!("{:?}", input.shape()), accepted));
        }
        let (y, mean, var) = of_batch(&input.reshape((1, batch * channels, plane))?, [None, None], eps)?;
        for (name, running, now) in [("running_mean", running_mean, mean), ("running_var", running_var, var)] {
            let Some(running) = running else { continue };
            if running.dims() != [channels] {
                let given = format!("{:?}", running.shape());
                return Err(Error::shape("instance_norm", name, given, format!("[{channels}]")));
            }
            crate::autograd::no_grad(|| update_running(running, &now.reshape((batch, channels))?.mean(0)?, momentum))?;
        }
        affine("instance_norm", y.reshape(input.shape())?, [weight, bias])
    }
}
