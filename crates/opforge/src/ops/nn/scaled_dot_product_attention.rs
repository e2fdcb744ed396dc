//! `scaled_dot_product_attention(q, k, v) = softmax(q k^T scale) v`.
//!
//! Source: Vaswani and others, "Attention Is All You Need" (2017); by blocks as in Dao and others, "FlashAttention" (2022).

use opforge_cpu::attention;

use crate::autograd::is_grad_enabled;
use crate::functional as f;
use crate::operator::prelude::*;

/// The operator of attention without a mask: `q [.., n, width]`, `k [.., m, width]` and `v [.., m, size]` of equal leading dimensions, in f32
/// or f64. The scores are never there as a whole; the gradient computes them again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Attention {
    /// What scores are multiplied by.
    pub scale: Scalar,
    /// Whether a query sees only the keys up to its own position.
    pub causal: bool,
}

impl Attention {
    fn how(&self) -> attention::Attention {
        attention::Attention { scale: self.scale.to_f64(), causal: self.causal }
    }
}

impl Operator for Attention {
    fn name(&self) -> &'static str {
        NAME
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(NAME, inputs, 3)?;
        let [q, k, v] = [inputs[0], inputs[1], inputs[2]];
        let mismatch =
            || Error::shapes(NAME, q.shape(), k.shape(), "q [.., n, width], k [.., m, width] and v [.., m, size]");
        let ([lead @ .., rows, _], [.., size]) = (q.dims(), v.dims()) else { return Err(mismatch()) };
        if [k, v].iter().any(|t| t.rank() != q.rank() || !t.dims().starts_with(lead)) {
            return Err(mismatch());
        }
        if let Some(other) = [k, v].into_iter().find(|t| t.dtype != q.dtype) {
            return Err(Error::dtypes(NAME, q.dtype, other.dtype));
        }
        let shape: Shape = lead.iter().copied().chain([*rows, *size]).collect();
        Ok(smallvec![Meta::contiguous(q.dtype, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let one = lead_axes(inputs[0]);
        AxisMap::letters(&format!("{one},{one},{one}->{one}"), &[])
    }

    fn kernel(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        attention::attention(NAME, self.how(), [inputs[0], inputs[1], inputs[2]], outputs[0])
    }

    fn saves(&self) -> Saves {
        Saves::INPUTS
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let ([q, k, v], grad) = ([ctx.input(0)?, ctx.input(1)?, ctx.input(2)?], ctx.grad(0)?);
        if is_grad_enabled() {
            return self.composed_grads([&q, &k, &v], &grad);
        }
        let grads = dispatch(&AttentionGrad(self.clone()), &[&q, &k, &v, &grad])?;
        Ok(grads.into_iter().map(Some).collect())
    }
}

impl Attention {
    /// The gradients made of operators, so that they can be differentiated again.
    #[track_caller]
    fn composed_grads(&self, [q, k, v]: [&Tensor; 3], grad: &Tensor) -> Result<Grads> {
        let turned = |t: &Tensor| t.transpose(t.rank() - 2, t.rank() - 1);
        let scaled = q.affine(self.scale.to_f64(), 0.0)?;
        let scores = f::matmul(&scaled, &turned(k)?)?;
        let weights = f::softmax(&if self.causal { causal(&scores)? } else { scores }, -1, None)?;
        let by_weights = f::matmul(grad, &turned(v)?)?;
        let mean = by_weights.mul(&weights)?.sum_keepdim(weights.rank() - 1)?;
        let by_scores = by_weights.broadcast_sub(&mean)?.mul(&weights)?;
        let by_q = f::matmul(&by_scores, k)?.affine(self.scale.to_f64(), 0.0)?;
        let by_k = f::matmul(&turned(&by_scores)?, &scaled)?;
        Ok(smallvec![Some(by_q), Some(by_k), Some(f::matmul(&turned(&weights)?, grad)?)])
    }
}

/// The gradients of [`Attention`] with respect to q, k and v, from those and the output's. Only called where nothing is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct AttentionGrad(Attention);

impl Operator for AttentionGrad {
    fn name(&self) -> &'static str {
        "scaled_dot_product_attention_grad"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        Ok(inputs[..3].iter().map(|t| Meta::contiguous(t.dtype, t.shape())).collect())
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let one = lead_axes(inputs[0]);
        AxisMap::letters(&format!("{one},{one},{one},{one}->{one},{one},{one}"), &[])
    }

    fn kernel(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        let inputs = [inputs[0], inputs[1], inputs[2], inputs[3]];
        let outputs = [outputs[0], outputs[1], outputs[2]];
        attention::attention_gradients(self.name(), self.0.how(), inputs, outputs)
    }
}

/// Leading dimensions are independent.
fn lead_axes(q: &Meta) -> String {
    let lead: String = ('a'..='z').take(q.rank() - 2).collect();
    lead + ".."
}

const NAME: &str = "scaled_dot_product_attention";

function! {
    /// `softmax(query key^T scale) value` over the last two dimensions, `[.., length, width]`; `scale` is 1 over the root of the width, unless
    /// given. `attn_mask` is true where attention may go (bool), or is added to the scores (floats); `is_causal` lets a position see those up to
    /// its own. A row that may see nothing gives 0. With `enable_gqa` each head (third dimension from the end) of key and value serves several
    /// of the query. `dropout_p` drops weights.
    ///
    /// # Errors
    /// For shapes that do not go together, and both a mask and `is_causal`.
    ///
    /// ```
    /// # use opforge::{Device, Tensor, functional as f};
    /// let x = Tensor::new(&[[1f32, 0.0], [0.0, 1.0]], &Device::Cpu)?;
    /// let y = f::scaled_dot_product_attention(&x, &x, &x, None, 0.0, true, None, false)?;
    /// assert_eq!(y.get(0)?.to_vec1::<f32>()?, [1.0, 0.0]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(nn)]
    pub fn scaled_dot_product_attention(
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        attn_mask: Option<&Tensor> = None,
        dropout_p: f64 = 0.0,
        is_causal: bool = false;
        scale: Option<f64> = None,
        enable_gqa: bool = false,
    ) -> Result<Tensor> {
        let ranks = [query, key, value].map(Tensor::rank);
        if ranks.iter().any(|&rank| rank < 2) {
            return Err(Error::shapes(NAME, query.shape(), key.shape(), "tensors [.., length, width]"));
        }
        if attn_mask.is_some() && is_causal {
            return Err(Error::value(NAME, "is_causal", true, "false, beside attn_mask"));
        }
        let (key, value) = match enable_gqa {
            true => (shared_heads(query, key)?, shared_heads(query, value)?),
            false => (key.clone(), value.clone()),
        };
        let width = query.dims()[ranks[0] - 1].max(1) as f64;
        let scale = scale.unwrap_or(1.0 / width.sqrt());
        if attn_mask.is_none() && dropout_p == 0.0 && alike([query, &key, &value]) {
            let op = Attention { scale: Scalar::Float(scale), causal: is_causal };
            let wide = if query.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
            let inputs = [query.to_dtype(wide)?, key.to_dtype(wide)?, value.to_dtype(wide)?];
            return dispatch1(&op, &inputs.each_ref())?.to_dtype(query.dtype());
        }
        let scaled = query.affine(scale, 0.0)?;
        let scores = f::matmul(&scaled, &key.transpose(key.rank() - 2, key.rank() - 1)?)?;
        let weights = match attn_mask {
            None if is_causal => f::softmax(&causal(&scores)?, -1, None)?,
            None => f::softmax(&scores, -1, None)?,
            Some(mask) => masked_softmax(&scores, mask)?,
        };
        f::matmul(&f::dropout(&weights, dropout_p, true, false)?, &value)
    }
}

/// Whether the operator takes these: floats of one dtype, with equal leading dimensions, that go together.
fn alike([q, k, v]: [&Tensor; 3]) -> bool {
    let rank = q.rank();
    let same = |t: &Tensor| t.dtype() == q.dtype() && t.rank() == rank && t.dims()[..rank - 2] == q.dims()[..rank - 2];
    let fits = || k.dims()[rank - 1] == q.dims()[rank - 1] && k.dims()[rank - 2] == v.dims()[rank - 2];
    q.dtype().is_float() && [k, v].into_iter().all(same) && fits()
}

/// The heads of key or value, repeated to as many as the query has.
#[track_caller]
fn shared_heads(query: &Tensor, t: &Tensor) -> Result<Tensor> {
    let heads = |t: &Tensor| t.rank().checked_sub(3).map(|d| t.dims()[d]);
    match (heads(query), heads(t)) {
        (Some(many), Some(few)) if few > 0 && many.is_multiple_of(few) => {
            f::repeat_interleave(t, (many / few) as i64, Some(-3), None)
        }
        _ => {
            Err(Error::shapes(NAME, query.shape(), t.shape(), "heads of the query that are a multiple of the others'"))
        }
    }
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
    f::masked_fill(&f::softmax(&masked, -1, None)?, &blind, Operand::Scalar(Scalar::Int(0)))
}

/// See [`Definition`].
pub const DEFINITION: Definition = Definition { name: NAME, function: &FUNCTION, dtypes: DTypes::FLOATS, samples };

fn samples() -> Vec<Sample> {
    let sample = |lead: &[usize], [n, m]: [usize; 2], causal: bool| {
        let shape = |rows: usize, columns: usize| [lead, &[rows, columns]].concat();
        let inputs = [shape(n, 3), shape(m, 3), shape(m, 2)].map(|shape| Array::spread(&shape, -1.0..1.0));
        let call =
            move |x: &[&Tensor]| scaled_dot_product_attention(x[0], x[1], x[2], None, 0.0, causal, Some(0.7), false);
        let result = shape(n, 2);
        Sample::composed(NAME, call, inputs.into(), move |x| {
            Array::from_fn(&result, |at| {
                let (lead, [row, column]) = (&at[..at.len() - 2], [at[at.len() - 2], at[at.len() - 1]]);
                let value = |t: usize, i: usize, j: usize| x[t].at(&[lead, &[i, j]].concat());
                let score = |key: usize| match causal && key > row {
                    true => f64::NEG_INFINITY,
                    false => 0.7 * (0..3).map(|i| value(0, row, i) * value(1, key, i)).sum::<f64>(),
                };
                let most = (0..m).map(score).fold(f64::NEG_INFINITY, f64::max);
                let weight = |key: usize| (score(key) - most).exp();
                let sum: f64 = (0..m).map(weight).sum();
                (0..m).map(|key| weight(key) / sum * value(2, key, column)).sum()
            })
        })
    };
    vec![
        sample(&[], [4, 5], false),
        sample(&[2], [5, 5], true),
        sample(&[2, 1], [20, 20], true),
        sample(&[1], [40, 3], false),
    ]
}
