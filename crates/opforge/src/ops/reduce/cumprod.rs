//! `cumprod(x, dim)`: running products along a dimension.

use opforge_tile::forms::Running;

use crate::arguments::{accumulation_dtype, with_dimension};
use crate::functional as f;
use crate::ops::prelude::*;

/// The mathematics of [`cumprod`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct CumProd;

impl Scan for CumProd {
    const NAME: &'static str = "cumprod";
    const RUNNING: Running = Running::Product;
    const SAVES: Saves = Saves::INPUTS;

    /// The product of all before element i, times `s_i = g_i + x_(i+1) s_(i+1)`: without a division, so that zeros have slopes too.
    fn derivative(&self, ctx: &Backward<'_>, dim: usize) -> Result<Tensor> {
        let (x, grad) = (ctx.input(0)?, ctx.grad(0)?);
        let len = x.dims()[dim];
        if len == 0 {
            return Ok(grad);
        }
        let products = dispatch1(&ScanOp { scan: CumProd, dim }, &[&x])?;
        let before = earlier(&products, dim, 1, 1.0)?;
        // Solved from the end, by doubling the number of terms: s_i = sum_i + factor_i s_(i + terms).
        let mut factor = earlier(&x.flip(&[dim])?, dim, 1, 0.0)?;
        let mut sum = grad.flip(&[dim])?;
        let mut terms = 1;
        while terms < len {
            sum = sum.add(&factor.mul(&earlier(&sum, dim, terms, 0.0)?)?)?;
            factor = factor.mul(&earlier(&factor, dim, terms, 0.0)?)?;
            terms *= 2;
        }
        before.mul(&sum.flip(&[dim])?)
    }
}

/// The element `by` places earlier, `fill` where there is none.
#[track_caller]
fn earlier(x: &Tensor, dim: usize, by: usize, fill: f64) -> Result<Tensor> {
    let len = x.dims()[dim];
    let by = by.min(len);
    let mut shape = x.dims().to_vec();
    shape[dim] = by;
    let head = Tensor::full_scalar(Scalar::Float(fill), shape, x.dtype(), x.device())?;
    Tensor::cat(&[&head, &x.narrow(dim, 0, len - by)?], dim)
}

/// The products of each element and all before it along `dim`, formed in order. Integers and truth values are multiplied in i64, wrapping.
///
/// # Errors
/// For a dimension out of range.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::cumprod(&x, 0, None)?.to_vec1::<f32>()?, [1.0, 2.0, 6.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, out)]
#[python(torch, method, in_place)]
#[operator(DTypes::NUMERIC, samples, CumProd)]
pub fn cumprod(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<Tensor> {
    let input = input.to_dtype(dtype.unwrap_or(accumulation_dtype(input.dtype())))?;
    let dim = normalize_dim(dim, input.rank(), OP)?;
    if input.dtype().is_complex() {
        return with_dimension(&input, |z| f::complex_products(z, dim));
    }
    with_dimension(&input, |x| dispatch_to(&ScanOp { scan: CumProd, dim }, &[x], out))
}

fn samples() -> Vec<Sample> {
    let zeros = Array::new(&[2, 4], vec![0.5, 0.0, 3.0, 2.0, 2.0, 0.0, 0.0, 1.0]);
    let product = |x: &Array, row: usize, end: usize| (0..=end).map(|i| x.at(&[row, i])).product();
    let with_zeros = Sample::new(ScanOp { scan: CumProd, dim: 1 }, vec![zeros], move |x| {
        Array::from_fn(&[2, 4], |i| product(&x[0], i[0], i[1]))
    });
    let mut samples = scan_samples(CumProd, |x| x.iter().product());
    samples.push(with_zeros);
    samples
}
