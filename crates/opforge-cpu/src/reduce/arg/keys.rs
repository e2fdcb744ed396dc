//! Elements as integers of the same order.

use crate::memory::Truth;
use crate::simd::Integer;
use opforge_core::{bf16, f16};

/// An element that can be compared as an integer.
pub(super) trait ArgElem: Copy + Send + Sync + 'static {
    type Key: Integer;
    /// An integer that is the greater the more the element is what is sought: `flip` is 0 for the greatest, -1 for the least.
    fn key(self, flip: Self::Key) -> Self::Key;
}

impl ArgElem for Truth {
    type Key = u8;
    #[inline(always)]
    fn key(self, flip: u8) -> u8 {
        u8::from(self.is()) ^ flip
    }
}

macro_rules! int_keys {
    ($($ty:ty),*) => {
        $(impl ArgElem for $ty {
            type Key = $ty;
            #[inline(always)]
            fn key(self, flip: $ty) -> $ty { self ^ flip }
        })*
    };
}
int_keys!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! float_keys {
    ($($ty:ty => $key:ty),*) => {
        $(impl ArgElem for $ty {
            type Key = $key;
            #[inline(always)]
            fn key(self, flip: $key) -> $key {
                let bits = self.to_bits() as $key;
                let magnitude = bits & <$key>::MAX;
                let ordered = if bits < 0 { -magnitude } else { magnitude };
                if magnitude > <$ty>::INFINITY.to_bits() as $key { <$key>::MAX } else { ordered ^ flip }
            }
        })*
    };
}
float_keys!(f16 => i16, bf16 => i16, f32 => i32, f64 => i64);
