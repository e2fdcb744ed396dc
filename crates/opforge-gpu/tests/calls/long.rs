//! Calls on tensors so long that groups of threads share their rows, and products so large that they are made of tiles: samples are small.

use opforge::autograd::{BackwardOptions, grad};
use opforge::ops::linalg::linear::linear;
use opforge::ops::nn::batch_norm::batch_norm;
use opforge::ops::nn::group_norm::group_norm;
use opforge::ops::nn::layer_norm::layer_norm;
use opforge::ops::nn::log_softmax::log_softmax;
use opforge::ops::nn::rms_norm::rms_norm;
use opforge::ops::nn::scaled_dot_product_attention::scaled_dot_product_attention;
use opforge::ops::nn::softmax::softmax;
use opforge::{DType, Device, Result, Tensor};

/// Numbers of one size, neither alike nor in order.
fn numbers(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let number = |i: usize| ((i * 7919 % 1013) as f64 / 506.5 - 1.0) + 0.1;
    let data: Vec<f64> = (0..shape.iter().product()).map(number).collect();
    Tensor::from_vec(data, shape, &Device::Cpu)?.to_dtype(dtype)?.to_device(device)
}

/// What calls give, one after the other: results and gradients.
struct Calls<'a> {
    dtype: DType,
    device: &'a Device,
    results: Vec<Tensor>,
}

impl Calls<'_> {
    /// A call of tensors of these shapes, and its gradients.
    fn of(&mut self, shapes: &[&[usize]], f: impl Fn(&[Tensor]) -> Result<Tensor>) -> Result<()> {
        let inputs =
            shapes.iter().map(|shape| numbers(shape, self.dtype, self.device)).collect::<Result<Vec<Tensor>>>()?;
        inputs.iter().try_for_each(|x| x.set_requires_grad(true))?;
        let y = f(&inputs)?;
        let seed = numbers(y.dims(), self.dtype, self.device)?;
        let gradients =
            grad(&[(y.clone(), Some(seed))], &inputs.iter().collect::<Vec<_>>(), BackwardOptions::default())?;
        self.results.push(y.detach());
        self.results.extend(gradients.into_iter().flatten());
        Ok(())
    }
}

/// All of them in one dtype, on a device.
pub fn calls(dtype: DType, device: &Device) -> Result<Vec<Tensor>> {
    let mut calls = Calls { dtype, device, results: Vec::new() };
    let row: &[usize] = &[3, 1100];
    calls.of(&[row], |x| x[0].sum(1))?;
    calls.of(&[row], |x| x[0].mean_all())?;
    calls.of(&[row], |x| x[0].max(1))?;
    calls.of(&[row], |x| x[0].var(1))?;
    calls.of(&[&[1100, 3]], |x| x[0].sum(0))?;
    calls.of(&[row], |x| softmax(&x[0], 1, None))?;
    calls.of(&[&[700, 2]], |x| softmax(&x[0], 0, None))?;
    calls.of(&[row], |x| log_softmax(&x[0], 1, None))?;
    calls.of(&[row, &[1100], &[1100]], |x| layer_norm(&x[0], &[1100], Some(&x[1]), Some(&x[2]), 1e-5))?;
    calls.of(&[row, &[1100]], |x| rms_norm(&x[0], &[1100], Some(&x[1]), Some(1e-5)))?;
    calls.of(&[&[40, 3, 20], &[3], &[3]], |x| {
        batch_norm(&x[0], None, None, Some(&x[1]), Some(&x[2]), true, 0.1, 1e-5)
    })?;
    calls.of(&[&[2, 4, 400], &[4], &[4]], |x| group_norm(&x[0], 2, Some(&x[1]), Some(&x[2]), 1e-5))?;
    calls.of(&[&[70, 40], &[40, 50]], |x| x[0].matmul(&x[1]))?;
    calls.of(&[&[2, 33, 40], &[2, 40, 50]], |x| x[0].matmul(&x[1]))?;
    calls.of(&[&[70, 40], &[50, 40], &[50]], |x| linear(&x[0], &x[1], Some(&x[2])))?;
    calls.of(&[&[1, 4, 5, 16], &[1, 2, 600, 16], &[1, 2, 600, 8]], |x| {
        scaled_dot_product_attention(&x[0], &x[1], &x[2], None, 0.0, false, None, true)
    })?;
    Ok(calls.results)
}
