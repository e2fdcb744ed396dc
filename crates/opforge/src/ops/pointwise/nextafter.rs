//! `nextafter(a, b)`: the next number after `a` on the way to `b`.

use crate::ops::prelude::*;

/// Whose neighbours are meant: half precision is computed in f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Grain {
    /// Those of the type that is computed in.
    Own,
    /// Those of f16.
    F16,
    /// Those of bf16.
    BF16,
}

/// The tile function of [`nextafter`](fn@nextafter).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Nextafter {
    /// Whose neighbours are meant.
    pub grain: Grain,
}

impl BinaryFn for Nextafter {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        let zero = V::splat(0.0);
        let up = b.gt(a);
        // What is called 2^16 here is the infinity of f16.
        let finite = if self.grain == Grain::F16 { a.abs().min(V::splat(65536.0)).copysign(a) } else { a };
        let step = V::Bits::splat(match self.grain {
            Grain::Own => 1,
            Grain::F16 => 1 << 13,
            Grain::BF16 => 1 << 16,
        });
        // Magnitudes are in the order of their bits.
        let (more, less) = (V::from_bits(finite.to_bits() + step), V::from_bits(finite.to_bits() - step));
        let grows = !(up ^ a.gt(zero));
        let mut next = V::select(grows, more, less);
        let least = V::from_bits(step);
        let mut from_zero = V::select(up, least, -least);
        if self.grain == Grain::F16 {
            // Below the normal numbers neighbours are equally far.
            let fine = V::splat(1.0 / f64::from(1 << 24));
            let normal = V::splat(1.0 / f64::from(1 << 14));
            let even = a.abs().lt(normal) | (a.abs().eq(normal) & !grows);
            from_zero = V::select(up, fine, -fine);
            next = V::select(even, (a + from_zero).copysign(a), next);
        }
        next = V::select(a.eq(zero), from_zero, next);
        next = V::select(a.eq(b), b, next);
        V::select(a.is_nan() | b.is_nan(), a + b, next)
    }
}

impl Binary for Nextafter {
    const NAME: &'static str = "nextafter";

    fn derivative(&self, pair: &Pair<'_, '_>, side: Side) -> Result<Tensor> {
        match side {
            Side::Left => Ok(pair.grad()?.clone()),
            Side::Right => pair.grad()?.zeros_like(),
        }
    }
}

/// The next number that the dtype has after `input` on the way to `other`, element by element; `other` where both are equal.
///
/// Shapes are broadcast and dtypes promoted. The gradient is that of `input`.
///
/// # Errors
/// For shapes that do not broadcast, and tensors that are not floating-point.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 0.0], &Device::Cpu)?;
/// let y = opforge::functional::nextafter(&x, &x.affine(0.0, 2.0)?)?;
/// assert_eq!(y.to_vec1::<f32>()?, [1.0 + f32::EPSILON, f32::from_bits(1)]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, in_place)]
#[operator(DTypes::FLOATS, samples, Nextafter)]
pub fn nextafter(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    let grain = match crate::functional::common_dtype(OP, input, other)? {
        DType::F16 => Grain::F16,
        DType::BF16 => Grain::BF16,
        _ => Grain::Own,
    };
    binary_to(Nextafter { grain }, input.into(), other.into(), Rules::TORCH, out)
}

/// Away from zero: what comes before an infinity differs by dtype.
fn samples() -> Vec<Sample> {
    let call = |x: &[&Tensor]| nextafter(x[0], &x[0].affine(2.0, 0.0)?);
    let inputs = vec![Array::spread(&[3, 4], -2.0..2.0)];
    vec![Sample::composed("nextafter", call, inputs, |x| x[0].map(|v| libm::nextafter(v, 2.0 * v)))]
}
