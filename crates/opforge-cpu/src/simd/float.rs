//! Vectors: what tile functions compute with ([`Float`]), in lanes that are read from memory and written there.

use std::ops::Neg;

use opforge_core::FloatDType;
use opforge_tile::{Bits, Float, Mask};

use super::Simd;

/// The floating-point types that are computed in: f32 and f64.
pub trait FloatElem: FloatDType + Neg<Output = Self> {
    /// The vector of this type in an instruction set.
    type Vector<S: Simd>: Vector<Elem = Self>;
    /// The greater; NaN if either is NaN.
    fn maximum(self, other: Self) -> Self;
    /// The lesser; NaN if either is NaN.
    fn minimum(self, other: Self) -> Self;
    /// The float whose bit pattern is this integer: how tables of integers as wide as the float are kept beside floats.
    fn of_integer(integer: i64) -> Self;
    /// The integer that is this float's bit pattern.
    fn to_integer(self) -> i64;
}

macro_rules! float_elem {
    ($($ty:ty => $vector:ident, $integer:ty);*) => {
        $(impl FloatElem for $ty {
            type Vector<S: Simd> = S::$vector;
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                if self > other || self.is_nan() { self } else { other }
            }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                if self < other || self.is_nan() { self } else { other }
            }
            #[inline(always)]
            fn of_integer(integer: i64) -> Self {
                <$ty>::from_bits(integer as _)
            }
            #[inline(always)]
            fn to_integer(self) -> i64 {
                self.to_bits() as $integer as i64
            }
        })*
    };
}
float_elem!(f32 => F32, i32; f64 => F64, i64);

/// One truth value a lane.
pub trait VectorMask: Mask {
    /// Lane `i` as bit `i`.
    fn bitmask(self) -> u32;
    /// True if any lane is.
    #[inline(always)]
    fn any(self) -> bool {
        self.bitmask() != 0
    }
    /// Writes the first `n` lanes as bytes 0 and 1.
    ///
    /// # Safety
    /// `ptr` is valid for writing `n` bytes, and `n` is at most the number of lanes.
    #[inline(always)]
    unsafe fn store_bools(self, ptr: *mut u8, n: usize) {
        let mask = self.bitmask();
        for i in 0..n {
            // SAFETY: i < n, and the caller vouches for n bytes.
            unsafe { ptr.add(i).write((mask >> i & 1) as u8) };
        }
    }
}

/// A vector of floats in lanes.
pub trait Vector: Float<Mask: VectorMask> {
    /// The type of a lane.
    type Elem: FloatElem;
    /// The number of lanes; at most 16.
    const LANES: usize;

    /// The value in every lane.
    fn splat_elem(value: Self::Elem) -> Self;
    /// Reads `LANES` elements; no alignment needed beyond the element's.
    ///
    /// # Safety
    /// `ptr` is valid for reading `LANES` elements.
    unsafe fn load(ptr: *const Self::Elem) -> Self;
    /// Reads `n` elements; the lanes after them are zero.
    ///
    /// # Safety
    /// `ptr` is valid for reading `n` elements, and `n <= LANES`.
    unsafe fn load_partial(ptr: *const Self::Elem, n: usize) -> Self;
    /// Writes `LANES` elements.
    ///
    /// # Safety
    /// `ptr` is valid for writing `LANES` elements.
    unsafe fn store(self, ptr: *mut Self::Elem);
    /// Writes the first `n` elements.
    ///
    /// # Safety
    /// `ptr` is valid for writing `n` elements, and `n <= LANES`.
    unsafe fn store_partial(self, ptr: *mut Self::Elem, n: usize);
    /// The mask whose first `n` lanes are true.
    fn first(n: usize) -> Self::Mask;
    /// The lanes' numbers, from 0 on.
    #[inline(always)]
    fn numbers() -> Self::Bits {
        let numbers: [Self::Elem; 16] = std::array::from_fn(|i| Self::Elem::of_integer(i as i64));
        // SAFETY: the array holds 16 elements, and LANES is at most 16.
        unsafe { Self::load(numbers.as_ptr()) }.to_bits()
    }
    /// Lane by lane the one that the index names, of this vector's and then `next`'s. Indices are below twice the number of lanes.
    #[inline(always)]
    fn lookup(self, next: Self, indices: Self::Bits) -> Self {
        let (mut both, indices) = ([Self::Elem::default(); 32], Self::from_bits(indices));
        // SAFETY: the array holds 32 elements, and LANES is at most 16.
        unsafe {
            self.store(both.as_mut_ptr());
            next.store(both.as_mut_ptr().add(Self::LANES));
        }
        indices.map_lanes(|index| both[index.to_integer() as usize % 32])
    }
    /// Applies a scalar function to each lane: the slow way, for rare cases.
    #[inline(always)]
    fn map_lanes(self, f: impl Fn(Self::Elem) -> Self::Elem) -> Self {
        let mut lanes = to_lanes(self);
        for lane in &mut lanes[..Self::LANES] {
            *lane = f(*lane);
        }
        // SAFETY: the array holds 16 elements, and LANES is at most 16.
        unsafe { Self::load(lanes.as_ptr()) }
    }
    /// Applies a scalar function to each pair of lanes.
    #[inline(always)]
    fn zip_lanes(self, other: Self, f: impl Fn(Self::Elem, Self::Elem) -> Self::Elem) -> Self {
        let (mut lanes, others) = (to_lanes(self), to_lanes(other));
        for (lane, other) in lanes.iter_mut().zip(others).take(Self::LANES) {
            *lane = f(*lane, other);
        }
        // SAFETY: the array holds 16 elements, and LANES is at most 16.
        unsafe { Self::load(lanes.as_ptr()) }
    }
    /// Each lane's partner: lane `i` gets lane `i ^ distance`, a power of two below the number of lanes.
    #[inline(always)]
    fn partners(self, distance: usize) -> Self {
        self.lookup(self, Self::numbers() ^ Bits::splat(distance as i64))
    }
    /// Combines all lanes, as a balanced tree. `combine` must be `#[inline(always)]`.
    #[inline(always)]
    fn fold(self, combine: impl Fn(Self, Self) -> Self) -> Self::Elem {
        self.fold_in_each(combine).first_lane()
    }
    /// What [`fold`](Vector::fold) makes of all lanes, in every lane; of two zeros of different signs either may be in any.
    #[inline(always)]
    fn fold_in_each(self, combine: impl Fn(Self, Self) -> Self) -> Self {
        let (mut all, mut distance) = (self, Self::LANES / 2);
        while distance > 0 {
            all = combine(all, all.partners(distance));
            distance /= 2;
        }
        all
    }
    /// What [`fold`](Vector::fold) makes of each of the first `LANES` vectors, bit for bit: of the first in the first lane. `combine` must be
    /// `#[inline(always)]`.
    #[inline(always)]
    fn fold_each(mut vectors: [Self; 16], combine: impl Fn(Self, Self) -> Self) -> Self {
        let mut half = Self::LANES / 2;
        while half > 0 {
            for i in 0..half {
                let [lower, upper] = vectors[i].interleaved(vectors[i + half], half);
                vectors[i] = combine(lower, upper);
            }
            half /= 2;
        }
        vectors[0]
    }
    /// Lane `j` of vector `i` as lane `i` of vector `j`, of the first `LANES`.
    #[inline(always)]
    fn transposed(mut vectors: [Self; 16]) -> [Self; 16] {
        let mut half = Self::LANES / 2;
        while half > 0 {
            for i in (0..Self::LANES).filter(|i| i & half == 0) {
                [vectors[i], vectors[i + half]] = vectors[i].interleaved(vectors[i + half], half);
            }
            half /= 2;
        }
        vectors
    }
    /// The lanes of this vector and of another whose numbers lack the bit `half`, and those whose numbers have it: the other's where the place has
    /// the bit.
    #[inline(always)]
    fn interleaved(self, other: Self, half: usize) -> [Self; 2] {
        let bit = Self::numbers() & Bits::splat(half as i64);
        let lower = (Self::numbers() ^ bit) + (bit << (Self::LANES / half).ilog2());
        [self.lookup(other, lower), self.lookup(other, lower + Bits::splat(half as i64))]
    }
    /// The first lane.
    #[inline(always)]
    fn first_lane(self) -> Self::Elem {
        to_lanes(self)[0]
    }
    /// The sum of all lanes.
    #[inline(always)]
    fn reduce_sum(self) -> Self::Elem {
        self.fold(
            #[inline(always)]
            |a, b| a + b,
        )
    }
    /// The greatest lane; NaN if any is NaN.
    #[inline(always)]
    fn reduce_max(self) -> Self::Elem {
        self.fold(Float::max)
    }
    /// The least lane; NaN if any is NaN.
    #[inline(always)]
    fn reduce_min(self) -> Self::Elem {
        self.fold(Float::min)
    }
}

/// The lanes as an array; those past `LANES` are zero.
#[inline(always)]
fn to_lanes<V: Vector>(v: V) -> [V::Elem; 16] {
    const { assert!(V::LANES <= 16) };
    let mut lanes = [V::Elem::default(); 16];
    // SAFETY: the array holds LANES elements.
    unsafe { v.store(lanes.as_mut_ptr()) };
    lanes
}

/// The methods of [`Float`] that vectors carry out by lanes; `fused` tells whether `mul_add` rounds once.
macro_rules! by_lanes {
    (fused: $fused:literal) => {
        #[inline(always)]
        fn fused() -> bool {
            $fused
        }
        #[inline(always)]
        fn select_rarely(mask: Self::Mask, rare: impl FnOnce() -> Self, common: Self) -> Self {
            if $crate::simd::VectorMask::any(mask) { Self::select(mask, rare(), common) } else { common }
        }
        #[inline(always)]
        fn call(self, function: opforge_tile::Intrinsic<opforge_tile::Of1>) -> Self {
            Vector::map_lanes(self, |x| (function.function)(x.into()) as _)
        }
        #[inline(always)]
        fn call_2(self, other: Self, function: opforge_tile::Intrinsic<opforge_tile::Of2>) -> Self {
            Vector::zip_lanes(self, other, |a, b| (function.function)(a.into(), b.into()) as _)
        }
    };
}
pub(super) use by_lanes;
