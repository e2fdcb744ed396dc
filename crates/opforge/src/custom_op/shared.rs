//! Custom operators that several owners share, as `apply_op1_arc` takes them.

use std::sync::Arc;

use super::{CpuStorage, CustomOp1, CustomOp2, CustomOp3};
use crate::{Layout, Result, Shape, Tensor};

type Shared<C> = Arc<Box<C>>;

impl<C: CustomOp1 + ?Sized> CustomOp1 for Shared<C> {
    fn name(&self) -> &'static str {
        (***self).name()
    }
    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        (***self).cpu_fwd(storage, layout)
    }
    fn bwd(&self, arg: &Tensor, res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        (***self).bwd(arg, res, grad)
    }
}

impl<C: CustomOp2 + ?Sized> CustomOp2 for Shared<C> {
    fn name(&self) -> &'static str {
        (***self).name()
    }
    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        (***self).cpu_fwd(s1, l1, s2, l2)
    }
    fn bwd(&self, a: &Tensor, b: &Tensor, res: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        (***self).bwd(a, b, res, grad)
    }
}

impl<C: CustomOp3 + ?Sized> CustomOp3 for Shared<C> {
    fn name(&self) -> &'static str {
        (***self).name()
    }
    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        (***self).cpu_fwd(s1, l1, s2, l2, s3, l3)
    }
    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        c: &Tensor,
        res: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        (***self).bwd(a, b, c, res, grad)
    }
}

impl Tensor {
    /// As [`Tensor::apply_op1`].
    ///
    /// # Errors
    /// As [`Tensor::apply_op1`].
    #[track_caller]
    pub fn apply_op1_arc(&self, c: Shared<dyn CustomOp1 + Send + Sync>) -> Result<Tensor> {
        self.apply_op1(c)
    }

    /// As [`Tensor::apply_op2`].
    ///
    /// # Errors
    /// As [`Tensor::apply_op1`].
    #[track_caller]
    pub fn apply_op2_arc(&self, rhs: &Tensor, c: Shared<dyn CustomOp2 + Send + Sync>) -> Result<Tensor> {
        self.apply_op2(rhs, c)
    }

    /// As [`Tensor::apply_op3`].
    ///
    /// # Errors
    /// As [`Tensor::apply_op1`].
    #[track_caller]
    pub fn apply_op3_arc(&self, t2: &Tensor, t3: &Tensor, c: Shared<dyn CustomOp3 + Send + Sync>) -> Result<Tensor> {
        self.apply_op3(t2, t3, c)
    }
}
