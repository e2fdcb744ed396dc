//! Matrices of complex numbers as real ones of twice the size, a block `[[re, -im], [im, re]]` for each number. Sums, products, inverses and adjoints
//! (as transposes) are those of the blocks, and so is what is unique: Cholesky factors, pseudo-inverses. Singular values and those of Hermitian matrices come twice.

use crate::functional as f;
use crate::functional::Parts;
use crate::ops::prelude::*;

/// The real matrices of complex ones.
#[track_caller]
pub(crate) fn embedded(z: &Tensor) -> Result<Tensor> {
    blocks(&Parts::of(z)?)
}

/// Of Hermitian matrices: what their diagonals have of imaginary parts counts as 0.
#[track_caller]
pub(crate) fn embedded_hermitian(z: &Tensor) -> Result<Tensor> {
    let Parts { re, im } = Parts::of(z)?;
    let none = Tensor::zeros(&im.dims()[..im.rank() - 1], im.dtype(), im.device())?;
    let im = f::diagonal_scatter(&im, &none, 0, -2, -1)?;
    blocks(&Parts { re, im })
}

#[track_caller]
fn blocks(z: &Parts) -> Result<Tensor> {
    let rank = z.re.rank();
    let upper = Tensor::stack(&[&z.re, &z.im.neg()?], rank)?;
    let lower = Tensor::stack(&[&z.im, &z.re], rank)?;
    let mut shape = z.re.dims().to_vec();
    shape[rank - 2] *= 2;
    shape[rank - 1] *= 2;
    Tensor::stack(&[&upper, &lower], rank - 1)?.reshape(shape)
}

/// The complex matrices of real ones that are made of such blocks.
#[track_caller]
pub(crate) fn extracted(x: &Tensor) -> Result<Tensor> {
    let rank = x.rank();
    let (lead, m, n) = (&x.dims()[..rank - 2], x.dims()[rank - 2] / 2, x.dims()[rank - 1] / 2);
    let columns = x.reshape([lead, &[m, 2, n, 2]].concat())?.get_on_dim(rank + 1, 0)?;
    Parts { re: columns.get_on_dim(rank - 1, 0)?, im: columns.get_on_dim(rank - 1, 1)? }.join()
}

/// The numbers that stand there twice, side by side in the last dimension: their mean, which has a gradient by both.
#[track_caller]
pub(crate) fn halved(values: &Tensor) -> Result<Tensor> {
    let (rank, n) = (values.rank(), values.dims()[values.rank() - 1]);
    values.reshape([&values.dims()[..rank - 1], &[n / 2, 2]].concat())?.mean(rank)
}
