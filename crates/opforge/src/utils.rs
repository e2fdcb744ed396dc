//! What the machine and this build have, under candle's names.

use std::ops::Range;

use opforge_cpu::simd::Isa;
use opforge_runtime::parallel::parallel_for;

/// How many threads kernels use.
pub fn get_num_threads() -> usize {
    opforge_runtime::parallel::num_threads()
}

/// Calls a function; kernels within use the threads that they always use.
pub fn with_threadpool<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    f()
}

/// Starts the threads of kernels, which the first large kernel does otherwise.
pub fn init_global_threadpool() {
    parallel_for(get_num_threads(), 1, |_| ());
}

/// The threads of kernels, for a program's own loops: [`BarrierPool`].
pub fn barrier_pool() -> &'static BarrierPool {
    &BarrierPool(())
}

/// The threads of kernels. There is one pool: [`barrier_pool`].
#[derive(Debug)]
pub struct BarrierPool(());

impl BarrierPool {
    /// How many threads there are, the caller among them.
    pub fn n_workers(&self) -> usize {
        get_num_threads()
    }

    /// Calls a function for each number below [`Self::n_workers`], on several threads, and waits for all calls.
    pub fn execute<F: Fn(usize) + Sync>(&self, f: F) {
        parallel_for(self.n_workers(), 1, |numbers| numbers.for_each(&f));
    }

    /// Calls a function for ranges that make up `0..n_items`, on several threads, and waits for all calls.
    pub fn execute_chunked<F: Fn(Range<usize>) + Sync>(&self, n_items: usize, f: F) {
        parallel_for(n_items, n_items.div_ceil(self.n_workers()).max(1), f);
    }
}

/// Whether tensors can be on a CUDA device: where somebody [brings](crate::Device::bring_cuda) them, and there are any.
pub fn cuda_is_available() -> bool {
    crate::Device::cuda_count() > 0
}

/// Whether tensors can be on a Metal device: this build has none.
pub fn metal_is_available() -> bool {
    false
}

/// Whether matrix products are Intel's library's: they are opforge's own.
pub fn has_mkl() -> bool {
    false
}

/// Whether matrix products are Apple's library's: they are opforge's own.
pub fn has_accelerate() -> bool {
    false
}

/// Whether kernels use AVX2.
pub fn with_avx() -> bool {
    Isa::current() >= Isa::Avx2
}

/// Whether kernels convert half precision by instructions of their own.
pub fn with_f16c() -> bool {
    with_avx()
}

/// Whether kernels use NEON.
pub fn with_neon() -> bool {
    cfg!(target_arch = "aarch64")
}

/// Whether kernels use the vectors of WebAssembly.
pub fn with_simd128() -> bool {
    false
}
