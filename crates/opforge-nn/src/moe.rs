//! Mixture of experts: products with the weights of the experts that tokens are routed to.

use std::sync::Arc;

use opforge::quantized::{QMatMul, QStorage, QTensor};
use opforge::{DType, Error, Module, Result, Tensor, functional as f};

/// The product of each row with the weight of its expert.
///
/// A token goes to `topk` experts: pair `i` is token `i / topk` with the expert of its number. `sorted_token_ids` are the pairs in the order of their
/// experts, `experts_ids` their experts. Row `i` of the result `[pairs, n]` is the product of the pair's row of `input` with the transpose of its expert's
/// matrix in `weights [experts, n, k]`. Without `topk_weights`, `input` is `[tokens, k]`; with them, `[pairs, k]`, and each row of the result is multiplied by its
/// pair's weight.
///
/// ```
/// # use opforge::{Device, Tensor};
/// # use opforge_nn::moe::moe_gemm;
/// # fn main() -> opforge::Result<()> {
/// let (x, weights) = (Tensor::new(&[[1f32], [2.0]], &Device::Cpu)?, Tensor::new(&[[[10f32]], [[100.0]]], &Device::Cpu)?);
/// // The first token goes to expert 1, the second to expert 0.
/// let (pairs, experts) = (Tensor::new(&[1u32, 0], &Device::Cpu)?, Tensor::new(&[0u32, 1], &Device::Cpu)?);
/// let y = moe_gemm(&x, &weights, &None, &pairs, &experts, 1, false)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[100.0], [20.0]]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// For shapes that do not go together, and experts and pairs out of range.
#[track_caller]
pub fn moe_gemm(
    input: &Tensor,
    weights: &Tensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    _is_prefill: bool,
) -> Result<Tensor> {
    let experts = weights.dims3()?.0;
    let pairs = Pairs::new(input, topk_weights.as_ref(), sorted_token_ids, experts_ids, topk, experts)?;
    pairs.products(|expert, rows| f::linear(rows, &weights.get(expert)?, None))
}

/// As [`moe_gemm`], with quantized weights `[experts, n, k]`; `input` is converted to f32, and so are the results.
///
/// # Errors
/// As [`moe_gemm`]; matrices that do not fill blocks.
#[track_caller]
#[allow(clippy::too_many_arguments)]
pub fn moe_gemm_gguf(
    input: &Tensor,
    weights: &QTensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    _is_prefill: bool,
    _dtype: DType,
) -> Result<Tensor> {
    let (experts, n, k) = weights.shape().dims3()?;
    let (bytes, dtype) = (weights.data()?, weights.dtype());
    let (size, input) = (bytes.len().checked_div(experts).unwrap_or(0), input.to_dtype(DType::F32)?);
    let pairs = Pairs::new(&input, topk_weights.as_ref(), sorted_token_ids, experts_ids, topk, experts)?;
    pairs.products(|expert, rows| {
        let matrix = bytes[expert * size..][..size].to_vec();
        let storage = QStorage::from_data(matrix.into(), &weights.device(), dtype)?;
        QMatMul::from_arc(Arc::new(QTensor::new(storage, (n, k))?))?.forward(rows)
    })
}

/// Tokens and their experts.
struct Pairs<'a> {
    input: &'a Tensor,
    /// What rows of results are multiplied by.
    weights: Option<&'a Tensor>,
    /// The pairs, those of an expert next to each other.
    order: Vec<u32>,
    experts: Vec<u32>,
    /// How many pairs share a row of the input.
    shared: usize,
}

impl<'a> Pairs<'a> {
    fn new(
        input: &'a Tensor,
        weights: Option<&'a Tensor>,
        order: &Tensor,
        experts: &Tensor,
        topk: usize,
        most: usize,
    ) -> Result<Self> {
        const OP: &str = "moe_gemm";
        let rows = input.dims2()?.0;
        let shared = if weights.is_some() { 1 } else { topk };
        let count = rows.saturating_mul(shared);
        for (argument, ids) in [("sorted_token_ids", order), ("experts_ids", experts)] {
            if ids.elem_count() != count {
                return Err(Error::shape(OP, argument, format!("{:?}", ids.shape()), format!("{count} integers")));
            }
        }
        if let Some(given) = weights.filter(|weights| weights.elem_count() != count) {
            return Err(Error::shape(OP, "topk_weights", format!("{:?}", given.shape()), format!("{count} weights")));
        }
        let within = |argument: &'static str, ids: &Tensor, end: usize| {
            let ids = ids.flatten_all()?.to_dtype(DType::I64)?.to_vec1::<i64>()?;
            match ids.iter().find(|&&id| usize::try_from(id).map_or(true, |id| id >= end)) {
                Some(wrong) => Err(Error::index(OP, argument, wrong, format!("below {end}"))),
                None => Ok(ids.into_iter().map(|id| id as u32).collect::<Vec<_>>()),
            }
        };
        let (order, experts) = (within("sorted_token_ids", order, count)?, within("experts_ids", experts, most)?);
        let mut seen = vec![false; count];
        if let Some(twice) = order.iter().find(|&&pair| std::mem::replace(&mut seen[pair as usize], true)) {
            return Err(Error::value(OP, "sorted_token_ids", twice, "each pair once"));
        }
        Ok(Pairs { input, weights, order, experts, shared })
    }

    /// The rows of all pairs, in the order of their numbers, where `product` makes those of an expert's pairs.
    fn products(&self, product: impl Fn(usize, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let device = self.input.device();
        let (mut parts, mut at) = (Vec::new(), 0);
        for run in self.experts.chunk_by(|a, b| a == b) {
            let rows = self.order[at..][..run.len()].iter().map(|pair| pair / self.shared as u32);
            let rows = self.input.index_select(&Tensor::from_iter(rows, device)?, 0)?;
            parts.push(product(run[0] as usize, &rows)?);
            at += run.len();
        }
        if parts.is_empty() {
            let empty = Tensor::zeros((0, self.input.dims2()?.1), self.input.dtype(), device)?;
            return product(0, &empty);
        }
        let mut places = vec![0u32; self.order.len()];
        for (place, &pair) in (0..).zip(&self.order) {
            places[pair as usize] = place;
        }
        let results = Tensor::cat(&parts, 0)?.index_select(&Tensor::from_vec(places, self.order.len(), device)?, 0)?;
        match self.weights {
            None => Ok(results),
            Some(weights) => results.broadcast_mul(&weights.reshape(((), 1))?.to_dtype(results.dtype())?),
        }
    }
}
