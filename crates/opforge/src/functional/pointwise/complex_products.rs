//! Products of many complex numbers, by doubling the number of factors.

use crate::ops::prelude::*;

/// The product over axes: the first half times the second, until one element remains.
#[track_caller]
pub(crate) fn complex_product(z: &Tensor, axes: Axes, keepdim: bool) -> Result<Tensor> {
    let mut product = z.clone();
    for axis in (0..z.rank()).filter(|&axis| axes.contains(axis)) {
        if product.dims()[axis] == 0 {
            let mut shape = product.dims().to_vec();
            shape[axis] = 1;
            product = Tensor::ones(shape, z.dtype(), z.device())?;
        }
        while product.dims()[axis] > 1 {
            let (half, odd) = (product.dims()[axis] / 2, product.dims()[axis] % 2);
            let pairs = product.narrow(axis, 0, half)?.mul(&product.narrow(axis, half, half)?)?;
            product = Tensor::cat(&[&pairs, &product.narrow(axis, 2 * half, odd)?], axis)?;
        }
    }
    if keepdim {
        return product.copy();
    }
    let kept: Vec<usize> = (0..z.rank()).filter(|&axis| !axes.contains(axis)).map(|axis| z.dims()[axis]).collect();
    product.reshape(kept)?.copy()
}

/// The products of each element and all before it along an axis.
#[track_caller]
pub(crate) fn complex_products(z: &Tensor, axis: usize) -> Result<Tensor> {
    let (mut products, len) = (z.copy()?, z.dims()[axis]);
    let mut step = 1;
    while step < len {
        let rest = len - step;
        let later = products.narrow(axis, step, rest)?.mul(&products.narrow(axis, 0, rest)?)?;
        products = Tensor::cat(&[&products.narrow(axis, 0, step)?, &later], axis)?;
        step *= 2;
    }
    Ok(products)
}
