//! `stack(tensors, dim)`: tensors of one shape along a new dimension.

use crate::ops::prelude::*;

/// Tensors of one shape side by side along a new dimension `dim`. Dtypes are promoted.
///
/// # Errors
/// For no tensors, and shapes that differ.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::stack(&[x.clone(), x], 1)?.to_vec2::<f32>()?, [[1.0, 1.0], [2.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dim = 0)]
#[operator(DTypes::ALL, samples)]
pub fn stack(tensors: &[Tensor], dim: i64) -> Result<Tensor> {
    let dim = normalize_dim(dim, tensors.first().map_or(0, Tensor::rank) + 1, OP)?;
    let dtype = crate::functional::promote_all(OP, tensors.iter().map(Tensor::dtype))?.unwrap_or(DType::F32);
    let cast = tensors.iter().map(|t| t.to_dtype(dtype)).collect::<Result<Vec<_>>>()?;
    Tensor::stack(&cast, dim)
}

impl Tensor {
    /// Tensors of one shape side by side along a new dimension.
    ///
    /// # Errors
    /// For no tensors, and shapes or dtypes that differ.
    #[track_caller]
    pub fn stack<A: AsRef<Tensor>, D: Dim>(args: &[A], dim: D) -> Result<Tensor> {
        let Some(first) = args.first().map(AsRef::as_ref) else {
            return Err(Error::value("stack", "tensors", "none", "at least one tensor"));
        };
        let dim = dim.to_index_plus_one(first.shape(), "stack")?;
        let slice = |t: &A| {
            let t = t.as_ref();
            ensure(t.shape() == first.shape(), || Error::shapes("stack", first.shape(), t.shape(), "equal shapes"))?;
            t.unsqueeze(dim)
        };
        Tensor::cat(&args.iter().map(slice).collect::<Result<Vec<_>>>()?, dim)
    }
}

fn samples() -> Vec<Sample> {
    let inputs = vec![Array::spread(&[3, 2], -2.0..2.0), Array::spread(&[3, 2], 0.0..3.0)];
    let stacked = |x: &[Array]| Array::from_fn(&[3, 2, 2], |i| x[i[1]].at(&[i[0], i[2]]));
    vec![Sample::composed("stack", |x| Tensor::stack(x, 1), inputs, stacked)]
}
