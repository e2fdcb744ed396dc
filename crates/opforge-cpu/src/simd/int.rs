//! Integers as kernels see them: what tile functions compute with ([`Int`]), in memory.

use opforge_core::IntDType;
use opforge_tile::Int;

/// An integer element. Plain loops over these vectorise inside a [`Routine`](super::Routine).
pub trait Integer: Int<Mask = bool> + IntDType + Ord {
    /// The value, wrapped to 64 bits.
    fn to_i64(self) -> i64;
}

macro_rules! integer {
    ($($ty:ty),*) => {
        $(impl Integer for $ty {
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as i64
            }
        })*
    };
}
integer!(u8, u16, u32, u64, i8, i16, i32, i64);
