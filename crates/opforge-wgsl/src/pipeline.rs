//! Compiled kernels, by their text.

use opforge_core::{DType, Error, Result};
use opforge_gpu::Kernel;
use opforge_gpu::print::{STATUS_BINDING, wgsl};

use crate::backend::Wgsl;
use crate::gpu::Compiled;

impl Wgsl {
    /// The compiled kernel, from before where an equal one was compiled.
    pub(crate) fn kernel(&self, op: &'static str, kernel: &Kernel) -> Result<Compiled> {
        self.check(op, kernel)?;
        let text = wgsl(kernel, op, self.gpu.name)?;
        let mut compiled = self.compiled.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(&kernel) = compiled.get(&text) {
            return Ok(kernel);
        }
        let status = kernel.can_fail().then_some(STATUS_BINDING);
        let kernel = self.gpu.compile(op, &text, kernel.buffers.len(), status)?;
        compiled.insert(text, kernel);
        Ok(kernel)
    }

    /// Fails for dtypes, and numbers of buffers, that the device has not.
    fn check(&self, op: &'static str, kernel: &Kernel) -> Result<()> {
        let refuse = |argument, given: &str, accepted: &str| {
            Err(Error::device(op, argument, given, format!("{accepted} on {}", self.gpu.name)))
        };
        if !self.gpu.doubles() && kernel.uses(|dtype| dtype == DType::F64) {
            return refuse("dtype", "f64", "floats of 32 bits at most");
        }
        if !self.gpu.long_integers() && kernel.uses(|dtype| matches!(dtype, DType::I64 | DType::U64)) {
            return refuse("dtype", "integers of 64 bits", "integers of 32 bits at most");
        }
        let most = self.gpu.most_buffers();
        match kernel.buffers.len() + usize::from(kernel.can_fail()) {
            count if count > most => {
                refuse("inputs", &format!("{count} tensors"), &format!("at most {most} at a time"))
            }
            _ => Ok(()),
        }
    }
}
