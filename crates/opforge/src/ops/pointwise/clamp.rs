//! `clamp(x, min, max)`: x, but at least min and at most max.

use crate::ops::prelude::*;

/// The tile function of [`clamp`]; the bounds are in the tensor's dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Clamp {
    /// The lower bound.
    pub min: Number,
    /// The upper bound; wins where it is below the lower one.
    pub max: Number,
    /// Whether the gradient of NaN passes.
    pub passes_nan: bool,
}

impl UnaryFn for Clamp {
    const INT: bool = true;

    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.max(V::splat(self.min.to_f64())).min(V::splat(self.max.to_f64()))
    }
    #[inline(always)]
    fn int<I: Int>(self, x: I) -> I {
        x.greater(I::from_i64(self.min.to_i64())).lesser(I::from_i64(self.max.to_i64()))
    }
}

impl Unary for Clamp {
    const NAME: &'static str = "clamp";
    const FUSED: bool = true;

    /// The gradient passes where x is between the bounds.
    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        let (x, grad) = (ctx.input(0)?, ctx.grad(0)?);
        let (min, max) = (Operand::Scalar(self.min.scalar()), Operand::Scalar(self.max.scalar()));
        let (x, rules) = (Operand::Tensor(&x), Rules::SAME);
        let zero = grad.zeros_like()?;
        if self.passes_nan {
            let (below, above) = (compare(super::le::Le, x, min, rules)?, compare(super::ge::Ge, x, max, rules)?);
            return below.maximum(&above)?.where_cond(&zero, &grad);
        }
        // An end of the dtype's range binds nothing, and infinity is at it.
        let above = match self.min.to_f64() == f64::NEG_INFINITY {
            true => compare(super::ge::Ge, x, min, rules)?,
            false => compare(super::gt::Gt, x, min, rules)?,
        };
        let below = match self.max.to_f64() == f64::INFINITY {
            true => compare(super::le::Le, x, max, rules)?,
            false => compare(super::lt::Lt, x, max, rules)?,
        };
        above.mul(&below)?.where_cond(&grad, &zero)
    }

    #[inline(always)]
    fn gradient<V: Float>(self, x: V, grad: V) -> V {
        let (min, max) = (V::splat(self.min.to_f64()), V::splat(self.max.to_f64()));
        let stays = match self.passes_nan {
            true => !(x.le(min) | x.ge(max)),
            false => {
                let above = if self.min.to_f64() == f64::NEG_INFINITY { x.ge(min) } else { x.gt(min) };
                let below = if self.max.to_f64() == f64::INFINITY { x.le(max) } else { x.lt(max) };
                above & below
            }
        };
        V::select(stays, grad, V::splat(0.0))
    }
}

/// The greatest finite number of a dtype.
pub(crate) fn greatest_finite(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => crate::f16::MAX.to_f64(),
        DType::BF16 => crate::bf16::MAX.to_f64(),
        DType::F32 => f32::MAX.into(),
        _ => f64::MAX,
    }
}

/// A bound in the tensor's dtype; a missing one, or one beyond this end of the dtype's range, is the end.
fn bound(given: Option<Scalar>, dtype: DType, end: Scalar) -> Result<Scalar> {
    match given {
        None => Ok(end),
        Some(s) if dtype.is_float() => Ok(Scalar::Float(s.to_f64())),
        Some(s) if s.to_f64().fract() != 0.0 => {
            Err(Error::dtype("clamp", "bound", s, format!("whole numbers for {dtype}")))
        }
        Some(s) if s.fits(dtype) => Ok(s),
        Some(s) => {
            let nearest = if s.to_f64() < 0.0 { lowest(dtype) } else { highest(dtype) };
            if nearest == end {
                Ok(end)
            } else {
                Err(Error::dtype("clamp", "bound", s, format!("a value that {dtype} can hold")))
            }
        }
    }
}

fn lowest(dtype: DType) -> Scalar {
    match dtype {
        d if d.is_float() => Scalar::Float(f64::NEG_INFINITY),
        d if d.is_signed() => Scalar::Int(i64::MIN >> (64 - 8 * d.size_in_bytes())),
        _ => Scalar::Int(0),
    }
}

fn highest(dtype: DType) -> Scalar {
    match dtype {
        d if d.is_float() => Scalar::Float(f64::INFINITY),
        d if d.is_signed() => Scalar::Int(i64::MAX >> (64 - 8 * d.size_in_bytes())),
        d => Scalar::from(u64::MAX >> (64 - 8 * d.size_in_bytes())),
    }
}

/// Each element, but at least `min` and at most `max`; a missing bound does not bind, and `max` wins over a greater `min`. NaN stays NaN.
///
/// Bounds are numbers or tensors, which broadcast; all promote to one dtype.
///
/// # Errors
/// Without any bound.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[-2f32, 0.5, 2.0], &Device::Cpu)?;
/// let y = opforge::functional::clamp(&x, Some(0.0.into()), Some(1.0.into()))?;
/// assert_eq!(y.to_vec1::<f32>()?, [0.0, 0.5, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(min = None, max = None, out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMERIC, samples, Clamp)]
pub fn clamp(input: &Tensor, min: Option<Operand>, max: Option<Operand>) -> Result<Tensor> {
    let number = |bound: Option<Operand>| match bound {
        None => Ok(None),
        Some(Operand::Scalar(s)) => Ok(Some(s)),
        Some(Operand::Tensor(_)) => Err(()),
    };
    match (number(min), number(max)) {
        (Ok(None), Ok(None)) => Err(Error::value(OP, "min, max", "nothing", "at least one bound")),
        (Ok(min), Ok(max)) => {
            let kind = [min, max].into_iter().flatten().map(Scalar::kind).max().unwrap_or(opforge_core::Kind::Bool);
            limit(&input.to_dtype(crate::functional::dtype_with(OP, input, kind)?)?, min, max, false, out)
        }
        _ => {
            let raised = match min {
                Some(min) => crate::functional::maximum(input.into(), min)?,
                None => input.clone(),
            };
            max.map_or(Ok(raised.clone()), |max| crate::functional::minimum((&raised).into(), max))
        }
    }
}

/// A number as an element of the input's dtype is: of integers without its fraction.
pub(crate) fn whole_for(input: &Tensor, number: f64) -> f64 {
    if input.dtype().is_int() { number.trunc() } else { number }
}

/// `input` between two numbers; the gradient of NaN passes.
#[track_caller]
pub(crate) fn limited(input: &Tensor, min: f64, max: f64) -> Result<Tensor> {
    limit(input, Some(Scalar::Float(min)), Some(Scalar::Float(max)), true, None)
}

/// `input` between two numbers, in its dtype; `passes_nan` as in [`Clamp`].
#[track_caller]
fn limit(input: &Tensor, min: Option<Scalar>, max: Option<Scalar>, passes_nan: bool, out: Out<'_>) -> Result<Tensor> {
    let dtype = input.dtype();
    if !dtype.is_float() && !dtype.is_int() {
        return Err(Error::UnsupportedDTypeForOp(dtype, "clamp"));
    }
    let (min, max) = (bound(min, dtype, lowest(dtype))?, bound(max, dtype, highest(dtype))?);
    unary_to(Clamp { min: min.into(), max: max.into(), passes_nan }, input, out)
}

impl Tensor {
    /// Each element, but at least `min` and at most `max`, each a number, cast to the dtype as Rust's `as` does, or a tensor that broadcasts to this
    /// one.
    #[track_caller]
    pub fn clamp<T1: TensorOrScalar, T2: TensorOrScalar>(&self, min: T1, max: T2) -> Result<Tensor> {
        match (min.operand(), max.operand()) {
            (Operand::Scalar(min), Operand::Scalar(max)) => {
                limit(self, Some(min.cast(self.dtype())), Some(max.cast(self.dtype())), false, None)
            }
            (min, max) => {
                let rules = Rules { cast: true, ..Rules::BROADCAST };
                let at_least = binary(super::maximum::Winner::<true>, self.into(), min, rules)?;
                binary(super::maximum::Winner::<false>, (&at_least).into(), max, rules)
            }
        }
    }
}

fn samples() -> Vec<Sample> {
    unary_samples(Clamp { min: 1i64.into(), max: 2i64.into(), passes_nan: false }, 0.0..3.0, |x| x.clamp(1.0, 2.0))
}
