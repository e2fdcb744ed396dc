//! Products of matrices added to what is there already.

use crate::functional as f;
use crate::ops::linalg::matmul::WideMatMul;
use crate::ops::prelude::*;

functions! { addmm, addmv, addr, addbmm, baddbmm }

/// `beta * input + alpha * mat1 mat2`, of matrices. With a `beta` of 0, NaN in `input` does not matter; with an `alpha` of 0, NaN in the product.
///
/// # Errors
/// For shapes that do not go together.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let y = opforge::functional::addmm(&x, &x, &x, 1i64.into(), 1i64.into())?;
/// assert_eq!(y.to_vec2::<f32>()?, [[8.0, 12.0], [18.0, 26.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, beta = Scalar::Int(1), alpha = Scalar::Int(1))]
#[python(torch, method, in_place)]
pub fn addmm(input: &Tensor, mat1: &Tensor, mat2: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    if is_bias(input, mat1, mat2) && [beta, alpha].iter().all(|by| by.as_real() == Some(1.0)) {
        return f::linear(mat1, &f::t(mat2)?, Some(input));
    }
    let half = half_of([input, mat1, mat2]);
    let product = product(half, 2, mat1, mat2, f::mm)?;
    combine(OP, input, &unless_left_out(product, alpha)?, beta, alpha, half)
}

/// Whether a vector is added to each row of a product of floats: sums then begin with it, and are rounded once.
fn is_bias(input: &Tensor, mat1: &Tensor, mat2: &Tensor) -> bool {
    let dtype = input.dtype();
    let are_matrices = [mat1, mat2].iter().all(|mat| mat.rank() == 2 && mat.dtype() == dtype);
    dtype.is_float() && are_matrices && mat1.dims()[1] == mat2.dims()[0] && input.dims() == &mat2.dims()[1..]
}

/// `beta * input + alpha * mat vec`.
///
/// # Errors
/// For shapes that do not go together.
#[function(*, beta = Scalar::Int(1), alpha = Scalar::Int(1))]
#[python(torch, method, in_place)]
pub fn addmv(input: &Tensor, mat: &Tensor, vec: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    let half = half_of([input, mat, vec]).filter(|_| vec.rank() == 1);
    let product = match half {
        Some(_) => product(half, 2, mat, &vec.unsqueeze(1)?, |_, _| f::mv(mat, vec))?.flatten_all()?,
        None => f::mv(mat, vec)?,
    };
    combine(OP, input, &unless_left_out(product, alpha)?, beta, alpha, half)
}

/// `beta * input + alpha * outer(vec1, vec2)`.
///
/// # Errors
/// For shapes that do not go together.
#[function(*, beta = Scalar::Int(1), alpha = Scalar::Int(1))]
#[python(torch, method, in_place)]
pub fn addr(input: &Tensor, vec1: &Tensor, vec2: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    let half = half_of([input, vec1, vec2]);
    // Products of integers that are added to floats would wrap.
    let of = |vec: &Tensor| match input.dtype().is_float() && vec.dtype().is_int() {
        _ if half.is_some() => vec.to_dtype(DType::F32),
        true => vec.to_dtype(input.dtype()),
        false => Ok(vec.clone()),
    };
    combine(OP, input, &f::outer(&of(vec1)?, &of(vec2)?)?, beta, alpha, half)
}

/// `beta * input + alpha * (the sum of a batch's matrix products)`.
///
/// # Errors
/// For shapes that do not go together.
#[function(*, beta = Scalar::Int(1), alpha = Scalar::Int(1))]
#[python(torch, method, in_place)]
pub fn addbmm(input: &Tensor, batch1: &Tensor, batch2: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    let half = half_of([input, batch1, batch2]);
    let product = product(half, 3, batch1, batch2, f::bmm)?.sum(0)?;
    combine(OP, input, &unless_left_out(product, alpha)?, beta, alpha, half)
}

/// `beta * input + alpha * (a batch's matrix products)`.
///
/// # Errors
/// For shapes that do not go together.
#[function(*, beta = Scalar::Int(1), alpha = Scalar::Int(1))]
#[python(torch, method, in_place)]
pub fn baddbmm(input: &Tensor, batch1: &Tensor, batch2: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    let half = half_of([input, batch1, batch2]);
    combine(OP, input, &product(half, 3, batch1, batch2, f::bmm)?, beta, alpha, half)
}

/// The dtype of all, if it is f16 or bf16: sums are then f32 until all is added, and rounded once.
fn half_of(tensors: [&Tensor; 3]) -> Option<DType> {
    let dtype = tensors[0].dtype();
    (is_half(dtype) && tensors.iter().all(|t| t.dtype() == dtype)).then_some(dtype)
}

/// The product of tensors of this rank, f32 if they are halves; otherwise, or where their shapes do not go together, `plain`.
#[track_caller]
fn product(
    half: Option<DType>,
    rank: usize,
    a: &Tensor,
    b: &Tensor,
    plain: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let fits = a.rank() == rank && b.rank() == rank && a.dims()[..rank - 2] == b.dims()[..rank - 2];
    if half.is_some() && fits { dispatch1(&WideMatMul, &[a, b]) } else { plain(a, b) }
}

/// The product, or zeros if its factor is 0.
#[track_caller]
fn unless_left_out(product: Tensor, alpha: Scalar) -> Result<Tensor> {
    if alpha.to_bool() { Ok(product) } else { f::constant_in(product.zeros_like()?, &[&product]) }
}

/// `beta * input + alpha * product`, of the product's shape; rounded to `half` at the end, if there is one.
#[track_caller]
fn combine(
    op: &'static str,
    input: &Tensor,
    product: &Tensor,
    beta: Scalar,
    alpha: Scalar,
    half: Option<DType>,
) -> Result<Tensor> {
    let scaled = |t: &Tensor, by: Scalar| match by {
        Scalar::Int(1) => Ok(t.clone()),
        by => {
            let factor = f::converted("addmm", by, t.dtype())?;
            f::binary(crate::ops::pointwise::mul::Mul, t.into(), factor.into(), Rules::BROADCAST)
        }
    };
    let (input, product) = &f::pair(op, input, product)?;
    let product = scaled(product, alpha)?;
    input.shape().broadcast(product.shape(), op).and_then(|shape| match shape == *product.shape() {
        true => Ok(()),
        false => Err(Error::shapes(op, input.shape(), product.shape(), "an input that broadcasts to the product")),
    })?;
    let result = if beta.as_real() == Some(0.0) {
        f::constant_in(product, &[input])
    } else {
        f::add((&product).into(), (&scaled(input, beta)?).into(), Scalar::Int(1))
    }?;
    match half {
        Some(half) => result.to_dtype(half),
        None => Ok(result),
    }
}
