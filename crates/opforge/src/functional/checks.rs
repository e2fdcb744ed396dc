//! Questions about tensors whose answer is not a tensor.

use crate::operator::prelude::*;

functions! {
    /// Whether two tensors have the same shape, dtype and elements. NaN equals nothing.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
    /// assert!(opforge::functional::equal(&x, &x)?);
    /// assert!(!opforge::functional::equal(&x, &x.neg()?)?);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn equal(input: &Tensor, other: &Tensor) -> Result<bool> {
        if input.shape() != other.shape() || input.dtype() != other.dtype() {
            return Ok(false);
        }
        let same = crate::functional::eq(input.into(), other.into())?;
        crate::functional::all(&same, None, false)?.to_scalar::<bool>()
    }
}
