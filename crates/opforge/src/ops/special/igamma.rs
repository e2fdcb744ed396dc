//! `igamma(a, x)`: the regularised lower incomplete gamma function.

use crate::ops::prelude::*;

/// The tile function of [`igamma`](fn@igamma).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Igamma;

impl BinaryFn for Igamma {
    const PICOSECONDS: usize = 300_000;

    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        math::gamma_p(a, b)
    }
}

impl Binary for Igamma {
    const NAME: &'static str = "igamma";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => Err(no_gradient(Self::NAME, "input")),
            Side::Right => pair.grad()?.broadcast_mul(&density(&pair.lhs()?, &pair.rhs()?)?),
        }
    }
}

/// The regularised lower incomplete gamma function, P(input, other), element by element.
///
/// NaN for negative operands. The gradient is that of `other` only.
/// Shapes are broadcast and dtypes promoted; integers become floating-point numbers first.
///
/// # Errors
/// For shapes that do not broadcast.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::igamma(1.0.into(), (&x).into())?.to_vec1::<f32>()?, [0.0, 0.864_664_73]); // 1 - exp(-x)
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::FLOATS, samples, Igamma)]
pub fn igamma(input: Operand, other: Operand) -> Result<Tensor> {
    binary_float(Igamma, input, other, out)
}

fn samples() -> Vec<Sample> {
    samples_of_second(Igamma, 0.6..3.0, reference)
}

/// What says that an operand has no gradient.
pub(super) fn no_gradient(op: &'static str, operand: &'static str) -> Error {
    Error::autograd(op, operand, "a tensor that requires grad", "one that does not: this derivative is not there")
}

/// Samples of a function whose gradient is that of its second operand only.
pub(super) fn samples_of_second<F: Binary>(
    f: F,
    a: std::ops::Range<f64>,
    reference: fn(f64, f64) -> f64,
) -> Vec<Sample> {
    let shapes: [[&[usize]; 3]; 3] = [[&[], &[], &[]], [&[3, 5], &[3, 5], &[3, 5]], [&[4, 1], &[3], &[4, 3]]];
    let pairs = shapes.into_iter().map(|[first, second, out]| {
        let call = move |x: &[&Tensor]| dispatch1(&BinaryOp(f), &[&x[0].detach(), x[1]]);
        let inputs = vec![Array::spread(first, a.clone()), Array::spread(second, 0.3..4.0)];
        let expected =
            move |x: &[Array]| Array::from_fn(out, |i| reference(x[0].at_broadcast(i), x[1].at_broadcast(i)));
        Sample::composed(F::NAME, call, inputs, expected).rough()
    });
    let scalar = WithScalar { f, scalar: Scalar::Float(2.5), side: Side::Left };
    let with_number =
        Sample::new(scalar, vec![Array::spread(&[3, 4], 0.3..4.0)], move |x| x[0].map(|x| reference(2.5, x)));
    pairs.chain([with_number]).collect()
}

/// The slope in x: `x^(a - 1) exp(-x) / gamma(a)`.
pub(super) fn density(a: &Tensor, x: &Tensor) -> Result<Tensor> {
    let power = crate::functional::xlogy((&a.affine(1.0, -1.0)?).into(), x.into())?;
    power.broadcast_sub(x)?.broadcast_sub(&crate::functional::lgamma(a)?)?.exp()
}

/// DLMF 8.11.4's series, and the edges.
pub(super) fn reference(a: f64, x: f64) -> f64 {
    let both = |f: fn(f64) -> bool| f(a) && f(x);
    if a.is_nan() || x.is_nan() || a < 0.0 || x < 0.0 || both(f64::is_infinite) || both(|v| v == 0.0) {
        f64::NAN
    } else if a == 0.0 || x.is_infinite() {
        1.0
    } else if x == 0.0 || a.is_infinite() {
        0.0
    } else {
        let first = (a * x.ln() - x).exp() / libm::tgamma(a + 1.0);
        (1..60)
            .fold((first, first), |(term, sum), n| (term * x / (a + f64::from(n)), sum + term * x / (a + f64::from(n))))
            .1
    }
}
