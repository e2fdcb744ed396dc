//! `matmul(a, b)`: matrix products over the last two dimensions, batched over the others.

use opforge_tile::forms::Contract;

use crate::autograd::sum_to;
use crate::functional::complex_matmul;
use crate::ops::prelude::*;

/// The operator of [`matmul`]: `[.., m, k]` by `[.., k, n]`, leading dimensions broadcast.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct MatMul;

const ACCEPTED: &str = "[.., m, k] and [.., k, n]";

/// Splits a matrix's shape into leading dimensions, rows and columns.
fn parts(meta: &Meta) -> (&[usize], usize, usize) {
    let (lead, last) = meta.dims().split_at(meta.rank() - 2);
    (lead, last[0], last[1])
}

impl Plain for MatMul {
    const NAME: &'static str = "matmul";
    const INPUTS: usize = 2;
    const SAVES: Saves = Saves::INPUTS;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let [a, b] = [inputs[0], inputs[1]];
        let mismatch = || Error::shapes(Self::NAME, a.shape(), b.shape(), ACCEPTED);
        ensure(a.rank() >= 2 && b.rank() >= 2, mismatch)?;
        let ((lead_a, m, k), (lead_b, k2, n)) = (parts(a), parts(b));
        ensure(k == k2, mismatch)?;
        check_dtypes(Self::NAME, a, b)?;
        let lead = Shape::from(lead_a).broadcast(&lead_b.into(), Self::NAME).map_err(|_| mismatch())?;
        let shape: Shape = lead.dims().iter().copied().chain([m, n]).collect();
        Ok(smallvec![Meta::contiguous(a.dtype, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let rank = inputs[0].rank().max(inputs[1].rank());
        let (m, k, n) = (rank as Axis - 2, rank as Axis - 1, rank as Axis);
        let mut map = AxisMap::pointwise(inputs, rank);
        let rename = |names: &mut SmallVec<[Option<Axis>; 6]>, last: [Axis; 2]| {
            let lead = names.len() - 2;
            names.truncate(lead);
            names.extend(last.map(Some));
        };
        rename(&mut map.inputs[0], [m, k]);
        rename(&mut map.inputs[1], [k, n]);
        rename(&mut map.outputs[0], [m, n]);
        map.roles.push(Role::Map);
        map.with_roles(&[k.into()], Role::Sum)
    }

    fn linearity(&self) -> Linearity {
        Linearity::InEach
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Contract(Contract::Product)
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        gradients(ctx, &ctx.grad(0)?)
    }
}

/// The operator of a product that more is done with before it is rounded: as [`MatMul`], but f32 of f16 and bf16.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub(crate) struct WideMatMul;

impl Plain for WideMatMul {
    const NAME: &'static str = MatMul::NAME;
    const INPUTS: usize = MatMul::INPUTS;
    const SAVES: Saves = MatMul::SAVES;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let mut metas = Plain::infer(&MatMul, inputs)?;
        metas.iter_mut().for_each(|meta| meta.dtype = meta.dtype.compute());
        Ok(metas)
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        Plain::axes(&MatMul, inputs)
    }

    fn linearity(&self) -> Linearity {
        Linearity::InEach
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Contract(Contract::Product)
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        gradients(ctx, &ctx.grad(0)?.to_dtype(ctx.input_meta(0).dtype)?)
    }
}

/// Those of both factors, from that of their product in their dtype.
fn gradients(ctx: &Backward<'_>, grad: &Tensor) -> Result<Grads> {
    let a = ctx.when(0, || sum_to(&product(grad, &ctx.input(1)?.t()?)?, ctx.input_meta(0).shape()))?;
    let b = ctx.when(1, || sum_to(&product(&ctx.input(0)?.t()?, grad)?, ctx.input_meta(1).shape()))?;
    Ok(smallvec![a, b])
}

#[track_caller]
fn product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    product_to(a, b, None)
}

#[track_caller]
fn product_to(a: &Tensor, b: &Tensor, out: Out<'_>) -> Result<Tensor> {
    if a.dtype().is_complex() && a.dtype() == b.dtype() {
        Plain::infer(&MatMul, &[a.meta(), b.meta()])?;
        return complex_matmul(a, b);
    }
    dispatch_to(&MatMul, &[a, b], out)
}

/// The matrix product of the last two dimensions; leading ones are broadcast, dtypes promoted. A vector counts as a row on the left and as
/// a column on the right, and that dimension goes away again; two vectors give their dot product.
///
/// f16 and bf16 accumulate in f32.
///
/// # Errors
/// For scalars, and for shapes other than `[.., m, k]` and `[.., k, n]`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let v = Tensor::new(&[1f32, 1.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::matmul(&a, &v)?.to_vec1::<f32>()?, [3.0, 7.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(out)]
#[python(torch, method, linalg)]
#[operator(DTypes::NUMERIC, samples, MatMul, WideMatMul)]
pub fn matmul(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    matmul_to(input, other, out)
}

/// As [`matmul`], with a destination.
#[track_caller]
pub(crate) fn matmul_to(input: &Tensor, other: &Tensor, out: Out<'_>) -> Result<Tensor> {
    let (rows, columns) = (input.rank(), other.rank());
    ensure(rows != 0 && columns != 0, || Error::shapes("matmul", input.shape(), other.shape(), ACCEPTED))?;
    let dtype = crate::functional::common_dtype("matmul", input, other)?;
    let (a, b) = (input.to_dtype(dtype)?, other.to_dtype(dtype)?);
    if rows > 1 && columns > 1 {
        return product_to(&a, &b, out);
    }
    let a = if rows == 1 { a.unsqueeze(0)? } else { a };
    let b = if columns == 1 { b.unsqueeze(1)? } else { b };
    let mut y = product(&a, &b)?;
    if columns == 1 {
        y = y.squeeze(y.rank() - 1)?;
    }
    if rows == 1 {
        y = y.squeeze(if columns == 1 { 0 } else { y.rank() - 2 })?;
    }
    Ok(y)
}

impl Tensor {
    /// The matrix product of the last two dimensions; leading ones are equal: see [`matmul`].
    ///
    /// # Errors
    /// When shape, device or dtype do not match, checked in that order.
    #[track_caller]
    pub fn matmul(&self, rhs: &Tensor) -> Result<Tensor> {
        match (self.dims(), rhs.dims()) {
            ([a @ .., _, columns], [b @ .., rows, _]) if a == b && columns == rows => product(self, rhs),
            _ => Err(Error::binary_shapes("matmul", self.shape(), rhs.shape()).bt()),
        }
    }

    /// As [`Tensor::matmul`], with leading dimensions broadcast.
    #[track_caller]
    pub fn broadcast_matmul(&self, rhs: &Tensor) -> Result<Tensor> {
        product(self, rhs)
    }

    /// The dot product of two vectors, as a scalar.
    #[track_caller]
    pub fn dot(&self, rhs: &Tensor) -> Result<Tensor> {
        if self.rank() != 1 || self.shape() != rhs.shape() {
            return Err(Error::shapes("dot", self.shape(), rhs.shape(), "vectors of one length"));
        }
        product(&self.unsqueeze(0)?, &rhs.unsqueeze(1)?)?.reshape(())
    }

    /// This matrix times a vector.
    #[track_caller]
    pub fn mv(&self, rhs: &Tensor) -> Result<Tensor> {
        if self.rank() != 2 || rhs.dims() != &self.dims()[1..] {
            return Err(Error::shapes("mv", self.shape(), rhs.shape(), "[m, k] and [k]"));
        }
        product(self, &rhs.unsqueeze(1)?)?.squeeze(1)
    }
}

fn samples() -> Vec<Sample> {
    fn sample(op: impl Operator + Clone, a: &[usize], b: &[usize], out: &[usize]) -> Sample {
        let out = out.to_vec();
        let inputs = vec![Array::spread(a, -2.0..2.0), Array::spread(b, -2.0..2.0)];
        Sample::new(op, inputs, move |x| {
            let k = x[0].shape[x[0].shape.len() - 1];
            Array::from_fn(&out, |index| {
                let (lead, [i, j]) = (&index[..index.len() - 2], [index[index.len() - 2], index[index.len() - 1]]);
                let at = |a: &Array, i, j| a.at_broadcast(&[lead, &[i, j]].concat());
                (0..k).map(|l| at(&x[0], i, l) * at(&x[1], l, j)).sum()
            })
        })
    }
    vec![
        sample(MatMul, &[3, 4], &[4, 2], &[3, 2]),
        sample(MatMul, &[2, 3, 4], &[2, 4, 5], &[2, 3, 5]),
        sample(MatMul, &[2, 1, 3, 4], &[3, 4, 1], &[2, 3, 3, 1]),
        sample(MatMul, &[1, 3], &[3, 1], &[1, 1]),
        sample(WideMatMul, &[2, 3, 4], &[4, 5], &[2, 3, 5]),
    ]
}
