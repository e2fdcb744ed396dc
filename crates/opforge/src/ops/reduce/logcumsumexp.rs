//! `logcumsumexp(x, dim)`: logarithms of running sums of exponentials.

use opforge_tile::forms::Running;

use crate::arguments::with_dimension;
use crate::functional::{self as f, Parts};
use crate::ops::prelude::*;

/// The mathematics of [`logcumsumexp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct LogCumSumExp;

impl Scan for LogCumSumExp {
    const NAME: &'static str = "logcumsumexp";
    const RUNNING: Running = Running::LogSumExp;
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    /// `e^(x_i) * sum of g_k e^(-y_k) over k >= i`, in logarithms, since neither factor need be finite: positive and negative gradients apart.
    /// The logarithm of no gradient has no slope: to be differentiated again, the factors are formed as they are, less the greatest x.
    fn derivative(&self, ctx: &Backward<'_>, dim: usize) -> Result<Tensor> {
        let (x, y, grad) = (ctx.input(0)?, ctx.output(0)?, ctx.grad(0)?);
        if is_grad_enabled() && x.dims()[dim] > 0 {
            let greatest = x.detach().max_keepdim(dim)?;
            let rest = grad.mul(&y.broadcast_sub(&greatest)?.neg()?.exp()?)?;
            return x.broadcast_sub(&greatest)?.exp()?.mul(&super::cumsum::from_the_end(&rest, dim)?);
        }
        let share = |part: Tensor| {
            let logs = part.log()?.sub(&y)?.flip(&[dim])?;
            let sums = dispatch1(&ScanOp { scan: LogCumSumExp, dim }, &[&logs])?;
            sums.flip(&[dim])?.add(&x)?.exp()
        };
        share(grad.relu()?)?.sub(&share(grad.neg()?.relu()?)?)
    }
}

/// `log(exp(x_0) + .. + exp(x_i))` along `dim`, without overflow.
///
/// # Errors
/// For a dimension out of range.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1000f32, 1000.0], &Device::Cpu)?;
/// let y = opforge::functional::logcumsumexp(&x, 0)?.to_vec1::<f32>()?;
/// assert!((y[1] - 1000.6931).abs() < 1e-3);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[operator(DTypes::FLOATS, samples, LogCumSumExp)]
pub fn logcumsumexp(input: &Tensor, dim: i64) -> Result<Tensor> {
    let dim = normalize_dim(dim, input.rank(), OP)?;
    let input = floating(input)?;
    let real = |x: &Tensor| dispatch1(&ScanOp { scan: LogCumSumExp, dim }, &[x]);
    with_dimension(&input, |x| if x.dtype().is_complex() { of_complex(x, real) } else { real(x) })
}

/// Of complex numbers, in f64: their exponentials have parts of either sign, whose sums are made apart, in logarithms.
#[track_caller]
fn of_complex(x: &Tensor, sums: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    /// For the logarithm of 0: so little that it adds nothing, and finite, so that gradients are.
    const NOTHING: f64 = -1e4;
    let Parts { re, im } = Parts::of(&x.to_dtype(DType::C128)?)?;
    // `part` times 0 is NaN where it is.
    let log = |part: &Tensor| -> Result<Tensor> {
        let positive = part.clamp(f64::MIN_POSITIVE, f64::INFINITY)?.log()?;
        part.gt(0.0)?.to_dtype(DType::Bool)?.where_cond(&positive, &part.affine(0.0, NOTHING)?)
    };
    let of_part = |part: Tensor| -> Result<[Tensor; 2]> {
        Ok([sums(&re.add(&log(&part)?)?)?, sums(&re.add(&log(&part.neg()?)?)?)?])
    };
    let ([a, b], [c, d]) = (of_part(im.cos()?)?, of_part(im.sin()?)?);
    let greatest = a.maximum(&b)?.maximum(&c.maximum(&d)?)?.detach();
    // Where all are -infinity.
    let greatest = greatest.maximum(f64::MIN)?;
    let difference = |a: &Tensor, b: &Tensor| a.sub(&greatest)?.exp()?.sub(&b.sub(&greatest)?.exp()?);
    let (re, im) = (difference(&a, &b)?, difference(&c, &d)?);
    let logarithm = re.sqr()?.add(&im.sqr()?)?.log()?.affine(0.5, 0.0)?.add(&greatest)?;
    f::complex(&logarithm, &f::atan2((&im).into(), (&re).into())?)?.to_dtype(x.dtype())
}

fn samples() -> Vec<Sample> {
    scan_samples(LogCumSumExp, |x| {
        let greatest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if x.iter().any(|x| x.is_nan()) || greatest.is_infinite() {
            return x.iter().sum::<f64>().max(greatest) + x.iter().filter(|x| x.is_nan()).sum::<f64>();
        }
        greatest + x.iter().map(|x| (x - greatest).exp()).sum::<f64>().ln()
    })
}
