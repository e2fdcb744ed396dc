//! Comparisons that the program chooses when it runs.

use crate::arguments::TensorOrScalar;
use crate::{Result, Tensor};

/// How elements are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CmpOp {
    Eq,
    Ne,
    Le,
    Ge,
    Lt,
    Gt,
}

impl Tensor {
    /// Compares with a tensor of the same shape, or a number: 1 where it holds, else 0.
    ///
    /// # Errors
    /// As [`Tensor::eq`].
    ///
    /// ```
    /// # use opforge::{Device, Tensor, op::CmpOp};
    /// let t = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
    /// assert_eq!(t.cmp(2f32, CmpOp::Ge)?.to_vec1::<u8>()?, [0, 1, 1]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[track_caller]
    pub fn cmp<T: TensorOrScalar>(&self, rhs: T, op: CmpOp) -> Result<Tensor> {
        match op {
            CmpOp::Eq => self.eq(rhs),
            CmpOp::Ne => self.ne(rhs),
            CmpOp::Le => self.le(rhs),
            CmpOp::Ge => self.ge(rhs),
            CmpOp::Lt => self.lt(rhs),
            CmpOp::Gt => self.gt(rhs),
        }
    }
}
