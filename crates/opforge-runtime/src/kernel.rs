//! What the VM runs.

use opforge_core::Result;

/// A computation prepared for fixed dtypes, shapes and strides; only the addresses change from run to run.
///
/// Preparing (choosing loops, collapsing dimensions, checking) happens once and is cached; running does as little else as possible.
pub trait Kernel: Send + Sync + 'static {
    /// Computes the outputs from the inputs. Pointers are to each tensor's first element, its layout's offset applied.
    ///
    /// An error leaves the outputs in an unspecified but initialised state. A kernel must not call the VM, nor fork the
    /// process: it may be running under the VM's lock.
    ///
    /// # Safety
    /// There are as many pointers as tensors the kernel was prepared for. Each is aligned to its element size and valid for every element of
    /// its tensor: inputs for reads of initialised memory, outputs for writes. Nothing else writes the inputs or touches the outputs
    /// meanwhile. An output may be the same tensor as an input (equal address and layout) only where the kernel's constructor allows it.
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()>;

    /// A rough estimate of the time of one run on one core, in nanoseconds: the VM runs cheap kernels on the calling thread.
    fn cost(&self) -> u64;
}

/// The kernel for results without elements, which others might go through 2^32 rows of none to make.
pub struct NoKernel;

impl Kernel for NoKernel {
    unsafe fn run(&self, _: &[*const u8], _: &[*mut u8]) -> Result<()> {
        Ok(())
    }

    fn cost(&self) -> u64 {
        0
    }
}
