//! Functions of rows of erased type: what softmax and its gradient lower to.

use std::fmt::Debug;
use std::sync::Arc;

use opforge_core::DType;
use opforge_runtime::HostKernel;
use opforge_tile::RowFn;
use opforge_trace::{Arithmetic, Passes};

use crate::{Error, Meta, Result};

/// Passes over rows, each row for itself.
pub struct Rows {
    function: Box<dyn RowsFn>,
    /// The axis of the first output along which rows lie.
    pub axis: usize,
    kernel: Option<Arc<dyn HostKernel>>,
}

/// A function of rows as those see it who do not know its type.
trait RowsFn: Send + Sync {
    fn trace(&self, dtype: DType, arithmetic: Arithmetic) -> Option<Passes>;
    fn kernel(&self, op: &'static str, axis: usize, inputs: &[&Meta], outputs: &[&Meta])
    -> Result<Arc<dyn HostKernel>>;
}

impl Rows {
    /// A function of rows along `axis`, of inputs that are broadcast to the output's shape.
    pub fn new<const K: usize>(f: impl RowFn<K>, axis: usize) -> Self {
        Rows { function: Box::new(Of::<_, K>(f)), axis, kernel: None }
    }

    /// With a kernel of the CPU for these tensors, if there is one, that is faster than what the function makes.
    pub fn with_kernel(self, kernel: Option<Arc<dyn HostKernel>>) -> Self {
        Rows { kernel, ..self }
    }

    /// The passes over inputs of a dtype; f16 and bf16 are widened to f32 before and rounded at the end.
    /// None for dtypes that are no floats.
    pub fn trace(&self, dtype: DType, arithmetic: impl Into<Arithmetic>) -> Option<Passes> {
        self.function.trace(dtype, arithmetic.into())
    }

    /// The kernel of the CPU.
    ///
    /// # Errors
    /// Dtypes and shapes that do not go together.
    pub(super) fn kernel(&self, op: &'static str, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
        match &self.kernel {
            Some(kernel) => Ok(Arc::clone(kernel)),
            None => self.function.kernel(op, self.axis, inputs, outputs),
        }
    }
}

impl Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("axis", &self.axis).finish_non_exhaustive()
    }
}

struct Of<F, const K: usize>(F);
impl<F: RowFn<K>, const K: usize> RowsFn for Of<F, K> {
    fn trace(&self, dtype: DType, arithmetic: Arithmetic) -> Option<Passes> {
        opforge_trace::rows::<F, K>(self.0, dtype, arithmetic)
    }
    fn kernel(
        &self,
        op: &'static str,
        axis: usize,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Result<Arc<dyn HostKernel>> {
        let Ok(inputs) = <[&Meta; K]>::try_from(inputs) else {
            return Err(Error::value(op, "inputs", inputs.len(), format!("{K} tensors")));
        };
        opforge_cpu::rows::rows(op, self.0, axis, inputs, outputs)
    }
}
