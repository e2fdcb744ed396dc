//! `embedding(ids, weight)`: rows of a table, by index.

use opforge_tile::forms::Special;

use super::index_select::IndexSelect;
use crate::autograd::record_function;
use crate::ops::prelude::*;

/// The rows of `weight` (`[rows, width]`) that `input`, integers of any shape, names: the result is `[.., width]`. Row `padding_idx` gets no
/// gradient. With `max_norm`, named rows whose norm of order `norm_type` is larger are first scaled down to it, in place. With
/// `scale_grad_by_freq` the gradient of a row is divided by how often it is named.
///
/// # Errors
/// For an index that is negative or not less than the number of rows. Gradients are dense also with `sparse`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let table = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let ids = Tensor::new(&[1i64, 0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::embedding(&ids, &table, None, None, 2.0, false, false)?.to_vec2::<f32>()?, [[3.0, 4.0], [1.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(padding_idx = None, max_norm = None, norm_type = 2.0, scale_grad_by_freq = false, sparse = false)]
#[python(nn)]
#[operator(DTypes::ALL, samples)]
pub fn embedding(
    input: &Tensor,
    weight: &Tensor,
    padding_idx: Option<i64>,
    max_norm: Option<f64>,
    norm_type: f64,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Result<Tensor> {
    let _ = sparse;
    ensure(weight.rank() == 2, || wrong_shape(OP, "weight", weight.shape(), "rank 2"))?;
    if let Some(max_norm) = max_norm {
        limit_norms(input, weight, max_norm, norm_type)?;
    }
    let mut rows = dispatch1(&IndexSelect { dim: 0, special: Special::None }, &[weight, input])?;
    if scale_grad_by_freq && rows.requires_grad() {
        rows = shared_gradient(input, &rows, weight.dims()[0])?;
    }
    match padding_idx {
        Some(row) if rows.requires_grad() => {
            let row = crate::functional::position(OP, weight.dims()[0], row)?;
            let padding = input.to_dtype(DType::I64)?.eq(row as i64)?.unsqueeze(input.rank())?;
            crate::functional::where_cond(&padding, (&rows.detach()).into(), (&rows).into())
        }
        _ => Ok(rows),
    }
}

/// The rows, whose gradients are divided by how often each is named.
#[track_caller]
fn shared_gradient(input: &Tensor, rows: &Tensor, count: usize) -> Result<Tensor> {
    let ids = input.flatten_all()?.to_dtype(DType::I64)?;
    let often = crate::functional::bincount(&ids, None, count as i64)?.index_select(&ids, 0)?;
    let share = often.to_dtype(rows.dtype())?.recip()?.reshape(input.shape())?.unsqueeze(input.rank())?;
    let backward = move |grads: &[Option<Tensor>], _: &[bool]| {
        grads[0].as_ref().map(|grad| grad.broadcast_mul(&share)).transpose().map(|grad| vec![grad])
    };
    Ok(record_function("embedding", &[rows], &[rows.detach()], &[true], Arc::new(backward))?.remove(0))
}

/// Scales the rows that indices name down to a norm, in place.
#[track_caller]
fn limit_norms(input: &Tensor, weight: &Tensor, max_norm: f64, order: f64) -> Result<()> {
    let (weight, ids) = (weight.detach(), input.flatten_all()?);
    let rows = weight.index_select(&ids, 0)?;
    let norms = crate::functional::p_norm(&rows, order, 1, true)?;
    let scale = norms.affine(1.0, 1e-7)?.recip()?.affine(max_norm, 0.0)?;
    let scale = scale.minimum(&norms.ones_like()?)?;
    let kept = norms.gt(max_norm)?.where_cond(&scale, &norms.ones_like()?)?;
    weight.index_put_set(&[Some(ids.to_dtype(DType::I64)?)], &rows.broadcast_mul(&kept)?, false)
}

fn samples() -> Vec<Sample> {
    let inputs = vec![Array::spread(&[4, 3], -2.0..2.0), Array::indices(&[2, 2], 4)];
    vec![Sample::composed(
        "embedding",
        |x| embedding(x[1], x[0], None, None, 2.0, false, false),
        inputs,
        |x| Array::from_fn(&[2, 2, 3], |i| x[0].at(&[x[1].at(&i[..2]) as usize, i[2]])),
    )]
}
