//! `pdist(x)`: the distances between all pairs of a matrix' rows.

use opforge_tile::forms::Distances;

use super::cdist::{check_computed, order, reference_norm, shares, width_role};
use crate::functional as f;
use crate::functional::linalg::distance::p_norm;
use crate::ops::prelude::*;

/// The operator of [`pdist`]: of rows `i < j` of `[n, width]`, row by row, `[n (n - 1) / 2]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Pdist {
    /// The norm's order, 0 or more.
    pub order: Scalar,
}

impl Plain for Pdist {
    const NAME: &'static str = "pdist";
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let x = inputs[0];
        check_computed(Self::NAME, inputs)?;
        let [n, _] = *x.dims() else { return Err(wrong_shape(Self::NAME, "input", x.shape(), "a matrix")) };
        let pairs = Shape::from(n.saturating_mul(n.saturating_sub(1)) / 2);
        pairs.check(Self::NAME, x.dtype.size_in_bytes())?;
        Ok(smallvec![Meta::contiguous(x.dtype, pairs)])
    }

    fn axes(&self, _: &[&Meta]) -> AxisMap {
        AxisMap::letters("nk->p", &[('n', Role::Whole), ('p', Role::Whole), ('k', width_role(self.order))])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Distances(Distances { order: self.order, pairs: true, gradient: false })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        if self.order.to_f64() == 0.0 {
            return Ok(smallvec![Some(ctx.zeros(0)?)]);
        }
        let (x, distances, grad) = (ctx.input(0)?, ctx.output(0)?, ctx.grad(0)?);
        if !is_grad_enabled() {
            let of_x = dispatch1(&PdistGrad { order: self.order }, &[&grad, &x, &distances])?;
            return Ok(smallvec![Some(of_x)]);
        }
        let [first, second] = pairs(&x)?;
        let differences = x.index_select(&first, 0)?.sub(&x.index_select(&second, 0)?)?;
        let shares = shares(self.order, &grad.unsqueeze(1)?, &differences, &distances.unsqueeze(1)?)?;
        let of_first = x.zeros_like()?.index_add(&first, &shares, 0)?;
        Ok(smallvec![Some(of_first.index_add(&second, &shares.neg()?, 0)?)])
    }
}

/// The first and second row of each pair.
fn pairs(x: &Tensor) -> Result<[Tensor; 2]> {
    let n = x.dims()[0];
    let both = f::triu_indices(n, n, 1, None, Some(*x.device()))?;
    Ok([both.get(0)?, both.get(1)?])
}

/// The gradient of [`Pdist`], from that of the distances, the matrix and the distances. Only called where nothing is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct PdistGrad {
    /// The norm's order, above 0.
    order: Scalar,
}

impl Plain for PdistGrad {
    const NAME: &'static str = "pdist_grad";
    const INPUTS: usize = 3;
    const DIFFERENTIABLE: bool = false;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let [grad, x, distances] = [inputs[0], inputs[1], inputs[2]];
        check_computed(Self::NAME, inputs)?;
        let of_pairs = Plain::infer(&Pdist { order: self.order }, &[x])?;
        let fits = [grad, distances].iter().all(|meta| meta.shape() == of_pairs[0].shape());
        ensure(fits, || Error::shapes(Self::NAME, grad.shape(), of_pairs[0].shape(), "a number for each distance"))?;
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape())])
    }

    fn axes(&self, _: &[&Meta]) -> AxisMap {
        AxisMap::letters("p,nk,p->nk", &[('n', Role::Whole), ('p', Role::Whole)])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Distances(Distances { order: self.order, pairs: true, gradient: true })
    }
}

/// The distances, norms of order `p`, between all pairs of different rows of a matrix, `[n, width]`: of rows `i < j`, row by row, `[n (n - 1) / 2]`.
///
/// f16 and bf16 are computed in f32. Where a distance is 0, so is its gradient.
///
/// # Errors
/// For anything but a matrix.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[3f32, 0.0], [0.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(f::pdist(&x, 2.0)?.to_vec1::<f32>()?, [5.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(p = 2.0)]
#[python(torch, nn)]
#[operator(DTypes::of(&[DType::F32, DType::F64]), samples, Pdist, PdistGrad)]
pub fn pdist(input: &Tensor, p: f64) -> Result<Tensor> {
    ensure(input.rank() == 2, || wrong_shape(OP, "input", input.shape(), "a matrix"))?;
    let p = order(input, p);
    match input.dtype() {
        half @ (DType::F16 | DType::BF16) => pdist(&input.to_dtype(DType::F32)?, p)?.to_dtype(half),
        DType::F32 | DType::F64 if p >= 0.0 => dispatch1(&Pdist { order: p.into() }, &[input]),
        _ => {
            let [first, second] = pairs(input)?;
            let differences = input.index_select(&first, 0)?.sub(&input.index_select(&second, 0)?)?;
            p_norm(&differences, p, 1, false)
        }
    }
}

fn samples() -> Vec<Sample> {
    let sample = |order: f64, n: usize, width: usize| {
        // Neighbouring rows of evenly spread numbers differ by the same in all columns: the largest difference would have no derivative.
        let mut rows = Array::spread(&[n, width], -2.0..2.0);
        rows.data.iter_mut().enumerate().for_each(|(i, x)| *x *= 1.0 + 0.07 * i as f64);
        let sample = Sample::new(Pdist { order: order.into() }, vec![rows], move |x| {
            let (n, width) = (x[0].shape[0], x[0].shape[1]);
            let distance =
                |i: usize, j: usize| reference_norm(order, (0..width).map(|k| x[0].at(&[i, k]) - x[0].at(&[j, k])));
            let all: Vec<f64> =
                (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| distance(i, j)).collect();
            Array::new(&[all.len()], all)
        });
        if order == 0.0 { sample.rough() } else { sample }
    };
    let orders = [0.0, 0.7, 1.0, 2.0, 3.0, f64::INFINITY];
    let mut samples: Vec<Sample> = orders.map(|order| sample(order, 4, 3)).into();
    samples.extend([sample(2.0, 1, 3), sample(2.0, 5, 1)]);
    samples
}
