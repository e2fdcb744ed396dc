//! The CPU engine of opforge: kernels over raw buffers and layouts, with SIMD chosen at run time. It knows no tensor.

/// Evaluates an expression with `$t` standing for a plain type of `$size` bytes: 1, 2, 4, 8 or 16.
macro_rules! by_size {
    ($size:expr, $t:ident => $value:expr) => {
        match $size {
            1 => by_size!(@with u8, $t, $value),
            2 => by_size!(@with u16, $t, $value),
            4 => by_size!(@with u32, $t, $value),
            8 => by_size!(@with u64, $t, $value),
            _ => by_size!(@with [u64; 2], $t, $value),
        }
    };
    (@with $ty:ty, $t:ident, $value:expr) => {{
        type $t = $ty;
        $value
    }};
}

/// Evaluates an expression with `$t` standing for a number dtype's type; returns from the function with an error for bool and complex.
macro_rules! by_number {
    ($op:expr, $dtype:expr, $t:ident => $value:expr) => {
        match $dtype {
            opforge_core::DType::U8 => by_size!(@with u8, $t, $value),
            opforge_core::DType::U16 => by_size!(@with u16, $t, $value),
            opforge_core::DType::U32 => by_size!(@with u32, $t, $value),
            opforge_core::DType::U64 => by_size!(@with u64, $t, $value),
            opforge_core::DType::I8 => by_size!(@with i8, $t, $value),
            opforge_core::DType::I16 => by_size!(@with i16, $t, $value),
            opforge_core::DType::I32 => by_size!(@with i32, $t, $value),
            opforge_core::DType::I64 => by_size!(@with i64, $t, $value),
            opforge_core::DType::F16 => by_size!(@with opforge_core::f16, $t, $value),
            opforge_core::DType::BF16 => by_size!(@with opforge_core::bf16, $t, $value),
            opforge_core::DType::F32 => by_size!(@with f32, $t, $value),
            opforge_core::DType::F64 => by_size!(@with f64, $t, $value),
            other => return Err(opforge_core::Error::UnsupportedDTypeForOp(other, $op)),
        }
    };
}

pub mod arange;
pub mod attention;
pub mod conv;
pub mod copy;
pub mod dense;
pub mod distance;
pub mod elementwise;
pub mod forms;
pub mod fourier;
pub mod index;
pub mod matmul;
pub mod norm;
pub mod overlay;
pub mod pool;
pub mod program;
pub mod quantized;
pub mod random;
pub mod recurrent;
pub mod reduce;
pub mod resample;
pub mod rows;
pub mod sample;
pub mod scan;
pub mod simd;
pub mod sort;

pub use opforge_tile::math;

#[doc(hidden)]
pub mod internals;
mod loops;
mod memory;
