//! `cumsum(x, dim)`: running sums along a dimension.

use opforge_tile::forms::Running;

use crate::arguments::{accumulation_dtype, no_dims, with_dimension};
use crate::functional as f;
use crate::ops::prelude::*;

/// The mathematics of [`cumsum`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct CumSum;

impl Scan for CumSum {
    const NAME: &'static str = "cumsum";
    const RUNNING: Running = Running::Sum;
    const SAVES: Saves = Saves::NOTHING;

    fn derivative(&self, ctx: &Backward<'_>, dim: usize) -> Result<Tensor> {
        from_the_end(&ctx.grad(0)?, dim)
    }
}

/// The sums of each element and all after it.
#[track_caller]
pub(super) fn from_the_end(x: &Tensor, dim: usize) -> Result<Tensor> {
    x.flip(&[dim])?.cumsum(dim)?.flip(&[dim])
}

/// The sums of each element and all before it along `dim`, formed in order. Integers and truth values are summed into i64, wrapping.
///
/// # Errors
/// For a dimension out of range.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::cumsum(&x, 0, None)?.to_vec2::<f32>()?, [[1.0, 2.0], [4.0, 6.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMERIC, samples, CumSum)]
pub fn cumsum(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    let input = input.to_dtype(dtype.unwrap_or(accumulation_dtype(input.dtype())))?;
    let dim = normalize_dim(dim, input.rank(), OP)?;
    if input.dtype().is_complex() {
        return with_dimension(&input, |z| f::view_as_complex(&f::cumsum(&f::view_as_real(z)?, dim as i64, None)?));
    }
    with_dimension(&input, |x| dispatch_to(&ScanOp { scan: CumSum, dim }, &[x], out))
}

impl Tensor {
    /// The sums of each element and all before it along a dimension; the dtype stays.
    #[track_caller]
    pub fn cumsum<D: Dim>(&self, dim: D) -> Result<Tensor> {
        ensure(self.rank() > 0, || no_dims("cumsum"))?;
        dispatch1(&ScanOp { scan: CumSum, dim: dim.to_index(self.shape(), "cumsum")? }, &[self])
    }
}

fn samples() -> Vec<Sample> {
    scan_samples(CumSum, |x| x.iter().sum())
}
