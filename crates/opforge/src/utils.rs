//! What the machine and this build have, under candle's names.

use opforge_cpu::simd::Isa;

/// How many threads kernels use.
pub fn get_num_threads() -> usize {
    opforge_runtime::parallel::num_threads()
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
