//! `prod(x, dims)`: the product over dimensions.

use opforge_cpu::reduce::{Integers, Reducer, reduce};

use crate::functional::{accumulation_dtype, reduce_dims};
use crate::operator::prelude::*;

/// The mathematics of [`prod`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
        T::ONE
    }
    #[inline(always)]
    fn int_combine<T: Int>(self, a: T, b: T) -> T {
        a.wrapping_mul(b)
    }
}

impl Reduction for Prod {
    const NAME: &'static str = "prod";
    const SAVES: Saves = Saves::INPUTS;

    fn kernel(&self, input: &Meta, axes: &[usize], output: &Meta) -> Result<Arc<dyn Kernel>> {
        reduce(Self::NAME, *self, input, axes, output)
    }

    fn dtype(&self, input: DType) -> DType {
        accumulation_dtype(input)
    }

    /// Each element's slope is the product of the others. It is the product of all that are not zero, divided by the element; but with one
    /// zero only that zero has a slope, and with several nothing has.
    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        let x = of.input()?;
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

function! {
    /// The product over dimensions, all of them without `dim`. Integers and truth values are multiplied in i64, wrapping, unless `dtype` says
    /// otherwise. Of no elements it is 1.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[[1i64, 2], [3, 4]], &Device::Cpu)?;
    /// assert_eq!(opforge::functional::prod(&x, Some(&[0]), false, None)?.to_vec1::<i64>()?, [3, 8]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn prod(input: &Tensor, dim: Option<&[i64]> = None, keepdim: bool = false; dtype: Option<DType> = None) -> Result<Tensor> {
        let input = dtype.map_or_else(|| Ok(input.clone()), |dtype| input.to_dtype(dtype))?;
        let axes = reduce_dims("prod", &input, dim)?;
        dispatch1(&ReduceOp { reduction: Prod, axes, keepdim }, &[&input])
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition = Definition { name: Prod::NAME, function: &FUNCTION, dtypes: DTypes::REAL, samples };

fn samples() -> Vec<Sample> {
    let product = |x: &[f64]| x.iter().product();
    let op = ReduceOp { reduction: Prod, axes: Axes::of(&[1]), keepdim: false };
    let zeros = Array::new(&[3, 3], vec![0.0, 2.0, 3.0, 0.0, 0.0, 5.0, 1.0, 2.0, 3.0]);
    let with_zeros = Sample::new(op, vec![zeros], move |x| reduce_array(&x[0], Axes::of(&[1]), false, product));
    let mut samples = reduction_samples(Prod, |x| x.iter().product());
    samples.push(with_zeros);
    samples
}
