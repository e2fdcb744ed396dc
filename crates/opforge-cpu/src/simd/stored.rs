//! Floats as they are stored, and how they get in and out of the vectors they are computed in.

use crate::simd::convert::{NarrowBf16, NarrowF16, WidenBf16, WidenF16};
use crate::simd::{FloatElem, Isa, Routine, Simd, Vector};
use opforge_core::{WithDType, bf16, f16};

/// The vector that elements of `E` are computed in.
pub(crate) type VectorOf<E, S> = <<E as StoredFloat>::Compute as FloatElem>::Vector<S>;

/// A stored float: f32 and f64 are computed in themselves, f16 and bf16 in f32. All methods are `#[inline(always)]`.
pub(crate) trait StoredFloat: WithDType {
    /// What its arithmetic is done in.
    type Compute: FloatElem + StoredFloat<Compute = Self::Compute>;
    /// Reads and widens a vector of elements.
    ///
    /// # Safety
    /// `ptr` is valid for reading as many elements as the vector has lanes.
    unsafe fn load<S: Simd>(ptr: *const Self) -> VectorOf<Self, S>;
    /// Reads and widens `n` elements; the lanes after them are zero.
    ///
    /// # Safety
    /// `ptr` is valid for reading `n` elements, at most as many as the vector has lanes.
    unsafe fn load_partial<S: Simd>(ptr: *const Self, n: usize) -> VectorOf<Self, S>;
    /// Rounds and writes a vector of elements.
    ///
    /// # Safety
    /// `ptr` is valid for writing as many elements as the vector has lanes.
    unsafe fn store<S: Simd>(v: VectorOf<Self, S>, ptr: *mut Self);
    /// Rounds and writes the first `n` elements.
    ///
    /// # Safety
    /// `ptr` is valid for writing `n` elements, at most as many as the vector has lanes.
    unsafe fn store_partial<S: Simd>(v: VectorOf<Self, S>, ptr: *mut Self, n: usize);
}

macro_rules! stored_as_computed {
    ($($ty:ty),*) => {
        $(impl StoredFloat for $ty {
            type Compute = $ty;
            #[inline(always)]
            unsafe fn load<S: Simd>(ptr: *const Self) -> VectorOf<Self, S> {
                // SAFETY: a stored element is a lane, and `ptr` is readable for `LANES` of them.
                unsafe { Vector::load(ptr) }
            }
            #[inline(always)]
            unsafe fn load_partial<S: Simd>(ptr: *const Self, n: usize) -> VectorOf<Self, S> {
                // SAFETY: a stored element is a lane, and `ptr` is readable for `n`, at most `LANES`.
                unsafe { Vector::load_partial(ptr, n) }
            }
            #[inline(always)]
            unsafe fn store<S: Simd>(v: VectorOf<Self, S>, ptr: *mut Self) {
                // SAFETY: a stored element is a lane, and `ptr` is writable for `LANES` of them.
                unsafe { v.store(ptr) }
            }
            #[inline(always)]
            unsafe fn store_partial<S: Simd>(v: VectorOf<Self, S>, ptr: *mut Self, n: usize) {
                // SAFETY: a stored element is a lane, and `ptr` is writable for `n`, at most `LANES`.
                unsafe { v.store_partial(ptr, n) }
            }
        })*
    };
}
stored_as_computed!(f32, f64);

/// Whole vectors are converted in line where the conversion is short, parts of one are not: each place would hold a loop.
macro_rules! stored_in_half {
    ($($ty:ty: $widen:expr, $narrow:expr, short if $short:expr;)*) => {
        $(impl StoredFloat for $ty {
            type Compute = f32;
            #[inline(always)]
            unsafe fn load<S: Simd>(ptr: *const Self) -> S::F32 {
                if !const { $short(S::ISA) } {
                    // SAFETY: `ptr` is readable for `LANES` elements, all that are asked for.
                    return unsafe { Self::load_partial::<S>(ptr, S::F32::LANES) };
                }
                let mut wide = [0f32; 16];
                // SAFETY: the caller vouches for LANES elements; the array holds as many as any vector.
                unsafe {
                    $widen.run::<S>((ptr, wide.as_mut_ptr(), S::F32::LANES));
                    S::F32::load(wide.as_ptr())
                }
            }
            #[inline(always)]
            unsafe fn load_partial<S: Simd>(ptr: *const Self, n: usize) -> S::F32 {
                let mut wide = [0f32; 16];
                // SAFETY: the caller vouches for n elements; the array holds as many as any vector.
                unsafe {
                    S::call(&$widen, (ptr, wide.as_mut_ptr(), n));
                    S::F32::load(wide.as_ptr())
                }
            }
            #[inline(always)]
            unsafe fn store<S: Simd>(v: S::F32, ptr: *mut Self) {
                if !const { $short(S::ISA) } {
                    // SAFETY: `ptr` is writable for `LANES` elements, all that are asked for.
                    return unsafe { Self::store_partial::<S>(v, ptr, S::F32::LANES) };
                }
                let mut wide = [0f32; 16];
                // SAFETY: the caller vouches for LANES elements; the array holds as many as any vector.
                unsafe {
                    v.store(wide.as_mut_ptr());
                    $narrow.run::<S>((wide.as_ptr(), ptr, S::F32::LANES));
                }
            }
            #[inline(always)]
            unsafe fn store_partial<S: Simd>(v: S::F32, ptr: *mut Self, n: usize) {
                let mut wide = [0f32; 16];
                // SAFETY: the caller vouches for n elements; the array holds as many as any vector.
                unsafe {
                    v.store(wide.as_mut_ptr());
                    S::call(&$narrow, (wide.as_ptr(), ptr, n));
                }
            }
        })*
    };
}
const fn hardware_converts_f16(isa: Isa) -> bool {
    !matches!(isa, Isa::Portable)
}
const fn always(_: Isa) -> bool {
    true
}
stored_in_half! {
    f16: WidenF16, NarrowF16, short if hardware_converts_f16;
    bf16: WidenBf16, NarrowBf16, short if always;
}

/// Reads and widens `n` elements, `stride` apart; the lanes after them are zero.
///
/// # Safety
/// `ptr` is valid for reading these elements; the vector has at least `n` lanes.
#[inline(always)]
pub(crate) unsafe fn load_strided<S: Simd, E: StoredFloat>(ptr: *const E, n: usize, stride: usize) -> VectorOf<E, S> {
    // SAFETY: `ptr` has `n` elements at the stride, `n` at most the lanes; the array holds as many elements as any vector.
    unsafe {
        if stride == 1 && n == VectorOf::<E, S>::LANES {
            return E::load::<S>(ptr);
        }
        if stride == 1 {
            return E::load_partial::<S>(ptr, n);
        }
        let mut elements = [E::default(); 16];
        for (i, element) in elements[..n].iter_mut().enumerate() {
            *element = ptr.add(i * stride).read();
        }
        E::load::<S>(elements.as_ptr())
    }
}

/// Calls `f(i, n)` for each vector of a row of `len` elements: for the whole ones with `n == lanes`, then for what is left. Compiled twice, so that
/// whole vectors have no loop for parts; `f` must be `#[inline(always)]`.
#[inline(always)]
pub(crate) fn each_vector(len: usize, lanes: usize, mut f: impl FnMut(usize, usize)) {
    let whole = len - len % lanes;
    for i in (0..whole).step_by(lanes) {
        f(i, lanes);
    }
    if whole < len {
        f(whole, len - whole);
    }
}

/// How a vector's elements are stored: as a whole contiguous vector, as part of one, or strided. A constant, so that loops are compiled for each.
pub(crate) mod lie {
    pub const WHOLE: u8 = 0;
    pub const PART: u8 = 1;
    pub const APART: u8 = 2;
}

/// [`load_strided`], for elements that are stored as `HOW`, one of the constants of [`lie`], says.
///
/// # Safety
/// As for [`load_strided`]; with `WHOLE`, `n` is the number of lanes and `stride` is 1, with `PART`, `stride` is 1.
#[inline(always)]
pub(crate) unsafe fn load_as<S: Simd, E: StoredFloat, const HOW: u8>(
    ptr: *const E,
    n: usize,
    stride: usize,
) -> VectorOf<E, S> {
    // SAFETY: WHOLE says that `n` are all lanes, side by side, PART that they lie side by side; else they are `stride` apart.
    unsafe {
        match HOW {
            lie::WHOLE => E::load::<S>(ptr),
            lie::PART => E::load_partial::<S>(ptr, n),
            _ => load_strided::<S, E>(ptr, n, stride),
        }
    }
}

/// Rounds and writes the first `n` lanes, `stride` elements apart.
///
/// # Safety
/// `out` is valid for writing these elements; the vector has at least `n` lanes.
#[inline(always)]
pub(crate) unsafe fn store_strided<S: Simd, E: StoredFloat>(v: VectorOf<E, S>, n: usize, out: *mut E, stride: usize) {
    // SAFETY: `out` has room for `n` elements at the stride, `n` at most the lanes; the array holds as many as any vector.
    unsafe {
        if stride == 1 && n == VectorOf::<E, S>::LANES {
            E::store::<S>(v, out);
        } else if stride == 1 {
            E::store_partial::<S>(v, out, n);
        } else {
            let mut elements = [E::default(); 16];
            E::store_partial::<S>(v, elements.as_mut_ptr(), n);
            for (i, &element) in elements[..n].iter().enumerate() {
                out.add(i * stride).write(element);
            }
        }
    }
}
