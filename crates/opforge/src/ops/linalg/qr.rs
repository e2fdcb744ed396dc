//! `qr(A)`: orthonormal columns and the triangle that combines them.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use super::solve_triangular::triangular;
use crate::family::matrix::{batch_axes, matrices, sample};
use crate::functional as f;
use crate::ops::prelude::*;

/// What of the factors is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Mode {
    /// With `k = min(m, n)`, `Q` is `[.., m, k]` and `R` `[.., k, n]`.
    Reduced,
    /// `Q` is `[.., m, m]` and `R` `[.., m, n]`.
    Complete,
    /// The reduced `R` alone.
    R,
}

/// The operator of [`qr`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Qr {
    /// What is computed.
    pub mode: Mode,
}

/// `X R^H` is `Y`: from the right, by the adjoint system.
fn divided(y: &Tensor, r: &Tensor) -> Result<Tensor> {
    f::adjoint(&triangular(r, &f::adjoint(y)?, true, false)?)
}

/// The gradient of `A` from those of `Q` and `R` (Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2018, for as
/// many rows as columns or more; else Roberts and Roberts, "QR and LQ decomposition matrix backpropagation algorithms", 2020).
fn gradient(q: &Tensor, r: &Tensor, of_q: Option<&Tensor>, of_r: Option<&Tensor>) -> Result<Tensor> {
    let zeros = |t: &Tensor| Tensor::zeros(t.shape(), t.dtype(), t.device());
    let mut of_q = of_q.map_or_else(|| zeros(q), |g| Ok(g.clone()))?;
    let of_r = of_r.map_or_else(|| zeros(r), |g| Ok(g.clone()))?;
    let (k, n, last) = (r.dims()[r.rank() - 2], r.dims()[r.rank() - 1], r.rank() - 1);
    let (square, of_square) = (r.narrow(last, 0, k)?, of_r.narrow(last, 0, k)?);
    let rest = of_r.narrow(last, k, n - k)?;
    if n > k {
        // The other columns are Q times theirs of R, so Q gets a gradient through them.
        let columns = q.matmul(&r.narrow(last, k, n - k)?)?;
        of_q = of_q.add(&columns.matmul(&f::adjoint(&rest)?)?)?;
    }
    let m = square.matmul(&f::adjoint(&of_square)?)?.sub(&f::adjoint(&of_q)?.matmul(q)?)?;
    // R's diagonal is real: what its gradient has of an imaginary part counts for nothing.
    let diagonal = f::diag_embed(&f::real(&f::diagonal(&m, 0, -2, -1)?)?.to_dtype(m.dtype())?, 0, -2, -1)?;
    let below = f::tril(&m, -1)?;
    let mirrored = below.add(&f::adjoint(&below)?)?.add(&diagonal)?;
    let of_columns = divided(&of_q.add(&q.matmul(&mirrored)?)?, &square)?;
    if n > k { Tensor::cat(&[&of_columns, &q.matmul(&rest)?], last) } else { Ok(of_columns) }
}

impl Operator for Qr {
    fn name(&self) -> &'static str {
        "qr"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("qr", inputs, 1)?;
        let (lead, m, n) = matrices("qr", inputs[0])?;
        let k = if self.mode == Mode::Complete { m } else { m.min(n) };
        let of = |last: [usize; 2]| Meta::contiguous(inputs[0].dtype, [lead, &last].concat());
        match self.mode {
            Mode::R => Ok(smallvec![of([k, n])]),
            _ => Ok(smallvec![of([m, k]), of([k, n])]),
        }
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, if self.mode == Mode::R { &[2] } else { &[2, 2] })
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Dense(if self.mode == Mode::R { Dense::QrR } else { Dense::Qr }))
    }

    fn saves(&self) -> Saves {
        if self.mode == Mode::R { Saves::INPUTS } else { Saves::OUTPUTS }
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        if self.mode == Mode::R {
            let (q, r) = qr(&ctx.input(0)?, "reduced")?;
            return Ok(smallvec![Some(gradient(&q, &r, None, ctx.grad_opt(0))?)]);
        }
        let (q, r) = (ctx.output(0)?, ctx.output(1)?);
        let (m, n) = (r.dims()[r.rank() - 2], r.dims()[r.rank() - 1]);
        if n == 0 {
            let like = ctx.input_meta(0);
            return Ok(smallvec![Some(Tensor::zeros(like.shape(), like.dtype, ctx.device())?)]);
        }
        if self.mode == Mode::Complete && m > n {
            return Err(Error::autograd("qr", "mode", "complete, of more rows than columns", "reduced"));
        }
        Ok(smallvec![Some(gradient(&q, &r, ctx.grad_opt(0), ctx.grad_opt(1))?)])
    }
}

/// `Q`, of orthonormal columns, and the upper triangular `R` with `A = Q R`, for each matrix. With the mode `"reduced"`, `Q` has as many columns
/// as `A` has rows or columns, the lesser; `"complete"`, it is square; `"r"`, it is empty. Signs of `R`'s diagonal are free. A matrix with
/// NaN or infinities has NaN for factors.
///
/// There is a gradient where the first columns, as many as there are rows at most, are linearly independent, but none in the mode
/// `"complete"` of more rows than columns.
///
/// # Errors
/// For fewer than two dimensions, another mode, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[0f64, 2.0], [3.0, 1.0], [4.0, 0.0]], &Device::Cpu)?;
/// let (q, r) = opforge::functional::qr(&a, "reduced")?;
/// assert_eq!((q.dims(), r.dims()), (&[3, 2][..], &[2, 2][..]));
/// assert!((r.abs()?.to_vec2::<f64>()?[0][0] - 5.0).abs() < 1e-12);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(mode = "reduced")]
#[python(linalg, results(Q, R))]
#[operator(DTypes::FACTORED, samples, Qr)]
pub fn qr(A: &Tensor, mode: &str) -> Result<(Tensor, Tensor)> {
    let mode = match mode {
        "reduced" => Mode::Reduced,
        "complete" => Mode::Complete,
        "r" => Mode::R,
        other => return Err(Error::value(OP, "mode", other, "\"reduced\", \"complete\" or \"r\"")),
    };
    let mut outputs = dispatch(&Qr { mode }, &[A])?;
    let r = outputs.pop().expect("R is the last output");
    let q = match outputs.pop() {
        Some(q) => q,
        None => Tensor::zeros(0, A.dtype(), A.device())?,
    };
    Ok((q, r))
}

/// By Gram and Schmidt's process, twice for accuracy: absolute values. NaN is everywhere in the factors of a matrix that has one.
fn reference(a: &Array) -> [Array; 2] {
    let [batch, m, n] = a.shape[..] else { panic!("a batch of matrices") };
    let k = m.min(n);
    let (mut q, mut r) = (Array::from_fn(&[batch, m, k], |_| 0.0), Array::from_fn(&[batch, k, n], |_| 0.0));
    for (b, j) in (0..batch).flat_map(|b| (0..n).map(move |j| (b, j))) {
        let mut column: Vec<f64> = (0..m).map(|i| a.at(&[b, i, j])).collect();
        for (l, _) in (0..j.min(k)).flat_map(|l| [(l, 0), (l, 1)]) {
            let dot: f64 = (0..m).map(|i| q.at(&[b, i, l]) * column[i]).sum();
            column.iter_mut().enumerate().for_each(|(i, x)| *x -= dot * q.at(&[b, i, l]));
            r.data[(b * k + l) * n + j] += dot;
        }
        if j < k {
            let length = column.iter().map(|x| x * x).sum::<f64>().sqrt();
            (0..m).for_each(|i| q.data[(b * m + i) * k + j] = column[i] / length);
            r.data[(b * k + j) * n + j] = length;
        }
    }
    for b in (0..batch).filter(|b| a.data[b * m * n..(b + 1) * m * n].iter().any(|x| !x.is_finite())) {
        q.data[b * m * k..(b + 1) * m * k].fill(f64::NAN);
        (0..k * n).filter(|x| x / n <= x % n).for_each(|x| r.data[b * k * n + x] = f64::NAN);
    }
    [q.map(f64::abs), r.map(f64::abs)]
}

fn samples() -> Vec<Sample> {
    let both = |m, n, mode| {
        Sample::many(Qr { mode }, vec![sample(m, n)], |x| reference(&x[0]).to_vec()).full_rank().up_to_sign()
    };
    let r = |m, n| {
        Sample::new(Qr { mode: Mode::R }, vec![sample(m, n)], |x| reference(&x[0])[1].clone()).full_rank().up_to_sign()
    };
    vec![
        both(4, 4, Mode::Reduced),
        both(4, 2, Mode::Reduced),
        both(2, 4, Mode::Reduced),
        both(2, 4, Mode::Complete),
        r(4, 2),
        r(2, 4),
    ]
}
