//! Products of vectors and matrices.

use opforge_core::normalize_dim;

use crate::functional as f;
use crate::operator::prelude::*;

functions! {
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
    pub fn mm(input: &Tensor, mat2: &Tensor) -> Result<Tensor> {
        ranks("mm", [(input, 2), (mat2, 2)], "[m, k] and [k, n]")?;
        f::matmul(input, mat2)
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
    pub fn bmm(input: &Tensor, mat2: &Tensor) -> Result<Tensor> {
        ranks("bmm", [(input, 3), (mat2, 3)], "[b, m, k] and [b, k, n]")?;
        if input.dims()[0] != mat2.dims()[0] {
            return Err(Error::shapes("bmm", input.shape(), mat2.shape(), "[b, m, k] and [b, k, n]"));
        }
        f::matmul(input, mat2)
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
    pub fn mv(input: &Tensor, vec: &Tensor) -> Result<Tensor> {
        ranks("mv", [(input, 2), (vec, 1)], "[m, k] and [k]")?;
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
    pub fn dot(input: &Tensor, tensor: &Tensor) -> Result<Tensor> {
        ranks("dot", [(input, 1), (tensor, 1)], "vectors of one length")?;
        f::matmul(input, tensor)
    }

    /// As [`dot`].
    ///
    /// # Errors
    /// As [`dot`].
    pub fn vdot(input: &Tensor, other: &Tensor) -> Result<Tensor> {
        dot(input, other)
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
    pub fn inner(input: &Tensor, other: &Tensor) -> Result<Tensor> {
        if input.rank() == 0 || other.rank() == 0 {
            return f::mul(input.into(), other.into());
        }
        f::contract("inner", input, other, &[input.rank() - 1], &[other.rank() - 1])
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
    pub fn outer(input: &Tensor, vec2: &Tensor) -> Result<Tensor> {
        ranks("outer", [(input, 1), (vec2, 1)], "two vectors")?;
        f::mul((&input.unsqueeze(1)?).into(), vec2.into())
    }

    /// As [`outer`].
    ///
    /// # Errors
    /// As [`outer`].
    pub fn ger(input: &Tensor, vec2: &Tensor) -> Result<Tensor> {
        outer(input, vec2)
    }

    /// `beta * input + alpha * mat1 mat2`, of matrices. With a `beta` of 0, NaN in `input` does not matter.
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
    #[python(torch, method, in_place)]
    pub fn addmm(
        input: &Tensor,
        mat1: &Tensor,
        mat2: &Tensor;
        beta: Scalar = Scalar::Int(1),
        alpha: Scalar = Scalar::Int(1),
    ) -> Result<Tensor> {
        combine(input, &mm(mat1, mat2)?, beta, alpha)
    }

    /// `beta * input + alpha * mat vec`.
    ///
    /// # Errors
    /// For shapes that do not go together.
    #[python(torch, method, in_place)]
    pub fn addmv(
        input: &Tensor,
        mat: &Tensor,
        vec: &Tensor;
        beta: Scalar = Scalar::Int(1),
        alpha: Scalar = Scalar::Int(1),
    ) -> Result<Tensor> {
        combine(input, &mv(mat, vec)?, beta, alpha)
    }

    /// `beta * input + alpha * outer(vec1, vec2)`.
    ///
    /// # Errors
    /// For shapes that do not go together.
    #[python(torch, method, in_place)]
    pub fn addr(
        input: &Tensor,
        vec1: &Tensor,
        vec2: &Tensor;
        beta: Scalar = Scalar::Int(1),
        alpha: Scalar = Scalar::Int(1),
    ) -> Result<Tensor> {
        combine(input, &outer(vec1, vec2)?, beta, alpha)
    }

    /// `beta * input + alpha * (the sum of a batch's matrix products)`.
    ///
    /// # Errors
    /// For shapes that do not go together.
    #[python(torch, method, in_place)]
    pub fn addbmm(
        input: &Tensor,
        batch1: &Tensor,
        batch2: &Tensor;
        beta: Scalar = Scalar::Int(1),
        alpha: Scalar = Scalar::Int(1),
    ) -> Result<Tensor> {
        combine(input, &bmm(batch1, batch2)?.sum(0)?, beta, alpha)
    }

    /// `beta * input + alpha * (a batch's matrix products)`.
    ///
    /// # Errors
    /// For shapes that do not go together.
    #[python(torch, method, in_place)]
    pub fn baddbmm(
        input: &Tensor,
        batch1: &Tensor,
        batch2: &Tensor;
        beta: Scalar = Scalar::Int(1),
        alpha: Scalar = Scalar::Int(1),
    ) -> Result<Tensor> {
        combine(input, &bmm(batch1, batch2)?, beta, alpha)
    }

    /// The sums of products over a dimension of two tensors, which are broadcast.
    ///
    /// # Errors
    /// For shapes that do not broadcast.
    #[python(linalg)]
    pub fn vecdot(x: &Tensor, y: &Tensor; dim: i64 = -1) -> Result<Tensor> {
        f::sum(&f::mul(x.into(), y.into())?, Some(&[dim]), false, None)
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
    pub fn trace(input: &Tensor) -> Result<Tensor> {
        if input.rank() != 2 {
            return Err(Error::shape("trace", "input", format!("{:?}", input.shape()), "a matrix"));
        }
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
    pub fn cross(input: &Tensor, other: &Tensor, dim: Option<i64> = None) -> Result<Tensor> {
        let shape = input.shape().broadcast(other.shape(), "cross")?;
        let no_three = || Error::shape("cross", "input", format!("{shape:?}"), "a dimension of length 3");
        let axis = match dim {
            Some(dim) => normalize_dim(dim, shape.rank(), "cross")?,
            None => shape.dims().iter().position(|&n| n == 3).ok_or_else(no_three)?,
        };
        if shape.dims().get(axis) != Some(&3) {
            return Err(no_three());
        }
        let (a, b) = (input.broadcast_as(&shape)?, other.broadcast_as(&shape)?);
        let turned = |t: &Tensor, by: i64| f::roll(t, &[-by], Some(&[axis as i64]));
        let product = |i: i64, j: i64| f::mul((&turned(&a, i)?).into(), (&turned(&b, j)?).into());
        product(1, 2)?.sub(&product(2, 1)?)
    }

    /// [`cross`] along the last dimension unless another is given.
    ///
    /// # Errors
    /// As [`cross`].
    #[python(linalg, name = "cross")]
    pub fn linalg_cross(input: &Tensor, other: &Tensor; dim: i64 = -1) -> Result<Tensor> {
        cross(input, other, Some(dim))
    }

    /// The products over the last `dims` dimensions of one tensor with the first `dims` of the other, summed.
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
    #[python(torch)]
    pub fn tensordot(a: &Tensor, b: &Tensor, dims: i64 = 2) -> Result<Tensor> {
        let count = usize::try_from(dims).ok().filter(|&n| n <= a.rank().min(b.rank()));
        let Some(count) = count else {
            return Err(Error::value("tensordot", "dims", dims, format!("0 to {}", a.rank().min(b.rank()))));
        };
        let (from_a, from_b): (Vec<usize>, Vec<usize>) = ((a.rank() - count..a.rank()).collect(), (0..count).collect());
        f::contract("tensordot", a, b, &from_a, &from_b)
    }

    /// The products over these dimensions of two tensors, in pairs, summed; the others follow in order.
    ///
    /// # Errors
    /// For dimensions that differ in length or number, or come twice.
    #[python(hidden)]
    pub fn tensordot_over(a: &Tensor, b: &Tensor, dims_a: &[i64], dims_b: &[i64]) -> Result<Tensor> {
        let axes = |t: &Tensor, dims: &[i64]| -> Result<Vec<usize>> {
            if t.rank() == 0 && !dims.is_empty() {
                return Err(f::no_dims("tensordot"));
            }
            f::reduce_dims("tensordot", t, Some(dims))?;
            dims.iter().map(|&dim| normalize_dim(dim, t.rank(), "tensordot")).collect()
        };
        f::contract("tensordot", a, b, &axes(a, dims_a)?, &axes(b, dims_b)?)
    }

    /// A square matrix, or each of a batch, to a whole power: multiplied with itself `n` times, its inverse for a
    /// negative power.
    ///
    /// # Errors
    /// For matrices that are not square, and negative powers of those that have no inverse.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 1.0], [0.0, 1.0]], &Device::Cpu)?;
    /// assert_eq!(opforge::functional::matrix_power(&x, 5)?.to_vec2::<f32>()?, [[1.0, 5.0], [0.0, 1.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(torch, method, linalg)]
    pub fn matrix_power(input: &Tensor, n: i64) -> Result<Tensor> {
        let [.., rows, columns] = input.dims()[..] else {
            return Err(Error::shape("matrix_power", "input", format!("{:?}", input.shape()), "square matrices"));
        };
        if rows != columns {
            return Err(Error::shape("matrix_power", "input", format!("{:?}", input.shape()), "square matrices"));
        }
        if n < 0 {
            let power = n.checked_neg().ok_or_else(|| Error::value("matrix_power", "n", n, "above -2^63"))?;
            return matrix_power(&f::inverse(input)?, power);
        }
        let mut power = None;
        let (mut square, mut rest) = (input.clone(), n);
        while rest > 0 {
            if rest % 2 == 1 {
                power = Some(match power {
                    None => square.clone(),
                    Some(power) => f::matmul(&power, &square)?,
                });
            }
            rest /= 2;
            if rest > 0 {
                square = f::matmul(&square, &square)?;
            }
        }
        match power {
            Some(power) => Ok(power),
            None => Tensor::eye(rows, input.dtype(), input.device())?.broadcast_as(input.shape())?.contiguous(),
        }
    }

    /// The product of several matrices in the order that takes the fewest multiplications; the first and the last may be vectors.
    ///
    /// # Errors
    /// For fewer than two, and shapes that do not go together.
    ///
    /// ```
    /// # use opforge::{DType, Device, Tensor};
    /// let shapes = [(10, 100), (100, 5), (5, 50)];
    /// let chain = shapes.map(|shape| Tensor::ones(shape, DType::F32, &Device::Cpu).unwrap());
    /// assert_eq!(opforge::functional::multi_dot(&chain)?.dims(), [10, 50]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(linalg)]
    pub fn multi_dot(tensors: &[Tensor]) -> Result<Tensor> {
        let [first, .., last] = tensors else {
            return Err(Error::value("multi_dot", "tensors", tensors.len(), "at least two"));
        };
        let mut chain = tensors.to_vec();
        if first.rank() == 1 {
            chain[0] = first.unsqueeze(0)?;
        }
        if last.rank() == 1 {
            chain[tensors.len() - 1] = last.unsqueeze(1)?;
        }
        if let Some(other) = chain.iter().find(|t| t.rank() != 2) {
            return Err(Error::shape("multi_dot", "tensors", format!("{:?}", other.shape()), "matrices; vectors at the ends"));
        }
        if let Some(pair) = chain.windows(2).find(|pair| pair[0].dims()[1] != pair[1].dims()[0]) {
            return Err(Error::shapes("multi_dot", pair[0].shape(), pair[1].shape(), "[m, k] and [k, n]"));
        }
        let product = in_best_order(&chain)?;
        let (rows, columns) = (product.dims()[0], product.dims()[1]);
        match (first.rank(), last.rank()) {
            (1, 1) => product.reshape(()),
            (1, _) => product.reshape(columns),
            (_, 1) => product.reshape(rows),
            _ => Ok(product),
        }
    }

    /// As [`multi_dot`].
    ///
    /// # Errors
    /// As [`multi_dot`].
    #[python(torch)]
    pub fn chain_matmul(matrices: &[Tensor]) -> Result<Tensor> {
        if matrices.len() == 1 { Ok(matrices[0].clone()) } else { multi_dot(matrices) }
    }
}

fn ranks(op: &'static str, given: [(&Tensor, usize); 2], accepted: &str) -> Result<()> {
    let [(a, _), (b, _)] = given;
    if given.iter().all(|(t, rank)| t.rank() == *rank) {
        return Ok(());
    }
    Err(Error::shapes(op, a.shape(), b.shape(), accepted))
}

/// `beta * input + alpha * product`, of the product's shape.
#[track_caller]
fn combine(input: &Tensor, product: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    let scaled = |t: &Tensor, by: Scalar| match by {
        Scalar::Int(1) => Ok(t.clone()),
        by => crate::functional::binary(crate::ops::pointwise::mul::Mul, t.into(), by.into(), Rules::BROADCAST),
    };
    let product = scaled(product, alpha)?;
    input.shape().broadcast(product.shape(), "addmm").and_then(|shape| match shape == *product.shape() {
        true => Ok(()),
        false => Err(Error::shapes("addmm", input.shape(), product.shape(), "an input that broadcasts to the product")),
    })?;
    if beta.to_f64() == 0.0 {
        return Ok(product);
    }
    f::add((&product).into(), (&scaled(input, beta)?).into(), Scalar::Int(1))
}

/// By dynamic programming over where the last product splits the chain (Cormen and others, "Introduction to Algorithms", 15.2).
#[track_caller]
fn in_best_order(chain: &[Tensor]) -> Result<Tensor> {
    let n = chain.len();
    let size = |i: usize| if i < n { chain[i].dims()[0] } else { chain[n - 1].dims()[1] } as f64;
    let (mut cost, mut cut) = (vec![vec![0.0; n]; n], vec![vec![0; n]; n]);
    for len in 1..n {
        for i in 0..n - len {
            let j = i + len;
            let through = |k: usize| cost[i][k] + cost[k + 1][j] + size(i) * size(k + 1) * size(j + 1);
            let best = (i..j).fold(i, |best, k| if through(k) < through(best) { k } else { best });
            (cost[i][j], cut[i][j]) = (through(best), best);
        }
    }
    fn product(chain: &[Tensor], cut: &[Vec<usize>], i: usize, j: usize) -> Result<Tensor> {
        if i == j {
            return Ok(chain[i].clone());
        }
        let k = cut[i][j];
        f::matmul(&product(chain, cut, i, k)?, &product(chain, cut, k + 1, j)?)
    }
    product(chain, &cut, 0, n - 1)
}
