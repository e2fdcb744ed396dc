//! Kernels with tables that grow with the user's sizes, such as the taps of a filter: long ones are made by the first run, which can be interrupted.

use std::sync::{Arc, OnceLock};

use opforge_core::Result;
use opforge_runtime::HostKernel;

/// Entries of tables that are made at once.
const AT_ONCE: usize = 1 << 16;

/// The kernel that `make` makes of tables of about so many entries. Long tables are made by its first run: there nobody waits on the host, and an
/// interrupt ends it at a [`checkpoint`](opforge_runtime::checkpoint), of which `make` has some.
pub(crate) fn planned(
    entries: usize,
    make: impl Fn() -> Result<Arc<dyn HostKernel>> + Send + Sync + 'static,
) -> Result<Arc<dyn HostKernel>> {
    if entries <= AT_ONCE {
        return make();
    }
    Ok(Arc::new(Planned { make, made: OnceLock::new(), entries }))
}

struct Planned<M> {
    make: M,
    made: OnceLock<Arc<dyn HostKernel>>,
    entries: usize,
}

impl<M: Fn() -> Result<Arc<dyn HostKernel>> + Send + Sync + 'static> HostKernel for Planned<M> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let kernel = match self.made.get() {
            Some(kernel) => kernel,
            // Runs side by side may each make one; the first stays.
            None => {
                let made = (self.make)()?;
                self.made.get_or_init(|| made)
            }
        };
        // SAFETY: the kernel is for the same tensors as this one, whose pointers these are.
        unsafe { kernel.run(inputs, outputs) }
    }

    fn cost(&self) -> u64 {
        (self.entries as u64).saturating_add(self.made.get().map_or(0, |kernel| kernel.cost()))
    }
}
