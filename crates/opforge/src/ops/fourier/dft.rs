//! `dft(x)`: discrete Fourier transforms of lines, complex numbers being pairs of their parts.

use std::f64::consts::TAU;

use opforge_tile::forms::{Fourier, Spectrum};

use crate::ops::prelude::*;

/// The operator of [`dft`]: lines along the last dimension, but for that of complex numbers' parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Dft {
    /// Between what it leads.
    pub spectrum: Spectrum,
    /// What sums are multiplied by.
    pub factor: Scalar,
}

impl Dft {
    /// The line's length, and the dimensions before it.
    fn line<'a>(&self, x: &'a Meta) -> Result<(usize, &'a [usize])> {
        match (self.spectrum, x.dims()) {
            (Spectrum::OfReal | Spectrum::OfRealToAll, [lead @ .., n])
            | (Spectrum::Complex { .. } | Spectrum::ToReal { .. }, [lead @ .., n, 2])
                if *n > 0 =>
            {
                Ok((*n, lead))
            }
            (Spectrum::OfReal | Spectrum::OfRealToAll, _) => {
                Err(wrong_shape(Self::NAME, "x", x.shape(), "[.., n] with n of 1 or more"))
            }
            _ => Err(wrong_shape(Self::NAME, "x", x.shape(), "[.., n, 2] with n of 1 or more")),
        }
    }

    /// The numbers of a half spectrum, of `n` in all, multiplied by `weight` where they stand for their conjugates too.
    fn weighted(half: &Tensor, n: usize, weight: f64) -> Result<Tensor> {
        let stands_for_two = |k: usize| k > 0 && 2 * k != n;
        let weights: Vec<f64> = (0..n / 2 + 1).map(|k| if stands_for_two(k) { weight } else { 1.0 }).collect();
        half.broadcast_mul(&Tensor::from_vec(weights, (n / 2 + 1, 1), half.device())?.to_dtype(half.dtype())?)
    }
}

impl Plain for Dft {
    const NAME: &'static str = "dft";

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let x = inputs[0];
        let (n, lead) = self.line(x)?;
        let line = match self.spectrum {
            Spectrum::Complex { .. } | Spectrum::OfRealToAll => vec![n, 2],
            Spectrum::OfReal => vec![n / 2 + 1, 2],
            Spectrum::ToReal { odd } => vec![(n - 1).saturating_mul(2) + usize::from(odd)],
        };
        if line[0] == 0 {
            return Err(wrong_shape(Self::NAME, "x", x.shape(), "two numbers or more for an even number of real ones"));
        }
        Ok(smallvec![Meta::contiguous(x.dtype, [lead, &line].concat())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let x = inputs[0];
        let lead = self.line(x).map_or(0, |(_, lead)| lead.len());
        let names = |more: usize| (0..lead as Axis).map(Some).chain(vec![None; more]).collect::<SmallVec<_>>();
        let more = if let Spectrum::ToReal { .. } = self.spectrum { 1 } else { 2 };
        AxisMap {
            inputs: vec![names(x.rank() - lead)],
            outputs: vec![names(more)],
            roles: SmallVec::from_elem(Role::Map, lead),
        }
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Fourier(Fourier { spectrum: self.spectrum, factor: self.factor })
    }

    /// The adjoint: the same waves with the other sign. A number of a half spectrum that stands for its conjugate too counts twice there, once here.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        let of = |spectrum, grad: &Tensor| dispatch1(&Dft { spectrum, factor: self.factor }, &[grad]);
        let (n, _) = self.line(ctx.input_meta(0))?;
        Ok(smallvec![Some(match self.spectrum {
            Spectrum::Complex { inverse } => of(Spectrum::Complex { inverse: !inverse }, &grad)?,
            Spectrum::OfRealToAll => {
                let pairs = of(Spectrum::Complex { inverse: true }, &grad)?;
                pairs.get_on_dim(pairs.rank() - 1, 0)?.contiguous()?
            }
            Spectrum::OfReal => of(Spectrum::ToReal { odd: n % 2 == 1 }, &Dft::weighted(&grad, n, 0.5)?)?,
            Spectrum::ToReal { odd } => {
                Dft::weighted(&of(Spectrum::OfReal, &grad)?, 2 * (n - 1) + usize::from(odd), 2.0)?
            }
        })])
    }
}

/// A transform of lines of the last dimension, complex numbers having another of 2 for their parts.
#[track_caller]
pub fn transformed(lines: &Tensor, spectrum: Spectrum, factor: f64) -> Result<Tensor> {
    dispatch1(&Dft { spectrum, factor: factor.into() }, &[lines])
}

/// `factor` times the sums of `x[.., j] e^(-2 pi i j k / n)`, or with `inverse` of a positive exponent. Numbers are pairs of their parts, `[.., n, 2]`.
///
/// # Errors
/// For lines without numbers, and dtypes other than f32 and f64.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[3f32, 0.0], [1.0, 0.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::dft(&x, false, 1.0)?.to_vec2::<f32>()?, [[4.0, 0.0], [2.0, 0.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(hidden)]
#[operator(DTypes::of(&[DType::F32, DType::F64]), samples, Dft)]
pub fn dft(input: &Tensor, inverse: bool, factor: f64) -> Result<Tensor> {
    transformed(input, Spectrum::Complex { inverse }, factor)
}

fn samples() -> Vec<Sample> {
    /// A number of the line `x` of pairs, or of real numbers.
    fn wave(at: impl Fn(usize) -> [f64; 2], n: usize, k: usize, sign: f64) -> [f64; 2] {
        (0..n).fold([0.0; 2], |[re, im], j| {
            let ((sin, cos), [a, b]) = ((sign * TAU * (j * k % n) as f64 / n as f64).sin_cos(), at(j));
            [re + a * cos - b * sin, im + a * sin + b * cos]
        })
    }
    let dft = |spectrum| Dft { spectrum, factor: Scalar::Float(0.5) };
    let complex = |inverse: bool| {
        Sample::new(dft(Spectrum::Complex { inverse }), vec![Array::spread(&[2, 3, 2], -2.0..2.0)], move |x| {
            let sign = if inverse { 1.0 } else { -1.0 };
            let at = |row: usize, j: usize| [x[0].at(&[row, j, 0]), x[0].at(&[row, j, 1])];
            Array::from_fn(&x[0].shape, |i| 0.5 * wave(|j| at(i[0], j), x[0].shape[1], i[1], sign)[i[2]])
        })
    };
    let of_real = |n: usize| {
        Sample::new(dft(Spectrum::OfReal), vec![Array::spread(&[2, n], -2.0..2.0)], move |x| {
            let shape = [x[0].shape[0], n / 2 + 1, 2];
            Array::from_fn(&shape, |i| 0.5 * wave(|j| [x[0].at(&[i[0], j]), 0.0], n, i[1], -1.0)[i[2]])
        })
    };
    let of_real_to_all = |n: usize| {
        Sample::new(dft(Spectrum::OfRealToAll), vec![Array::spread(&[2, n], -2.0..2.0)], move |x| {
            let shape = [x[0].shape[0], n, 2];
            Array::from_fn(&shape, |i| 0.5 * wave(|j| [x[0].at(&[i[0], j]), 0.0], n, i[1], -1.0)[i[2]])
        })
    };
    let to_real = |n: usize| {
        let inputs = vec![Array::spread(&[2, n / 2 + 1, 2], -2.0..2.0)];
        Sample::new(dft(Spectrum::ToReal { odd: n % 2 == 1 }), inputs, move |x| {
            let part = |row: usize, k: usize, part: usize| x[0].at(&[row, k, part]);
            let at = |row: usize, k: usize| match k {
                k if k == 0 || 2 * k == n => [part(row, k, 0), 0.0],
                k if k <= n / 2 => [part(row, k, 0), part(row, k, 1)],
                k => [part(row, n - k, 0), -part(row, n - k, 1)],
            };
            Array::from_fn(&[x[0].shape[0], n], |i| 0.5 * wave(|k| at(i[0], k), n, i[1], 1.0)[0])
        })
    };
    let of_real = [of_real(4), of_real(5), of_real_to_all(4), of_real_to_all(5)];
    [complex(false), complex(true), to_real(4), to_real(5)].into_iter().chain(of_real).map(Sample::spreading).collect()
}
