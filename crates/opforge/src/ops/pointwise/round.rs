//! `round(x)`: the nearest integer.

use crate::ops::prelude::*;

/// The tile function of [`round`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Round {
    /// What becomes of halves.
    pub halves: Halves,
}

/// Where a number half-way between two integers goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Halves {
    /// To the even one, as PyTorch and IEEE have it.
    ToEven,
    /// Away from zero, as candle and `f64::round` have it.
    AwayFromZero,
}

impl UnaryFn for Round {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        match self.halves {
            Halves::ToEven => x.round_ties_even(),
            Halves::AwayFromZero => {
                let whole = x.trunc();
                let away = whole + V::splat(1.0).copysign(x);
                V::select((x - whole).abs().ge(V::splat(0.5)), away, whole)
            }
        }
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x
    }
}

impl Unary for Round {
    const NAME: &'static str = "round";
    const FLAT: bool = true;
}

/// The nearest number of so many `decimals`, which may be negative; halves go to the even one. The gradient is 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1.4f32, 2.5], &Device::Cpu)?;
/// assert_eq!(opforge::functional::round(&x, 0)?.to_vec1::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, decimals = 0, out)]
#[python(torch, method, in_place, special)]
#[operator(DTypes::NUMERIC, samples, Round)]
pub fn round(input: &Tensor, decimals: i64) -> Result<Tensor> {
    let nearest = |x: &Tensor| unary(Round { halves: Halves::ToEven }, x);
    if decimals == 0 || !input.dtype().is_float() {
        return unary_to(Round { halves: Halves::ToEven }, input, out);
    }
    if matches!(input.dtype(), DType::F16 | DType::BF16) {
        // What is rounded has more digits than they hold.
        return round(&input.to_dtype(DType::F32)?, decimals)?.to_dtype(input.dtype());
    }
    let scale = 10f64.powi(decimals.unsigned_abs().min(400) as i32);
    if decimals > 0 {
        nearest(&input.affine(scale, 0.0)?)?.affine(1.0 / scale, 0.0)
    } else {
        nearest(&input.affine(1.0 / scale, 0.0)?)?.affine(scale, 0.0)
    }
}

impl Tensor {
    /// The nearest integer, halves away from zero, outside of the autograd graph.
    #[track_caller]
    pub fn round(&self) -> Result<Tensor> {
        unary(Round { halves: Halves::AwayFromZero }, &self.unrecorded())
    }

    /// Rounded to a number of decimals, which may be negative: `round(x * 10^decimals) / 10^decimals`.
    #[track_caller]
    pub fn round_to(&self, decimals: i32) -> Result<Tensor> {
        let scale = 10f64.powi(decimals);
        self.affine(scale, 0.0)?.round()?.affine(1.0 / scale, 0.0)
    }
}

fn samples() -> Vec<Sample> {
    let even = unary_samples(Round { halves: Halves::ToEven }, -3.0..3.0, f64::round_ties_even);
    let away = unary_samples(Round { halves: Halves::AwayFromZero }, -3.0..3.0, f64::round);
    let tie = |f, r: fn(f64) -> f64| {
        Sample::new(UnaryOp(f), vec![Array::new(&[4], vec![-1.5, 0.5, 2.5, -0.5])], move |x| x[0].map(r))
    };
    let ties = [
        tie(Round { halves: Halves::ToEven }, f64::round_ties_even),
        tie(Round { halves: Halves::AwayFromZero }, f64::round),
    ];
    even.into_iter().chain(away).chain(ties).map(Sample::rough).collect()
}
