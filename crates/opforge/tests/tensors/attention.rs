//! Attention in one operator beside attention composed of others, which a mask that needs a gradient calls for.

use opforge::functional::scaled_dot_product_attention;
use opforge::{DType, Device, Result, Tensor};

fn randn(shape: &[usize]) -> Result<Tensor> {
    let x = Tensor::randn(0f64, 1f64, shape, &Device::Cpu)?;
    x.set_requires_grad(true)?;
    Ok(x)
}

/// The result, and the gradients of all that need one.
fn run(inputs: [&Tensor; 3], mask: &Tensor, shared: bool) -> Result<Vec<Tensor>> {
    let y = scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], Some(mask), 0.0, false, None, shared)?;
    let grads = y.sqr()?.sum_all()?.backward()?;
    let by = inputs.map(|x| grads.get(x).expect("a gradient").clone());
    Ok([y.detach()].into_iter().chain(by).collect())
}

fn check(batch: &[usize], heads: [usize; 2], lengths: [usize; 2], mask: &[usize]) -> Result<()> {
    let shape = |heads: usize, rows: usize, width: usize| [batch, &[heads, rows, width]].concat();
    let [q, k, v] = [(heads[0], lengths[0], 8), (heads[1], lengths[1], 8), (heads[1], lengths[1], 5)]
        .map(|(heads, rows, width)| randn(&shape(heads, rows, width)));
    let (q, k, v) = (q?, k?, v?);
    // A third of the pairs is hidden, and where rows are given the first of them sees nothing.
    let count: usize = mask.iter().product();
    let seen = |i: usize| u8::from(i % 3 != 1 && !(mask[mask.len() - 2] > 1 && i < lengths[1]));
    let seen =
        Tensor::from_vec((0..count).map(seen).collect::<Vec<u8>>(), mask, &Device::Cpu)?.to_dtype(DType::Bool)?;
    let added = seen
        .where_cond(&seen.zeros_like()?.to_dtype(DType::F64)?, &Tensor::full(f64::NEG_INFINITY, mask, &Device::Cpu)?)?;
    let composed = added.detach();
    composed.set_requires_grad(true)?;
    let expected = run([&q, &k, &v], &composed, heads[0] != heads[1])?;
    for mask in [&seen, &added] {
        for (got, expected) in run([&q, &k, &v], mask, heads[0] != heads[1])?.iter().zip(&expected) {
            let off = got.sub(expected)?.abs()?.max_all()?.to_scalar::<f64>()?;
            assert!(off < 1e-12, "{off} at {batch:?}, {heads:?}, {lengths:?}, mask {:?} {}", mask.dims(), mask.dtype());
        }
    }
    Ok(())
}

#[test]
fn masks_of_every_shape() -> Result<()> {
    check(&[2], [3, 3], [200, 70], &[200, 70])?;
    check(&[2], [3, 3], [33, 40], &[2, 1, 1, 40])?;
    check(&[2], [3, 3], [33, 40], &[1, 3, 33, 40])?;
    check(&[2], [3, 3], [9, 4], &[2, 3, 9, 4])?;
    check(&[2], [3, 3], [9, 4], &[9, 1])?;
    check(&[], [2, 2], [1500, 300], &[1500, 300])
}

#[test]
fn heads_that_share_keys() -> Result<()> {
    check(&[2], [6, 2], [150, 60], &[150, 60])?;
    check(&[2], [4, 1], [7, 5], &[2, 4, 7, 5])?;
    check(&[], [4, 2], [7, 5], &[4, 1, 5])
}

#[test]
fn infinite_scores_stay_nan() -> Result<()> {
    let q = Tensor::new(&[[f32::INFINITY, 1.0], [1.0, 0.0]], &Device::Cpu)?;
    let k = Tensor::new(&[[1f32, 0.0], [2.0, 0.0]], &Device::Cpu)?;
    let mask = Tensor::ones((2, 2), DType::Bool, &Device::Cpu)?;
    let y = scaled_dot_product_attention(&q, &k, &k, Some(&mask), 0.0, false, None, false)?.to_vec2::<f32>()?;
    assert!(y[0][0].is_nan() && y[1][0] > 1.0);
    Ok(())
}
