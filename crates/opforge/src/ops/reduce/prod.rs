//! `prod(x, dims)`: the product over dimensions.

use opforge_tile::{Integers, Reducer};

use crate::arguments::accumulation_dtype;
use crate::functional as f;
use crate::ops::prelude::*;

/// The mathematics of [`prod`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Prod;

impl Reducer for Prod {
    const INTEGERS: Integers = Integers::Widen;

    #[inline(always)]
    fn identity(self) -> f64 {
        1.0
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a * b
    }
    #[inline(always)]
    fn int_identity<T: Int>(self) -> T {
        T::from_i64(1)
    }
    #[inline(always)]
    fn int_combine<T: Int>(self, a: T, b: T) -> T {
        a.wrapping_mul(b)
    }
}

impl Reduction for Prod {
    const NAME: &'static str = "prod";
    const SAVES: Saves = Saves::INPUTS;
    const ROLE: Role = Role::Product;

    fn lower(&self, _: &Meta, axes: &[usize], _: &Meta) -> Result<Lowering> {
        Ok(Lowering::Reduce(Reduce::numbers(*self, axes)))
    }

    fn dtype(&self, input: DType) -> DType {
        accumulation_dtype(input)
    }

    /// Each element's slope is the product of the others. It is the product of all that are not zero, divided by the element; but with one
    /// zero only that zero has a slope, and with several nothing has.
    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        let x = of.input()?;
        if is_grad_enabled() {
            return of.grad()?.mul(&others(&x, of.axes())?);
        }
        let is_zero = x.eq(0.0)?;
        let zero = is_zero.to_dtype(x.dtype())?;
        let zeros = of.total(&zero)?;
        let filled = is_zero.where_cond(&x.ones_like()?, &x)?;
        let axes = of.axes();
        let product = dispatch1(&ReduceOp { reduction: Prod, axes, keepdim: true }, &[&filled])?;
        let others = product.broadcast_div(&filled)?;
        // Zeros among the others: all zeros but the element itself.
        let alone = zeros.sub(&zero)?.eq(0.0)?;
        let slope = alone.where_cond(&others, &others.zeros_like()?)?;
        of.grad()?.mul(&slope)
    }
}

/// The product of the others for each element, of multiplications only: unlike a quotient, it has the right derivatives at zeros too.
#[track_caller]
fn others(x: &Tensor, axes: Axes) -> Result<Tensor> {
    let (kept, reduced): (Vec<usize>, Vec<usize>) = (0..x.rank()).partition(|&d| !axes.contains(d));
    let order: Vec<usize> = kept.iter().chain(&reduced).copied().collect();
    let moved = x.permute(order.clone())?;
    let (rows, n) = (kept.iter().map(|&d| x.dims()[d]).product::<usize>(), axes.count(x.shape()));
    let flat = moved.reshape((rows, n))?;
    let before = products_before(&flat)?;
    let after = products_before(&flat.flip(&[1])?)?.flip(&[1])?;
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
    before.mul(&after)?.reshape(moved.shape())?.permute(back)
}

/// The product of all earlier elements of each row, by doubling the number of factors.
#[track_caller]
fn products_before(rows: &Tensor) -> Result<Tensor> {
    let (count, n) = (rows.dims()[0], rows.dims()[1]);
    let shifted = |t: &Tensor, by: usize| {
        let by = by.min(n);
        let ones = Tensor::ones((count, by), t.dtype(), t.device())?;
        Tensor::cat(&[&ones, &t.narrow(1, 0, n - by)?], 1)
    };
    let mut products = shifted(rows, 1)?;
    let mut factors = 1;
    while factors < n {
        products = products.mul(&shifted(&products, factors)?)?;
        factors *= 2;
    }
    Ok(products)
}

/// The product over dimensions, all of them without `dim`. Integers and truth values are multiplied in i64, wrapping, unless `dtype` says
/// otherwise. Of no elements it is 1.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1i64, 2], [3, 4]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::prod(&x, Some(&[0]), false, None)?.to_vec1::<i64>()?, [3, 8]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None, keepdim = false, *, dtype = None)]
#[operator(DTypes::REAL, samples, Prod)]
pub fn prod(input: &Tensor, dim: Option<&[i64]>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let input = dtype.map_or_else(|| Ok(input.clone()), |dtype| input.to_dtype(dtype))?;
    let axes = reduce_dims(OP, &input, dim)?;
    if input.dtype().is_complex() {
        return f::complex_product(&input, axes, keepdim);
    }
    let product = dispatch1(&ReduceOp { reduction: Prod, axes, keepdim }, &[&input])?;
    // Wrapped to fewer bits, or without a sign, the product in i64 is that of the dtype.
    match dtype {
        Some(dtype) => product.to_dtype(dtype),
        None => Ok(product),
    }
}

fn samples() -> Vec<Sample> {
    let product = |x: &[f64]| x.iter().product();
    let op = ReduceOp { reduction: Prod, axes: Axes::of(&[1]), keepdim: false };
    let zeros = Array::new(&[3, 3], vec![0.0, 2.0, 3.0, 0.0, 0.0, 5.0, 1.0, 2.0, 3.0]);
    let with_zeros = Sample::new(op, vec![zeros], move |x| reduce_array(&x[0], Axes::of(&[1]), false, product));
    let mut samples = reduction_samples(Prod, |x| x.iter().product());
    samples.push(with_zeros);
    samples
}
