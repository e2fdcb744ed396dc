//! Rows of floats times a quantized matrix: the rows are quantized to 8 bits, then integers are multiplied.

use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Workspace;

/// Two kernels, the first of which writes what the second reads.
pub(super) struct Linear {
    pub pack: Arc<dyn HostKernel>,
    pub product: Arc<dyn HostKernel>,
    /// The size of the packed rows.
    pub bytes: usize,
}

impl HostKernel for Linear {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let rows = Workspace::new(self.bytes)?;
        // SAFETY: the first input and the output are those of this kernel; the rows have the room for which both kernels were prepared, and nobody else
        // knows them.
        unsafe {
            self.pack.run(&inputs[..1], &[rows.as_ptr()])?;
            self.product.run(&[rows.as_ptr(), inputs[1]], outputs)
        }
    }

    fn cost(&self) -> u64 {
        self.pack.cost() + self.product.cost()
    }
}
