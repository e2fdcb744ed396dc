//! Embedding bags (sums, means or maxima of rows of a table), and bilinear products.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { embedding_bag, bilinear }

/// The rows of `weight` that each bag names, combined by `mode`: `"sum"`, `"mean"` or `"max"`. A row of a matrix `input` is a bag; of a vector,
/// `offsets` says where each bag begins (and, with `include_last_offset`, where the last one ends). `per_sample_weights` scale the rows of a
/// sum; rows `padding_idx` are left out. A bag of nothing is 0.
///
/// # Errors
/// For shapes that do not go together, other modes, weights with a mode other than `"sum"`, and as
/// [`embedding`](fn@crate::functional::embedding).
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let table = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let bags = Tensor::new(&[[0i64, 1], [1, 1]], &Device::Cpu)?;
/// let y = f::embedding_bag(&bags, &table, None, None, 2.0, false, "sum", false, None, false, None)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[4.0, 6.0], [6.0, 8.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(offsets = None, max_norm = None, norm_type = 2.0, scale_grad_by_freq = false, mode = "mean", sparse = false, per_sample_weights = None, include_last_offset = false, padding_idx = None)]
#[python(nn)]
pub fn embedding_bag(
    input: &Tensor,
    weight: &Tensor,
    offsets: Option<&Tensor>,
    max_norm: Option<f64>,
    norm_type: f64,
    scale_grad_by_freq: bool,
    mode: &str,
    sparse: bool,
    per_sample_weights: Option<&Tensor>,
    include_last_offset: bool,
    padding_idx: Option<i64>,
) -> Result<Tensor> {
    // `max_norm` changes the weight: nothing may be refused after it.
    ensure(["sum", "mean", "max"].contains(&mode), || Error::value(OP, "mode", mode, "\"sum\", \"mean\" or \"max\""))?;
    if per_sample_weights.is_some_and(|w| mode != "sum" || w.shape() != input.shape()) {
        let accepted = "none, or with the mode \"sum\" a weight for each index";
        return Err(Error::value(OP, "per_sample_weights", "given", accepted));
    }
    let ids = input.flatten_all()?;
    let (bag, count) = bags(input, offsets, include_last_offset)?;
    let mut rows = f::embedding(&ids, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)?;
    let mut counted = Tensor::ones(ids.elem_count(), rows.dtype(), rows.device())?;
    if let Some(row) = padding_idx {
        let row = f::position(OP, weight.dims()[0], row)? as i64;
        counted = ids.to_dtype(DType::I64)?.ne(row)?.to_dtype(rows.dtype())?;
    }
    if let Some(weights) = per_sample_weights {
        rows = rows.broadcast_mul(&weights.flatten_all()?.to_dtype(rows.dtype())?.unsqueeze(1)?)?;
    }
    let width = weight.dims()[1];
    // Bags of one size lie in order.
    if let &[_, size] = input.dims()
        && size > 0
        && mode != "max"
        && padding_idx.is_none()
    {
        let rows = rows.reshape((count, size, width))?;
        return if mode == "sum" { rows.sum(1) } else { rows.mean(1) };
    }
    let zeros = Tensor::zeros((count, width), rows.dtype(), rows.device())?;
    let sum = |rows: &Tensor| zeros.index_add(&bag, &rows.broadcast_mul(&counted.unsqueeze(1)?)?, 0);
    match mode {
        "sum" => sum(&rows),
        "mean" => {
            let sizes = Tensor::zeros(count, rows.dtype(), rows.device())?.index_add(&bag, &counted, 0)?;
            sum(&rows)?.broadcast_div(&f::clamp(&sizes, Some(1.0.into()), None)?.unsqueeze(1)?)
        }
        _ => {
            let left_out = counted.eq(0.0)?.unsqueeze(1)?;
            let lowest = Tensor::full_scalar(Scalar::Float(f64::NEG_INFINITY), (), rows.dtype(), rows.device())?;
            let rows = f::where_cond(&left_out, (&lowest).into(), (&rows).into())?;
            let ids = bag.unsqueeze(1)?.broadcast_as((bag.elem_count(), width))?;
            let base = lowest.broadcast_as((count, width))?;
            let most = f::scatter_reduce(&base, 0, &ids, &rows, "amax", true)?;
            let nothing = f::eq((&most).into(), f64::NEG_INFINITY.into())?;
            f::masked_fill(&most, &nothing, Operand::Scalar(Scalar::Int(0)))
        }
    }
}

/// `x1^T weight[k] x2 + bias[k]` for each `k`, over the last dimensions: `weight` is `[out, width1, width2]`.
///
/// # Errors
/// For shapes that do not go together.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, w) = (Tensor::new(&[[1f32, 2.0]], &Device::Cpu)?, Tensor::new(&[[[1f32, 0.0], [0.0, 1.0]]], &Device::Cpu)?);
/// assert_eq!(f::bilinear(&x, &x, &w, None)?.to_vec2::<f32>()?, [[5.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(bias = None)]
#[python(nn)]
pub fn bilinear(input1: &Tensor, input2: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let (out, width1, width2) = weight.shape().dims3()?;
    let (Some((&last1, lead1)), Some((&last2, lead2))) = (input1.dims().split_last(), input2.dims().split_last())
    else {
        return Err(f::no_dims(OP));
    };
    ensure(lead1 == lead2 && last1 == width1 && last2 == width2, || {
        Error::shapes(OP, input1.shape(), input2.shape(), format!("[.., {width1}] and [.., {width2}]"))
    })?;
    let folded = weight.permute((1, 0, 2))?.reshape((width1, out * width2))?;
    let half = f::matmul(input1, &folded)?.reshape([lead1, &[out, width2]].concat())?;
    let y = half.broadcast_mul(&input2.unsqueeze(input2.rank() - 1)?)?.sum(lead1.len() + 1)?;
    match bias {
        Some(bias) => y.broadcast_add(bias),
        None => Ok(y),
    }
}

/// The bag of each index, and the number of bags.
#[track_caller]
fn bags(input: &Tensor, offsets: Option<&Tensor>, include_last: bool) -> Result<(Tensor, usize)> {
    let device = input.device();
    match (input.dims(), offsets) {
        (&[count, size], None) => {
            let bag = Tensor::arange(0i64, count as i64, device)?.reshape((count, 1))?;
            Ok((bag.broadcast_as((count, size))?.flatten_all()?, count))
        }
        (&[n], Some(offsets)) if offsets.rank() == 1 && offsets.dtype().is_int() => {
            let count = offsets.elem_count().saturating_sub(include_last.into());
            let offsets = offsets.to_dtype(DType::I64)?;
            let starts = offsets.to_vec1::<i64>()?;
            let ascending = starts.windows(2).all(|w| w[0] <= w[1]);
            let begins = starts.first().map_or(n == 0, |&s| s == 0);
            if !ascending || !begins || starts.last().is_some_and(|&s| s > n as i64) {
                let accepted = format!("ascending positions from 0 to at most {n}");
                return Err(Error::value("embedding_bag", "offsets", format!("{starts:?}"), accepted));
            }
            let places = Tensor::arange(0i64, n as i64, device)?;
            let bag = f::searchsorted(&offsets.narrow(0, 0, count)?, (&places).into(), false, true, None, None)?;
            Ok((bag.affine(1.0, -1.0)?, count))
        }
        _ => {
            let accepted = "a matrix, or a vector and offsets, a vector of integers";
            Err(wrong_shape("embedding_bag", "input", input.shape(), accepted))
        }
    }
}
