//! Products of vectors and matrices.

use crate::functional as f;
use crate::ops::linalg::matmul::matmul_to;
use crate::ops::prelude::*;

functions! {
    mm, bmm, mv, dot, vdot, inner, outer, ger, vecdot, trace, kron, cross, linalg_cross, tensordot, tensordot_over,
}

/// The product of two matrices.
///
/// # Errors
/// For tensors that are not matrices, and shapes other than `[m, k]` and `[k, n]`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::mm(&x, &x)?.to_vec2::<f32>()?, [[7.0, 10.0], [15.0, 22.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
pub fn mm(input: &Tensor, mat2: &Tensor) -> Result<Tensor> {
    ranks(OP, [(input, 2), (mat2, 2)], "[m, k] and [k, n]")?;
    matmul_to(input, mat2, out)
}

/// The products of matrices, one for each of a batch.
///
/// # Errors
/// For shapes other than `[b, m, k]` and `[b, k, n]`.
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let (a, b) = (Tensor::ones((2, 3, 4), DType::F32, &Device::Cpu)?, Tensor::ones((2, 4, 5), DType::F32, &Device::Cpu)?);
/// assert_eq!(opforge::functional::bmm(&a, &b)?.dims(), [2, 3, 5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
pub fn bmm(input: &Tensor, mat2: &Tensor) -> Result<Tensor> {
    ranks(OP, [(input, 3), (mat2, 3)], "[b, m, k] and [b, k, n]")?;
    if input.dims()[0] != mat2.dims()[0] {
        return Err(Error::shapes(OP, input.shape(), mat2.shape(), "[b, m, k] and [b, k, n]"));
    }
    matmul_to(input, mat2, out)
}

/// The product of a matrix and a vector.
///
/// # Errors
/// For shapes other than `[m, k]` and `[k]`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let v = Tensor::new(&[1f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::mv(&x, &v)?.to_vec1::<f32>()?, [3.0, 7.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn mv(input: &Tensor, vec: &Tensor) -> Result<Tensor> {
    ranks(OP, [(input, 2), (vec, 1)], "[m, k] and [k]")?;
    f::matmul(input, vec)
}

/// The sum of products of two vectors.
///
/// # Errors
/// For tensors that are not vectors of one length.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let v = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::dot(&v, &v)?.to_scalar::<f32>()?, 5.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn dot(input: &Tensor, tensor: &Tensor) -> Result<Tensor> {
    ranks(OP, [(input, 1), (tensor, 1)], "vectors of one length")?;
    f::matmul(input, tensor)
}

/// As [`dot`], with the complex conjugates of `input`.
///
/// # Errors
/// As [`dot`].
#[function]
pub fn vdot(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    dot(&f::conj(input)?, other)
}

/// The sums of products over the last dimension, of each row of one with each row of the other.
///
/// # Errors
/// For last dimensions that differ.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::inner(&x, &x)?.to_vec2::<f32>()?, [[5.0, 11.0], [11.0, 25.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn inner(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    if input.rank() == 0 || other.rank() == 0 {
        return f::mul(input.into(), other.into());
    }
    f::contract(OP, input, other, &[input.rank() - 1], &[other.rank() - 1])
}

/// The products of each element of one vector with each of the other, as a matrix.
///
/// # Errors
/// For tensors that are not vectors.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let v = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::outer(&v, &v)?.to_vec2::<f32>()?, [[1.0, 2.0], [2.0, 4.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn outer(input: &Tensor, vec2: &Tensor) -> Result<Tensor> {
    ranks(OP, [(input, 1), (vec2, 1)], "two vectors")?;
    f::mul((&input.unsqueeze(1)?).into(), vec2.into())
}

/// As [`outer`].
///
/// # Errors
/// As [`outer`].
#[function]
pub fn ger(input: &Tensor, vec2: &Tensor) -> Result<Tensor> {
    outer(input, vec2)
}

/// The sums of products over a dimension of two tensors, which are broadcast; of complex `x` the conjugates.
///
/// # Errors
/// For shapes that do not broadcast.
#[function(*, dim = -1)]
#[python(linalg)]
pub fn vecdot(x: &Tensor, y: &Tensor, dim: i64) -> Result<Tensor> {
    f::sum(&f::mul((&f::conj(x)?).into(), y.into())?, Some(&[dim]), false, None)
}

/// The sum of a matrix's diagonal.
///
/// # Errors
/// For tensors that are not matrices.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::trace(&x)?.to_scalar::<f32>()?, 5.0);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn trace(input: &Tensor) -> Result<Tensor> {
    ensure(input.rank() == 2, || wrong_shape(OP, "input", input.shape(), "a matrix"))?;
    f::sum(&f::diagonal(input, 0, 0, 1)?, None, false, None)
}

/// The products of every element of one tensor with the whole other, laid out as blocks.
///
/// # Errors
/// When the result is too large.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (a, b) = (Tensor::new(&[1f32, 2.0], &Device::Cpu)?, Tensor::new(&[1f32, 10.0], &Device::Cpu)?);
/// assert_eq!(opforge::functional::kron(&a, &b)?.to_vec1::<f32>()?, [1.0, 10.0, 2.0, 20.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
pub fn kron(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    let rank = input.rank().max(other.rank());
    // Each dimension becomes a pair, of which one tensor has the first and the other the second.
    let pairs = |t: &Tensor, place: usize| {
        let mut shape = vec![1; 2 * rank];
        t.dims().iter().enumerate().for_each(|(d, &n)| shape[2 * (rank - t.rank() + d) + place] = n);
        t.reshape(shape)
    };
    let products = f::mul((&pairs(input, 0)?).into(), (&pairs(other, 1)?).into())?;
    let shape: Vec<usize> = products.dims().chunks(2).map(|pair| pair[0] * pair[1]).collect();
    products.reshape(shape)
}

/// The cross product of vectors along a dimension of length 3: the first one without `dim`.
///
/// # Errors
/// For shapes that do not broadcast, and without a dimension of length 3.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let (x, y) = (Tensor::new(&[1f32, 0.0, 0.0], &Device::Cpu)?, Tensor::new(&[0f32, 1.0, 0.0], &Device::Cpu)?);
/// assert_eq!(opforge::functional::cross(&x, &y, None)?.to_vec1::<f32>()?, [0.0, 0.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = None)]
pub fn cross(input: &Tensor, other: &Tensor, dim: Option<i64>) -> Result<Tensor> {
    let shape = input.shape().broadcast(other.shape(), OP)?;
    let no_three = || Error::shape(OP, "input", format!("{shape:?}"), "a dimension of length 3");
    let axis = match dim {
        Some(dim) => normalize_dim(dim, shape.rank(), OP)?,
        None => shape.dims().iter().position(|&n| n == 3).ok_or_else(no_three)?,
    };
    if shape.dims().get(axis) != Some(&3) {
        return Err(no_three());
    }
    // The coordinates, in front, and the first two once more: turned by one and two they are views.
    let coordinates = |t: &Tensor| {
        let t = t.broadcast_as(&shape)?.transpose(0, axis)?;
        Tensor::cat(&[&t, &t.narrow(0, 0, 2)?], 0)
    };
    let (a, b) = (coordinates(input)?, coordinates(other)?);
    let product = |i: usize, j: usize| f::mul((&a.narrow(0, i, 3)?).into(), (&b.narrow(0, j, 3)?).into());
    product(1, 2)?.sub(&product(2, 1)?)?.transpose(0, axis)?.contiguous()
}

/// [`cross`] along the last dimension unless another is given.
///
/// # Errors
/// As [`cross`].
#[function(*, dim = -1)]
#[python(linalg, name = "cross")]
pub fn linalg_cross(input: &Tensor, other: &Tensor, dim: i64) -> Result<Tensor> {
    cross(input, other, Some(dim))
}

/// The products over the last `dims` dimensions of one tensor with the first `dims` of the other, summed. Lengths of 1 are stretched.
///
/// # Errors
/// For dimensions that differ in length, and more of them than there are.
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::ones((2, 3, 4), DType::F32, &Device::Cpu)?;
/// let y = Tensor::ones((3, 4, 5), DType::F32, &Device::Cpu)?;
/// assert_eq!(opforge::functional::tensordot(&x, &y, 2)?.dims(), [2, 5]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dims = 2)]
#[python(torch)]
pub fn tensordot(a: &Tensor, b: &Tensor, dims: i64) -> Result<Tensor> {
    let count = usize::try_from(dims).ok().filter(|&n| n <= a.rank().min(b.rank()));
    let Some(count) = count else {
        return Err(Error::value(OP, "dims", dims, format!("0 to {}", a.rank().min(b.rank()))));
    };
    let (from_a, from_b): (Vec<usize>, Vec<usize>) = ((a.rank() - count..a.rank()).collect(), (0..count).collect());
    stretched_contract(a, b, &from_a, &from_b)
}

/// The products over these dimensions of two tensors, in pairs, summed; the others follow in order. Lengths of 1 are stretched.
///
/// # Errors
/// For dimensions that differ in length or number, or come twice.
#[function]
#[python(hidden)]
pub fn tensordot_over(a: &Tensor, b: &Tensor, dims_a: &[i64], dims_b: &[i64]) -> Result<Tensor> {
    let axes = |t: &Tensor, dims: &[i64]| -> Result<Vec<usize>> {
        if t.rank() == 0 && !dims.is_empty() {
            return Err(f::no_dims("tensordot"));
        }
        f::reduce_dims("tensordot", t, Some(dims))?;
        dims.iter().map(|&dim| normalize_dim(dim, t.rank(), "tensordot")).collect()
    };
    stretched_contract(a, b, &axes(a, dims_a)?, &axes(b, dims_b)?)
}

/// As [`f::contract`]; a dimension of length 1 goes with any: the other tensor is summed over its own.
#[track_caller]
fn stretched_contract(a: &Tensor, b: &Tensor, from_a: &[usize], from_b: &[usize]) -> Result<Tensor> {
    let summed = |t: &Tensor, d: usize| f::sum(t, Some(&[d as i64]), true, Some(t.dtype()));
    let (mut a, mut b) = (a.clone(), b.clone());
    for (&i, &j) in from_a.iter().zip(from_b) {
        match (a.dims()[i], b.dims()[j]) {
            (n, m) if n == m => {}
            (1, _) => b = summed(&b, j)?,
            (_, 1) => a = summed(&a, i)?,
            _ => {}
        }
    }
    f::contract("tensordot", &a, &b, from_a, from_b)
}

/// Fails unless the tensors have these ranks.
pub(super) fn ranks(op: &'static str, given: [(&Tensor, usize); 2], accepted: &str) -> Result<()> {
    let [(a, m), (b, n)] = given;
    ensure(a.rank() == m && b.rank() == n, || Error::shapes(op, a.shape(), b.shape(), accepted))
}
