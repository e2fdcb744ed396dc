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

pub mod copy;
pub mod elementwise;
pub mod index;
pub mod math;
pub mod matmul;
pub mod norm;
pub mod reduce;
pub mod simd;

mod operand;
mod plan;
mod scratch;
mod stored;
#[cfg(test)]
mod testing;
