//! `logcumsumexp(x, dim)`: logarithms of running sums of exponentials.

use opforge_tile::forms::Running;

use crate::arguments::with_dimension;
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
    with_dimension(&input, |x| dispatch1(&ScanOp { scan: LogCumSumExp, dim }, &[x]))
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
