//! `cat(tensors, dim)`: tensors one after another along a dimension.

use opforge_tile::forms::Move;

use crate::ops::prelude::*;

/// The operator of [`cat`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Cat {
    /// The dimension along which the tensors are joined.
    pub dim: usize,
}

impl Operator for Cat {
    fn name(&self) -> &'static str {
        "cat"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let Some(first) = inputs.first() else {
            return Err(Error::OpRequiresAtLeastOneTensor { op: "cat" });
        };
        check_dim("cat", first, self.dim)?;
        let mut dims = first.shape().clone().into_dims();
        for (n, other) in inputs.iter().enumerate().skip(1) {
            let differs = |(d, (a, b)): (usize, (&usize, &usize))| d != self.dim && a != b;
            if other.rank() != first.rank() || first.dims().iter().zip(other.dims()).enumerate().any(differs) {
                let boxed = |meta: &Meta| Box::new(meta.shape().clone());
                let (first_shape, nth_shape) = (boxed(first), boxed(other));
                return Err(Error::ShapeMismatchCat { dim: self.dim, first_shape, n, nth_shape });
            }
            check_dtypes("cat", first, other)?;
            dims[self.dim] = dims[self.dim].saturating_add(other.dims()[self.dim]);
        }
        let shape = Shape::from(dims);
        shape.check("cat", first.dtype.size_in_bytes())?;
        Ok(smallvec![Meta::contiguous(first.dtype, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let rank = inputs[0].rank();
        let names: SmallVec<[Option<Axis>; 6]> = (0..rank).map(|d| (d != self.dim).then_some(d as Axis)).collect();
        AxisMap {
            inputs: vec![names.clone(); inputs.len()],
            outputs: vec![names],
            roles: SmallVec::from_elem(Role::Map, rank),
        }
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Move(Move::Concatenate { axis: self.dim }))
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        let mut start = 0;
        let part = |i: usize| {
            let len = ctx.input_meta(i).dims()[self.dim];
            start += len;
            ctx.when(i, || grad.narrow(self.dim, start - len, len))
        };
        (0..ctx.input_count()).map(part).collect()
    }
}

#[track_caller]
fn join(tensors: &[&Tensor], dim: usize) -> Result<Tensor> {
    dispatch1(&Cat { dim }, tensors)
}

/// The tensors one after another along `dim`; elsewhere their lengths are equal. Dtypes are promoted. Vectors without elements are left out.
///
/// # Errors
/// For no tensors, and shapes that differ in another dimension.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::cat(&[x.clone(), x], 0)?.to_vec2::<f32>()?, [[1.0, 2.0], [1.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = 0, out)]
#[operator(DTypes::ALL, samples, Cat)]
pub fn cat(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    let dtype = crate::functional::promote_all(OP, tensors.iter().map(Tensor::dtype))?.unwrap_or(DType::F32);
    let nothing = |t: &&Tensor| t.dims() == [0];
    let all_nothing = tensors.iter().all(|t| nothing(&t));
    let parts = tensors.iter().filter(|t| all_nothing || !nothing(t));
    let cast = parts.map(|t| t.to_dtype(dtype)).collect::<Result<Vec<_>>>()?;
    let dim = normalize_dim(dim, cast.first().map_or(0, Tensor::rank), OP)?;
    let cast: Vec<&Tensor> = cast.iter().collect();
    // What is left out has a gradient too, of no elements.
    let left_out: SmallVec<[&Tensor; 2]> = tensors.iter().filter(|t| !all_nothing && nothing(t)).collect();
    match left_out.is_empty() {
        true => dispatch_to(&Cat { dim }, &cast, out),
        false => crate::functional::constant_in(join(&cast, dim)?, &left_out),
    }
}

impl Tensor {
    /// Tensors one after another along a dimension; elsewhere their lengths are equal, and their dtypes are.
    ///
    /// # Errors
    /// For no tensors, and shapes or dtypes that differ.
    #[track_caller]
    pub fn cat<A: AsRef<Tensor>, D: Dim>(args: &[A], dim: D) -> Result<Tensor> {
        let tensors: Vec<&Tensor> = args.iter().map(AsRef::as_ref).collect();
        let Some(first) = tensors.first() else {
            return Err(Error::OpRequiresAtLeastOneTensor { op: "cat" });
        };
        let dim = dim.to_index(first.shape(), "cat")?;
        match tensors.iter().find(|other| other.rank() != first.rank()) {
            Some(other) => Err(Error::rank("cat", first.rank(), other.shape()).bt()),
            None => join(&tensors, dim),
        }
    }

    /// With zeros before and after the elements of a dimension.
    #[track_caller]
    pub fn pad_with_zeros<D: Dim>(&self, dim: D, left: usize, right: usize) -> Result<Tensor> {
        if left == 0 && right == 0 {
            return Ok(self.clone());
        }
        let dim = dim.to_index(self.shape(), "pad_with_zeros")?;
        let zeros = |len| {
            let mut dims = self.shape().clone().into_dims();
            dims[dim] = len;
            Tensor::zeros(dims, self.dtype(), self.device())
        };
        dispatch1(&Cat { dim }, &[&zeros(left)?, self, &zeros(right)?])
    }
}

fn samples() -> Vec<Sample> {
    let sample = |dim: usize, shapes: &[&[usize]]| {
        let inputs: Vec<_> = shapes.iter().map(|s| Array::spread(s, -2.0..2.0)).collect();
        let mut out = shapes[0].to_vec();
        out[dim] = shapes.iter().map(|s| s[dim]).sum();
        Sample::new(Cat { dim }, inputs, move |x| {
            Array::from_fn(&out, |index| {
                let mut index = index.to_vec();
                let part = x.iter().find(|part| {
                    let here = index[dim] < part.shape[dim];
                    index[dim] -= if here { 0 } else { part.shape[dim] };
                    here
                });
                part.map_or(f64::NAN, |part| part.at(&index))
            })
        })
    };
    vec![sample(0, &[&[2, 3], &[4, 3]]), sample(1, &[&[2, 3], &[2, 1], &[2, 2]]), sample(2, &[&[2, 2, 2], &[2, 2, 3]])]
}
