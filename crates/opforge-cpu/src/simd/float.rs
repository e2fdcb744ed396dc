use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use opforge_core::FloatDType;

use super::Simd;

/// The floating-point types that are computed in: f32 and f64.
pub trait FloatElem: FloatDType + Neg<Output = Self> {
    /// The vector of this type in an instruction set.
    type Vector<S: Simd>: Float<Elem = Self>;
    /// Bits of an element.
    const BITS: u32;
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
    ($($ty:ty => $vector:ident, $bits:literal, $integer:ty);*) => {
        $(impl FloatElem for $ty {
            type Vector<S: Simd> = S::$vector;
            const BITS: u32 = $bits;
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
float_elem!(f32 => F32, 32, i32; f64 => F64, 64, i64);

/// One truth value a lane.
pub trait Mask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
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

/// Integer lanes as wide as a float's, for work on exponents and mantissas. Addition and subtraction wrap; `>>` is logical.
pub trait Bits:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The mask of comparisons.
    type Mask: Mask;
    /// The value's low bits in every lane.
    fn splat(value: i64) -> Self;
    /// Lanes that are equal.
    fn eq(self, other: Self) -> Self::Mask;
    /// Signed comparison.
    fn gt(self, other: Self) -> Self::Mask;
}

/// A vector of floats.
///
/// Operators, `sqrt` and rounding are IEEE's; comparisons with NaN are false, except [`ne`](Float::ne).
pub trait Float:
    Copy + 'static + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The type of a lane.
    type Elem: FloatElem;
    /// One truth value a lane.
    type Mask: Mask;
    /// Integer lanes of the same width.
    type Bits: Bits<Mask = Self::Mask>;
    /// Vectors of f64; of a vector of f64, itself.
    type Wide: Float<Elem = f64>;
    /// The number of lanes; at most 16.
    const LANES: usize;
    /// Whether [`mul_add`](Float::mul_add) rounds once.
    const FUSED: bool;

    /// The value, rounded to the lane's type, in every lane.
    fn splat(value: f64) -> Self;
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

    /// `self * a + b`, rounded once where [`FUSED`](Float::FUSED).
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The magnitude; clears NaN's sign too.
    fn abs(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// Rounds down.
    fn floor(self) -> Self;
    /// Rounds up.
    fn ceil(self) -> Self;
    /// Rounds towards zero.
    fn trunc(self) -> Self;
    /// Rounds to the nearest integer, halves to even.
    fn round_ties_even(self) -> Self;
    /// The lesser; NaN if either is NaN.
    fn min(self, other: Self) -> Self;
    /// The greater; NaN if either is NaN.
    fn max(self, other: Self) -> Self;

    /// Limits to a range; NaN stays.
    #[inline(always)]
    fn clamp(self, low: Self, high: Self) -> Self {
        let x = Self::select(self.gt(high), high, self);
        Self::select(x.lt(low), low, x)
    }
    /// `self * 2^n`, for integers `n` of magnitude up to 2000.
    #[inline(always)]
    fn times_power(self, n: Self) -> Self {
        let (a, b, _) = n.powers();
        self * a * b
    }
    /// Of integers n of magnitude up to 2000: the factors `2^(n/2)` and `2^(n - n/2)`, neither of which overflows or is subnormal where `2^n`
    /// would be, and the inverse of the second.
    #[inline(always)]
    fn powers(self) -> (Self, Self, Self) {
        let (mantissa, bias) = if Self::Elem::BITS == 64 { (52, 1023) } else { (23, 127) };
        let double_bias = Self::Bits::splat(2 * bias);
        let biased = self.to_int() + double_bias; // Positive, so that the logical shift halves it.
        let half = biased >> 1;
        let other = biased - half;
        let power = |exponent: Self::Bits| Self::from_bits(exponent << mantissa);
        (power(half), power(other), power(double_bias - other))
    }

    /// Lanes where `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// Lanes where `self <= other`.
    fn le(self, other: Self) -> Self::Mask;
    /// Lanes where `self == other`.
    fn eq(self, other: Self) -> Self::Mask;
    /// Lanes where `self != other`, NaN included.
    fn ne(self, other: Self) -> Self::Mask;
    /// Lanes where `self > other`.
    #[inline(always)]
    fn gt(self, other: Self) -> Self::Mask {
        other.lt(self)
    }
    /// Lanes where `self >= other`.
    #[inline(always)]
    fn ge(self, other: Self) -> Self::Mask {
        other.le(self)
    }
    /// Lanes that are NaN.
    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        self.ne(self)
    }
    /// `a` where the mask is true, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// The mask whose first `n` lanes are true.
    fn first(n: usize) -> Self::Mask;

    /// The bit patterns.
    fn to_bits(self) -> Self::Bits;
    /// The floats with these bit patterns.
    fn from_bits(bits: Self::Bits) -> Self;
    /// The nearest integers, halves to even. Exact for magnitudes up to 2^22 (f32) and 2^51 (f64); any value beyond them and for NaN.
    fn to_int(self) -> Self::Bits;
    /// The integers as floats. Exact for magnitudes up to 2^22 (f32) and 2^51 (f64); any value beyond them.
    fn from_int(int: Self::Bits) -> Self;

    /// Computes in f64 and rounds the result. The closure must be `#[inline(always)]`: one that is not lacks the vectors' instructions, and each
    /// of its operations becomes a call.
    fn via_f64(self, f: impl Fn(Self::Wide) -> Self::Wide) -> Self;
    /// As [`Float::via_f64`], of two vectors.
    fn via_f64_2(self, other: Self, f: impl Fn(Self::Wide, Self::Wide) -> Self::Wide) -> Self;

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

    /// The magnitude of `self` with the sign of `sign`.
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        let sign_bit = Self::splat(-0.0).to_bits();
        Self::from_bits(self.abs().to_bits() | (sign.to_bits() & sign_bit))
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

    /// Combines all lanes, as a balanced tree.
    #[inline(always)]
    fn reduce(self, f: impl Fn(Self::Elem, Self::Elem) -> Self::Elem) -> Self::Elem {
        let mut lanes = to_lanes(self);
        let mut n = Self::LANES;
        while n > 1 {
            n /= 2;
            for i in 0..n {
                lanes[i] = f(lanes[i], lanes[i + n]);
            }
        }
        lanes[0]
    }
    /// The sum of all lanes.
    #[inline(always)]
    fn reduce_sum(self) -> Self::Elem {
        self.reduce(|a, b| a + b)
    }
    /// The product of all lanes.
    #[inline(always)]
    fn reduce_prod(self) -> Self::Elem {
        self.reduce(|a, b| a * b)
    }
    /// The greatest lane; NaN if any is NaN.
    #[inline(always)]
    fn reduce_max(self) -> Self::Elem {
        self.reduce(FloatElem::maximum)
    }
    /// The least lane; NaN if any is NaN.
    #[inline(always)]
    fn reduce_min(self) -> Self::Elem {
        self.reduce(FloatElem::minimum)
    }
}

/// The lanes as an array; those past `LANES` are zero.
#[inline(always)]
fn to_lanes<V: Float>(v: V) -> [V::Elem; 16] {
    const { assert!(V::LANES <= 16) };
    let mut lanes = [V::Elem::default(); 16];
    // SAFETY: the array holds LANES elements.
    unsafe { v.store(lanes.as_mut_ptr()) };
    lanes
}
