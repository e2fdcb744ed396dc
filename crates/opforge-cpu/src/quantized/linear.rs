//! Rows of floats times a quantized matrix: the rows are rounded to 8 bits, then integers are multiplied.

use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Workspace;

use super::factor::{Rows, prepare_rounding};
use super::product::{self, Dots};

/// Two kernels, the first of which writes what the second reads.
struct Linear {
    round: Arc<dyn HostKernel>,
    product: Arc<dyn HostKernel>,
    /// The size of the rounded rows.
    bytes: usize,
}

/// The kernel for `m` rows times `n` rows of the matrix, each of `k` elements; none for rows beyond the address space.
pub(super) fn prepare<F: Dots>(sizes: [usize; 3]) -> Option<Arc<dyn HostKernel>> {
    let rows = Rows::new::<F>(sizes[0], sizes[2]);
    let bytes = rows.bytes()?;
    Some(Arc::new(Linear { round: prepare_rounding::<F>(rows), product: product::prepare::<F>(rows, sizes), bytes }))
}

impl HostKernel for Linear {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let rows = Workspace::new(self.bytes)?;
        // SAFETY: the first input and the output are those of this kernel; the rows have the room for which both kernels were prepared, and nobody else
        // knows them.
        unsafe {
            self.round.run(&inputs[..1], &[rows.as_ptr()])?;
            self.product.run(&[rows.as_ptr(), inputs[1]], outputs)
        }
    }

    fn cost(&self) -> u64 {
        self.round.cost() + self.product.cost()
    }
}
