//! Elements as integers of the same order.

use std::cmp::Ordering;

use opforge_core::{bf16, f16};

use super::radix;
use crate::loops::work::look_at;
use crate::memory::Truth;
use crate::simd::convert::{widen_bf16, widen_f16};

/// An element type whose order is that of integers.
pub(super) trait Key: Copy {
    /// A key and an index in one integer.
    type Packed: Packed;
    /// An integer that orders like the value.
    fn key(self) -> u64;
    /// Whether it is less than another, which NaN is not, and nothing is less than NaN; without branches.
    fn is_below(self, other: Self) -> bool;
    /// Whether it is not NaN.
    #[inline(always)]
    fn is_number(self) -> bool {
        true
    }
}

/// A key in the upper bits and an index in the lower 32.
pub(super) trait Packed: Copy + Ord {
    /// A key alone.
    type Bits: Copy + Ord;
    /// What comes after all others.
    const MOST: Self;
    /// Elements of spare room that sorting so many takes.
    fn spare(len: usize) -> usize;
    /// Sorts pairs whose indices ascend.
    fn sort(pairs: &mut [Self], spare: &mut [Self]);
    /// The bits of a key, of which there are no more.
    fn bits(key: u64) -> Self::Bits;
    fn new(key: u64, descending: bool, index: u32) -> Self;
    fn index(self) -> u32;
}

macro_rules! packed {
    ($($ty:ty, $bits:ty;)*) => {
        $(impl Packed for $ty {
            type Bits = $bits;
            const MOST: Self = <$ty>::MAX;
            fn spare(len: usize) -> usize {
                if len < radix::LEAST { 0 } else { len }
            }
            fn sort(pairs: &mut [Self], spare: &mut [Self]) {
                if spare.is_empty() || !radix::sort(pairs, spare) {
                    by_comparison(pairs);
                }
            }
            #[inline(always)]
            fn bits(key: u64) -> $bits {
                key as $bits
            }
            #[inline(always)]
            fn new(key: u64, descending: bool, index: u32) -> Self {
                let key = if descending { !key } else { key };
                <$ty>::from(Self::bits(key)) << 32 | <$ty>::from(index)
            }
            #[inline(always)]
            fn index(self) -> u32 {
                self as u32
            }
        })*
    };
}
packed! {
    u64, u32; u128, u64;
}

/// Pairs from which on sorting may take so long that it looks whether it is to stop.
const LONG: usize = 1 << 20;

/// Sorts pairs.
pub(super) fn by_comparison<T: Ord>(pairs: &mut [T]) {
    match pairs.len() {
        ..LONG => pairs.sort_unstable(),
        LONG.. => pairs.sort_unstable_by(looking()),
    }
}

/// Moves the pair whose place in the order is `place` there, and what comes before it before it.
pub(super) fn select<T: Ord>(pairs: &mut [T], place: usize) {
    match pairs.len() {
        ..LONG => pairs.select_nth_unstable(place),
        LONG.. => pairs.select_nth_unstable_by(place, looking()),
    };
}

/// Compares, and looks now and then whether the kernel is to stop.
fn looking<T: Ord>() -> impl FnMut(&T, &T) -> Ordering {
    let mut compared = 0usize;
    move |a, b| {
        compared = compared.wrapping_add(1);
        look_at(compared);
        a.cmp(b)
    }
}

impl Key for Truth {
    type Packed = u64;
    #[inline(always)]
    fn key(self) -> u64 {
        self.is().into()
    }
    #[inline(always)]
    fn is_below(self, other: Self) -> bool {
        self < other
    }
}

macro_rules! integers {
    ($($ty:ty => $packed:ty, $offset:expr);* $(;)?) => {
        $(impl Key for $ty {
            type Packed = $packed;
            /// Signed numbers are shifted up so that the lowest is 0.
            #[inline(always)]
            fn key(self) -> u64 {
                (self as u64).wrapping_add($offset)
            }
            #[inline(always)]
            fn is_below(self, other: Self) -> bool {
                self < other
            }
        })*
    };
}
integers! {
    u8 => u64, 0;
    u16 => u64, 0;
    u32 => u64, 0;
    u64 => u128, 0;
    i8 => u64, 1 << 7;
    i16 => u64, 1 << 15;
    i32 => u64, 1 << 31;
    i64 => u128, 1 << 63;
}

/// Floats order like their bits when those of negative numbers are turned over and the sign of others is set.
macro_rules! floats {
    ($($ty:ty => $bits:ty, $packed:ty, $widen:expr);* $(;)?) => {
        $(impl Key for $ty {
            type Packed = $packed;
            #[inline(always)]
            fn key(self) -> u64 {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let bits = self.to_bits();
                let bits = if bits == SIGN { 0 } else { bits };
                let key = if bits & SIGN != 0 { !bits } else { bits | SIGN };
                u64::from(if self.is_nan() { <$bits>::MAX } else { key })
            }
            #[inline(always)]
            fn is_below(self, other: Self) -> bool {
                $widen(self) < $widen(other)
            }
            #[inline(always)]
            fn is_number(self) -> bool {
                !self.is_nan()
            }
        })*
    };
}
floats! {
    f16 => u16, u64, widen_f16;
    bf16 => u16, u64, widen_bf16;
    f32 => u32, u64, std::convert::identity;
    f64 => u64, u128, std::convert::identity;
}
