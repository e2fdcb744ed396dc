//! One-hot encoding.

use opforge::{DType, Error, Result, Tensor, WithDType};

/// Class numbers as rows of `depth` elements: `on_value` at the class, `off_value` elsewhere. A class of -1 gives a row of `off_value`s.
///
/// # Errors
/// For classes that are not integers from -1 below `depth`.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let classes = Tensor::new(&[2i64, -1, 0], &Device::Cpu)?;
/// let rows = opforge_nn::encoding::one_hot(classes, 3, 1f32, 0f32)?;
/// assert_eq!(rows.to_vec2::<f32>()?, [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
pub fn one_hot<D: WithDType>(indices: Tensor, depth: usize, on_value: D, off_value: D) -> Result<Tensor> {
    if indices.dtype().is_float() || indices.dtype().is_complex() || indices.dtype() == DType::Bool {
        return Err(Error::dtype("one_hot", "indices", indices.dtype(), "integers"));
    }
    let classes = indices.flatten_all()?.to_dtype(DType::I64)?.to_vec1::<i64>()?;
    let len = classes.len().checked_mul(depth);
    let len = len.ok_or_else(|| Error::value("one_hot", "depth", depth, "a depth whose rows fit into memory"))?;
    let known = |&class: &i64| class == -1 || usize::try_from(class).is_ok_and(|class| class < depth);
    if let Some(class) = classes.iter().find(|class| !known(class)) {
        return Err(Error::index("one_hot", "indices", class, format!("-1 to {}", depth as i64 - 1)));
    }
    let at = |i: usize| if classes[i / depth] == (i % depth) as i64 { on_value } else { off_value };
    Tensor::from_iter((0..len).map(at), indices.device())?.reshape([indices.dims(), &[depth]].concat())
}
