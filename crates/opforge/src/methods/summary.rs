//! Compositions that sum up many elements.

use crate::{Dims, Result, Tensor};

impl Tensor {
    /// The root of the sum of all squared elements, as a scalar.
    ///
    /// # Errors
    /// For dtypes without a root.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// assert_eq!(Tensor::new(&[3f32, 4.0], &Device::Cpu)?.norm()?.to_scalar::<f32>()?, 5.0);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn norm(&self) -> Result<Tensor> {
        self.sqr()?.sum_all()?.sqrt()
    }

    /// `log(sum(exp(x)))` over dimensions, which go away; computed without overflow. Over no dimensions, `()`, it is the tensor itself.
    ///
    /// # Errors
    /// For a dimension that is named twice or out of range, and dtypes that are not floating-point.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let t = Tensor::new(&[1000f64, 1000.0], &Device::Cpu)?;
    /// let sum = t.log_sum_exp(0)?.to_scalar::<f64>()?;
    /// assert!((sum - (1000.0 + 2f64.ln())).abs() < 1e-9);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn log_sum_exp<D: Dims>(&self, dims: D) -> Result<Tensor> {
        let dims = dims.to_indexes(self.shape(), "log_sum_exp")?;
        if dims.is_empty() {
            return Ok(self.clone());
        }
        let signed: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
        // The largest element; the gradient is right with it held constant. An infinite one must not meet itself in a difference.
        let max = crate::functional::amax(&self.detach(), Some(&signed), true)?;
        let shift = max.abs()?.eq(f64::INFINITY)?.where_cond(&max.zeros_like()?, &max)?;
        let sum = self.broadcast_sub(&shift)?.exp()?.sum_keepdim(&dims[..])?;
        let out = sum.log()?.add(&shift)?;
        let kept: Vec<usize> = (0..self.rank()).filter(|d| !dims.contains(d)).map(|d| self.dims()[d]).collect();
        out.reshape(kept)
    }
}
