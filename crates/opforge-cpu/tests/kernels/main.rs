//! Kernels beside plain loops, in every dtype, layout and instruction set; those of elements one by one are in `tests/elementwise`.

mod arange;
mod attention;
mod conv;
mod copy;
mod dense;
mod distance;
mod fourier;
mod halves;
mod index;
mod loops;
mod matmul;
mod nonzero;
mod norm;
mod pool;
mod program;
mod random;
mod recurrent;
mod reduce;
mod resample;
mod sample;
mod scan;
mod simd;
mod sort;
mod sums;
mod testing;
mod update;
