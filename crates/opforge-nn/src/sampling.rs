//! Random classes by their logits (Gumbel softmax).

use opforge::{Dim, Result, Tensor};

/// Classes drawn with the probabilities `softmax(logits / temperature)` along a dimension, as the place of the greatest `logits / temperature + g`, where g has
/// Gumbel's distribution (Maddison et al., 2014); without temperature the greatest scores'.
///
/// # Errors
/// For dtypes that are not floats, and dimensions out of range.
#[track_caller]
pub fn gumbel_softmax<D: Dim>(logits: &Tensor, temperature: f64, dim: D) -> Result<Tensor> {
    if temperature <= 0.0 {
        return logits.argmax(dim);
    }
    // Neither logarithm meets 0.
    let noise = logits.rand_like(1e-7, 0.999)?.log()?.neg()?.log()?;
    logits.sub(&noise.affine(temperature, 0.0)?)?.argmax(dim)
}
