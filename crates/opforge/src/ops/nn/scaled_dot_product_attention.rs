//! `scaled_dot_product_attention(q, k, v) = softmax(q k^T scale) v`.
//!
//! Source: Vaswani and others, "Attention Is All You Need" (2017); by blocks as in Dao and others, "FlashAttention" (2022).

use opforge_tile::forms;

use crate::autograd::is_grad_enabled;
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of attention: `q [.., n, width]`, `k [.., m, width]` and `v [.., m, size]`, in f32 or f64, or in halves on CPUs and CUDA devices, of
/// equal leading dimensions (but for the heads, of which each of k and v may serve several of q), and perhaps a mask `[.., n, m]`, which gets no
/// gradient. The scores are never there as a whole; the gradient computes them again, that of halves in f32 on CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Attention {
    /// What scores are multiplied by.
    pub scale: Scalar,
    /// Whether a query sees only the keys up to its own position.
    pub causal: bool,
}

impl Attention {
    fn form(&self, gradient: bool) -> forms::Attention {
        forms::Attention { scale: self.scale, causal: self.causal, gradient }
    }
}

impl Operator for Attention {
    fn name(&self) -> &'static str {
        NAME
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(NAME, inputs, if inputs.len() == 4 { 4 } else { 3 })?;
        let [q, k, v] = [inputs[0], inputs[1], inputs[2]];
        let mismatch =
            || Error::shapes(NAME, q.shape(), k.shape(), "q [.., n, width], k [.., m, width] and v [.., m, size]");
        let ([lead @ .., rows, _], [.., size]) = (q.dims(), v.dims()) else { return Err(mismatch()) };
        if [k, v].iter().any(|t| t.rank() != q.rank()) {
            return Err(mismatch());
        }
        if let Some(other) = [k, v].into_iter().find(|t| t.dtype != q.dtype) {
            return Err(Error::dtypes(NAME, q.dtype, other.dtype));
        }
        let shape: Shape = lead.iter().copied().chain([*rows, *size]).collect();
        Ok(smallvec![Meta::contiguous(q.dtype, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        lead_axes(inputs, 1)
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Attention(self.form(false)))
    }

    fn saves(&self) -> Saves {
        Saves::INPUTS
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let ([q, k, v], grad) = ([ctx.input(0)?, ctx.input(1)?, ctx.input(2)?], ctx.grad(0)?);
        let (dtype, on_cpu) = (q.dtype(), q.device().is_cpu());
        let taken = if on_cpu && dtype != DType::F64 { DType::F32 } else { dtype };
        let [q, k, v, grad] = [q.to_dtype(taken)?, k.to_dtype(taken)?, v.to_dtype(taken)?, grad.to_dtype(taken)?];
        let mask = if ctx.input_count() > 3 { Some(ctx.input(3)?) } else { None };
        let grads: Grads = if q.elem_count() == 0 {
            // Nobody looks at keys and values: their gradients are sums of nothing.
            [&q, &k, &v].into_iter().map(|t| t.zeros_like().map(Some)).collect::<Result<_>>()?
        } else if is_grad_enabled() {
            self.composed_grads([&q, &k, &v], mask.as_ref(), &grad)?
        } else {
            let inputs: SmallVec<[&Tensor; 5]> = [&q, &k, &v, &grad].into_iter().chain(&mask).collect();
            dispatch(&AttentionGrad(self.clone()), &inputs)?.into_iter().map(Some).collect()
        };
        let narrow = |grad: Option<Tensor>| grad.map(|grad| grad.to_dtype(dtype)).transpose();
        let mut grads = grads.into_iter().map(narrow).collect::<Result<Grads>>()?;
        grads.extend(mask.map(|_| None));
        Ok(grads)
    }
}

impl Attention {
    /// The gradients made of operators, so that they can be differentiated again.
    #[track_caller]
    fn composed_grads(&self, [q, k, v]: [&Tensor; 3], mask: Option<&Tensor>, grad: &Tensor) -> Result<Grads> {
        let turned = |t: &Tensor| t.transpose(t.rank() - 2, t.rank() - 1);
        let [many_k, many_v] = [shared_heads(q, k)?, shared_heads(q, v)?];
        let scaled = q.affine(self.scale.to_f64(), 0.0)?;
        let scores = f::matmul(&scaled, &turned(&many_k)?)?;
        let weights = self.weights(scores, mask)?;
        let by_weights = f::matmul(grad, &turned(&many_v)?)?;
        let mean = by_weights.mul(&weights)?.sum_keepdim(weights.rank() - 1)?;
        let by_scores = by_weights.broadcast_sub(&mean)?.mul(&weights)?;
        let by_q = f::matmul(&by_scores, &many_k)?.affine(self.scale.to_f64(), 0.0)?;
        let by_k = f::matmul(&turned(&by_scores)?, &scaled)?;
        let by_v = f::matmul(&turned(&weights)?, grad)?;
        Ok(smallvec![Some(by_q), Some(summed_heads(by_k, k)?), Some(summed_heads(by_v, v)?)])
    }

    /// The weights that scores become.
    #[track_caller]
    fn weights(&self, scores: Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
        let scores = if self.causal { causal(&scores)? } else { scores };
        match mask {
            Some(mask) => masked_softmax(&scores, mask),
            None => f::softmax(&scores, -1, None),
        }
    }
}

/// The gradients of [`Attention`] with respect to q, k and v, from those and the output's. Only called where nothing is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct AttentionGrad(Attention);

impl Operator for AttentionGrad {
    fn name(&self) -> &'static str {
        "scaled_dot_product_attention_grad"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity_within(self.name(), inputs, 4..=5, (4, 2))?;
        let differs = |input: &&Meta| input.rank() != inputs[0].rank();
        ensure(!inputs[..3].iter().any(differs), || {
            Error::shapes(NAME, inputs[0].shape(), inputs[1].shape(), "equal ranks")
        })?;
        Ok(inputs[..3].iter().map(|t| Meta::contiguous(t.dtype, t.shape())).collect())
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        lead_axes(inputs, 3)
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Attention(self.0.form(true)))
    }
}

/// Leading dimensions are independent, but for heads that are shared.
fn lead_axes(inputs: &[&Meta], outputs: usize) -> AxisMap {
    let (q, k) = (inputs[0].dims(), inputs[1].dims());
    let letter = |d: usize| if q[d] == k[d] { (b'a' + d as u8) as char } else { '.' };
    let one: String = (0..q.len() - 2).map(letter).chain("..".chars()).collect();
    let all = |count: usize| vec![one.as_str(); count].join(",");
    AxisMap::letters(&format!("{}->{}", all(inputs.len()), all(outputs)), &[])
}

const NAME: &str = "scaled_dot_product_attention";

/// `softmax(query key^T scale) value` over the last two dimensions, `[.., length, width]`; `scale` is 1 over the root of the width, unless
/// given. `attn_mask` is true where attention may go (bool), or is added to the scores (floats); `is_causal` lets a position see those up to
/// its own. A row that may see nothing gives 0. With `enable_gqa` each head (third dimension from the end) of key and value serves several
/// of the query. `dropout_p` drops weights.
///
/// # Errors
/// For shapes that do not go together, a mask of integers, and both a mask and `is_causal`.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[1f32, 0.0], [0.0, 1.0]], &Device::Cpu)?;
/// let y = f::scaled_dot_product_attention(&x, &x, &x, None, 0.0, true, None, false)?;
/// assert_eq!(y.get(0)?.to_vec1::<f32>()?, [1.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(attn_mask = None, dropout_p = 0.0, is_causal = false, *, scale = None, enable_gqa = false)]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, Attention, AttentionGrad)]
pub fn scaled_dot_product_attention(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    attn_mask: Option<&Tensor>,
    dropout_p: f64,
    is_causal: bool,
    scale: Option<f64>,
    enable_gqa: bool,
) -> Result<Tensor> {
    let ranks = [query, key, value].map(Tensor::rank);
    if ranks.iter().any(|&rank| rank < 2) {
        return Err(Error::shapes(NAME, query.shape(), key.shape(), "tensors [.., length, width]"));
    }
    if attn_mask.is_some() && is_causal {
        return Err(Error::value(NAME, "is_causal", true, "false, beside attn_mask"));
    }
    if let Some(mask) = attn_mask.filter(|mask| mask.dtype() != DType::Bool && !mask.dtype().is_float()) {
        return Err(Error::dtype(NAME, "attn_mask", mask.dtype(), "bool or a floating-point dtype"));
    }
    let width = query.dims()[ranks[0] - 1].max(1) as f64;
    let op = Attention { scale: Scalar::Float(scale.unwrap_or(1.0 / width.sqrt())), causal: is_causal };
    if dropout_p == 0.0
        && alike([query, key, value], enable_gqa)
        && attn_mask.is_none_or(|mask| spreads(mask, query, key))
    {
        return op.fused([query, key, value], attn_mask);
    }
    let (key, value) = match enable_gqa {
        true => (shared_heads(query, key)?, shared_heads(query, value)?),
        false => (key.clone(), value.clone()),
    };
    let scaled = crate::functional::affine(query, op.scale.to_f64(), 0.0)?;
    let scores = f::matmul(&scaled, &key.transpose(key.rank() - 2, key.rank() - 1)?)?;
    let weights = op.weights(scores, attn_mask)?;
    f::matmul(&f::dropout(&weights, dropout_p, true, false)?, &value)
}

impl Attention {
    /// The operator's result for floats of any width: halves are the business of CPUs and CUDA devices, and f32 elsewhere.
    #[track_caller]
    fn fused(&self, [query, key, value]: [&Tensor; 3], mask: Option<&Tensor>) -> Result<Tensor> {
        let wide = if query.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let taken = match query.dtype() {
            half @ (DType::F16 | DType::BF16) if query.device().is_cpu() || query.device().is_cuda() => half,
            _ => wide,
        };
        let inputs = [query.to_dtype(taken)?, key.to_dtype(taken)?, value.to_dtype(taken)?];
        let mask = mask.map(|mask| {
            let mask = if mask.dtype() == DType::Bool { mask.clone() } else { mask.to_dtype(wide)? };
            let (rank, k) = (query.rank(), key.rank());
            let lengths = [query.dims()[rank - 2], key.dims()[k - 2]];
            mask.broadcast_as([&query.dims()[..rank - 2], &lengths[..]].concat())
        });
        let mask = mask.transpose()?;
        let inputs: SmallVec<[&Tensor; 4]> = inputs.iter().chain(&mask).collect();
        dispatch1(self, &inputs)?.to_dtype(query.dtype())
    }
}

/// Whether the operator takes these: floats of one dtype, with equal leading dimensions (but for heads that may be shared), that go together.
fn alike([q, k, v]: [&Tensor; 3], shared: bool) -> bool {
    let rank = q.rank();
    if [k, v].into_iter().any(|t| t.dtype() != q.dtype() || t.rank() != rank) || !q.dtype().is_float() {
        return false;
    }
    let lead = |t: &Tensor| t.dims()[..rank - 2].to_vec();
    let serves = match (lead(q).split_last(), lead(k).split_last()) {
        (Some((many, rest)), Some((few, batch))) if shared => rest == batch && *few > 0 && many % few == 0,
        _ => lead(q) == lead(k),
    };
    serves && lead(k) == lead(v) && k.dims()[rank - 1] == q.dims()[rank - 1] && k.dims()[rank - 2] == v.dims()[rank - 2]
}

/// Whether the operator takes this mask: one without a gradient, that broadcasts to the scores.
fn spreads(mask: &Tensor, q: &Tensor, k: &Tensor) -> bool {
    let rank = q.rank();
    let scores = q.dims()[..rank - 2].iter().chain(&q.dims()[rank - 2..rank - 1]).chain(&k.dims()[rank - 2..rank - 1]);
    let fits = mask.dims().iter().rev().zip(scores.rev()).all(|(m, s)| m == s || *m == 1);
    mask.rank() <= rank && fits && !(mask.requires_grad() && is_grad_enabled())
}

/// The heads of key or value, repeated to as many as the query has.
#[track_caller]
fn shared_heads(query: &Tensor, t: &Tensor) -> Result<Tensor> {
    let heads = |t: &Tensor| t.rank().checked_sub(3).map(|d| t.dims()[d]);
    match (heads(query), heads(t)) {
        (many, few) if many == few => Ok(t.clone()),
        (Some(many), Some(few)) if few > 0 && many.is_multiple_of(few) => {
            f::repeat_interleave(t, (many / few) as i64, Some(-3), None)
        }
        _ => {
            Err(Error::shapes(NAME, query.shape(), t.shape(), "heads of the query that are a multiple of the others'"))
        }
    }
}

/// The gradient of heads that were repeated, of the shape of `t`.
#[track_caller]
fn summed_heads(grad: Tensor, t: &Tensor) -> Result<Tensor> {
    if grad.dims() == t.dims() {
        return Ok(grad);
    }
    let d = t.rank() - 3;
    let groups = [&t.dims()[..=d], &[grad.dims()[d] / t.dims()[d]], &t.dims()[d + 1..]].concat();
    grad.reshape(groups)?.sum(d + 1)
}

/// Minus infinity where a position (row) would see a later one (column).
#[track_caller]
fn causal(scores: &Tensor) -> Result<Tensor> {
    let [rows, columns] = [scores.dims()[scores.rank() - 2], scores.dims()[scores.rank() - 1]];
    let seen = f::tril(&Tensor::ones((rows, columns), DType::Bool, scores.device())?, 0)?;
    f::where_cond(&seen, scores.into(), f64::NEG_INFINITY.into())
}

/// Softmax of the scores that a mask lets through; rows without any are 0.
#[track_caller]
fn masked_softmax(scores: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let masked = match mask.dtype() {
        DType::Bool => f::where_cond(mask, scores.into(), f64::NEG_INFINITY.into())?,
        _ => scores.broadcast_add(&mask.to_dtype(scores.dtype())?)?,
    };
    let highest = f::amax(&masked.detach(), Some(&[-1]), true)?;
    let blind = f::eq((&highest).into(), f64::NEG_INFINITY.into())?;
    // Not only the weights: the gradient of nothing but -inf would be NaN.
    let blank = |t: &Tensor| f::masked_fill(t, &blind, Operand::Scalar(Scalar::Int(0)));
    blank(&f::softmax(&blank(&masked)?, -1, None)?)
}

/// The mask of samples: some pairs are hidden, and all of the second row.
fn hides(row: usize, key: usize) -> bool {
    row == 1 || (2 * row + key) % 3 == 1
}

/// A mask `[n, m]` for samples; of floats it adds [`SAMPLE_BIAS`] where it hides nothing.
fn sample_mask(kind: DType, [n, m]: [usize; 2], device: &Device) -> Result<Tensor> {
    let seen = |i: usize| u8::from(!hides(i / m, i % m));
    let seen = Tensor::from_vec((0..n * m).map(seen).collect::<Vec<u8>>(), (n, m), device)?.to_dtype(DType::Bool)?;
    match kind {
        DType::Bool => Ok(seen),
        _ => {
            let bias = Tensor::full(SAMPLE_BIAS as f32, (n, m), device)?;
            f::where_cond(&seen, (&bias).into(), f64::NEG_INFINITY.into())
        }
    }
}

const SAMPLE_BIAS: f64 = 0.25;

fn samples() -> Vec<Sample> {
    // Leading dimensions of the query and of the others, lengths, whether causal, the mask's dtype.
    let sample = |lead: &[usize], few: &[usize], [n, m]: [usize; 2], causal: bool, mask: Option<DType>| {
        let shape = |lead: &[usize], rows: usize, columns: usize| [lead, &[rows, columns]].concat();
        let inputs = [shape(lead, n, 3), shape(few, m, 3), shape(few, m, 2)];
        let inputs = inputs.map(|shape| Array::spread(&shape, -1.0..1.0));
        let shared = lead != few;
        let call = move |x: &[&Tensor]| {
            let mask = mask.map(|kind| sample_mask(kind, [n, m], x[0].device())).transpose()?;
            scaled_dot_product_attention(x[0], x[1], x[2], mask.as_ref(), 0.0, causal, Some(0.7), shared)
        };
        let (result, few) = (shape(lead, n, 2), few.to_vec());
        Sample::composed(NAME, call, inputs.into(), move |x| {
            Array::from_fn(&result, |at| {
                let (lead, [row, column]) = (&at[..at.len() - 2], [at[at.len() - 2], at[at.len() - 1]]);
                let mut head = lead.to_vec();
                if let (Some(head), Some(few)) = (head.last_mut(), few.last()) {
                    *head /= result[lead.len() - 1] / few;
                }
                let value =
                    |t: usize, i: usize, j: usize| x[t].at(&[if t == 0 { lead } else { &head }, &[i, j]].concat());
                let score = |key: usize| {
                    let score = 0.7 * (0..3).map(|i| value(0, row, i) * value(1, key, i)).sum::<f64>();
                    match mask.filter(|_| hides(row, key)) {
                        _ if causal && key > row => f64::NEG_INFINITY,
                        Some(DType::Bool) => f64::NEG_INFINITY,
                        Some(_) => score + f64::NEG_INFINITY,
                        None => score + SAMPLE_BIAS,
                    }
                };
                let blind = mask.is_some() && (0..m).all(|key| score(key) == f64::NEG_INFINITY);
                let most = (0..m).map(score).fold(f64::NEG_INFINITY, f64::max);
                let weight = |key: usize| if blind { 0.0 } else { (score(key) - most).exp() };
                let sum = if blind { 1.0 } else { (0..m).map(weight).sum::<f64>() };
                (0..m).map(|key| weight(key) / sum * value(2, key, column)).sum()
            })
        })
    };
    vec![
        sample(&[], &[], [4, 5], false, None),
        sample(&[2], &[2], [5, 5], true, None),
        sample(&[2, 1], &[2, 1], [20, 20], true, None),
        sample(&[1], &[1], [40, 3], false, None),
        sample(&[2, 2], &[2, 2], [4, 3], false, Some(DType::Bool)),
        sample(&[2], &[2], [20, 3], false, Some(DType::F32)),
        sample(&[2, 4], &[2, 2], [5, 5], true, None),
        sample(&[4], &[1], [3, 4], false, Some(DType::Bool)),
    ]
}
