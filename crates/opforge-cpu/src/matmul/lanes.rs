//! Registers of accumulators, for the micro-kernels of any element type.

use std::mem::MaybeUninit;

use crate::matmul::operand::Accumulator;

/// A register, or a few, of accumulators.
pub(super) trait Lanes: Copy {
    type Element: Accumulator;
    /// Elements a register.
    const COUNT: usize;
    /// # Safety
    /// This and the other methods: the CPU has the register's instructions; pointers are valid for `COUNT` elements.
    unsafe fn splat(value: Self::Element) -> Self;
    /// # Safety
    /// As [`Lanes::splat`].
    unsafe fn load(p: *const Self::Element) -> Self;
    /// # Safety
    /// As [`Lanes::splat`].
    unsafe fn store(self, p: *mut Self::Element);
    /// `self * a + b`.
    ///
    /// # Safety
    /// As [`Lanes::splat`].
    unsafe fn mul_add(self, a: Self, b: Self) -> Self;
    /// # Safety
    /// As [`Lanes::splat`].
    unsafe fn plus(self, b: Self) -> Self;
    /// Loads the first `n` elements, below `COUNT`, the others as zeros; the pointer need only be valid for those.
    ///
    /// # Safety
    /// As [`Lanes::splat`].
    #[inline(always)]
    unsafe fn load_first(p: *const Self::Element, n: usize) -> Self {
        // SAFETY: a register is made of zeros, `n` of which are replaced in a buffer of its size.
        unsafe {
            let mut whole = Self::splat(Self::Element::default());
            let elements = (&raw mut whole).cast::<Self::Element>();
            for j in 0..n {
                *elements.add(j) = *p.add(j);
            }
            whole
        }
    }
    /// Stores the first `n` elements, below `COUNT`, or adds them to what is there; the pointer need only be valid for those.
    ///
    /// # Safety
    /// As [`Lanes::splat`].
    #[inline(always)]
    unsafe fn store_first(self, p: *mut Self::Element, n: usize, add: bool) {
        let mut whole = MaybeUninit::<Self>::uninit();
        let whole = whole.as_mut_ptr().cast::<Self::Element>();
        // SAFETY: a register is stored whole into a buffer of its size, then read back in part.
        unsafe {
            self.store(whole);
            for j in 0..n {
                *p.add(j) = if add { (*p.add(j)).plus(*whole.add(j)) } else { *whole.add(j) };
            }
        }
    }
}

/// `N` registers of contiguous elements.
///
/// # Safety
/// As [`Lanes::load`] of each.
#[inline(always)]
pub(super) unsafe fn registers<L: Lanes, const N: usize>(at: *const L::Element) -> [L; N] {
    // SAFETY: the caller vouches for the instructions and for the elements of each register.
    unsafe {
        let mut registers = [L::splat(L::Element::default()); N];
        for (i, register) in registers.iter_mut().enumerate() {
            *register = L::load(at.add(i * L::COUNT));
        }
        registers
    }
}

/// Lanes without instructions of their own: loops that the compiler turns into those of the function they are inlined into.
#[derive(Clone, Copy)]
pub(super) struct Array<E, const N: usize>([E; N]);

impl<E: Accumulator, const N: usize> Lanes for Array<E, N> {
    type Element = E;
    const COUNT: usize = N;
    #[inline(always)]
    unsafe fn splat(value: E) -> Self {
        Array([value; N])
    }
    #[inline(always)]
    unsafe fn load(p: *const E) -> Self {
        // SAFETY: `N` elements, the array's, are readable at `p`.
        Array(unsafe { p.cast::<[E; N]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut E) {
        // SAFETY: `N` elements, the array's, are writable at `p`.
        unsafe { p.cast::<[E; N]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, a: Self, mut b: Self) -> Self {
        const FMA: bool = cfg!(target_arch = "aarch64");
        for i in 0..N {
            b.0[i] = self.0[i].mul_add::<FMA>(a.0[i], b.0[i]);
        }
        b
    }
    #[inline(always)]
    unsafe fn plus(self, mut b: Self) -> Self {
        for i in 0..N {
            b.0[i] = self.0[i].plus(b.0[i]);
        }
        b
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use super::Lanes;
    use crate::simd::{store_first_pd, store_first_ps};
    use std::arch::x86_64::*;
    use std::mem::transmute;

    /// A float register with fused multiply-add, and masks of its first lanes.
    macro_rules! lanes {
        ($ty:ty, $element:ty, $count:literal, $splat:ident, $load:ident, $store:ident, $fma:ident, $add:ident,
            $first:ident, $load_first:ident, $store_first:ident) => {
            impl Lanes for $ty {
                #[inline(always)]
                unsafe fn load_first(p: *const $element, n: usize) -> Self {
                    // SAFETY: lanes that are masked off are not accessed.
                    unsafe { $load_first($first(n), p) }
                }
                #[inline(always)]
                unsafe fn store_first(self, p: *mut $element, n: usize, add: bool) {
                    // SAFETY: lanes after the first `n` are not accessed.
                    unsafe {
                        let sum = if add { $add(self, Self::load_first(p, n)) } else { self };
                        $store_first(p, n, sum);
                    }
                }
                type Element = $element;
                const COUNT: usize = $count;
                #[inline(always)]
                unsafe fn splat(value: $element) -> Self {
                    // SAFETY: the CPU has the register's instructions.
                    unsafe { $splat(value) }
                }
                #[inline(always)]
                unsafe fn load(p: *const $element) -> Self {
                    // SAFETY: `COUNT` elements are readable at `p`, and the CPU has the instructions.
                    unsafe { $load(p) }
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut $element) {
                    // SAFETY: `COUNT` elements are writable at `p`, and the CPU has the instructions.
                    unsafe { $store(p, self) }
                }
                #[inline(always)]
                unsafe fn mul_add(self, a: Self, b: Self) -> Self {
                    // SAFETY: the CPU has fused multiply-add for the register.
                    unsafe { $fma(self, a, b) }
                }
                #[inline(always)]
                unsafe fn plus(self, b: Self) -> Self {
                    // SAFETY: the CPU has the instructions of the two registers.
                    unsafe { $add(self, b) }
                }
            }
        };
    }
    lanes!(
        __m512,
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps,
        first_16,
        _mm512_maskz_loadu_ps,
        store_first_of_16
    );
    lanes!(
        __m512d,
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        first_8,
        _mm512_maskz_loadu_pd,
        store_first_of_8
    );
    lanes!(
        __m256,
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps,
        first_of_8,
        load_masked_ps,
        store_first_ps
    );
    lanes!(
        __m256d,
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        first_of_4,
        load_masked_pd,
        store_first_pd
    );

    /// Sums in f32, and what they are made of: pairs of bf16, as large as an f32.
    #[derive(Clone, Copy)]
    pub(in crate::matmul) struct Pairs(__m512);

    impl Lanes for Pairs {
        type Element = f32;
        const COUNT: usize = 16;
        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            // SAFETY: the CPU has AVX-512.
            Pairs(unsafe { _mm512_set1_ps(value) })
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self {
            // SAFETY: 16 elements are readable at `p`, and the CPU has AVX-512.
            Pairs(unsafe { _mm512_loadu_ps(p) })
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            // SAFETY: 16 elements are writable at `p`, and the CPU has AVX-512.
            unsafe { _mm512_storeu_ps(p, self.0) }
        }
        /// Adds both products of each pair.
        #[inline(always)]
        unsafe fn mul_add(self, a: Self, b: Self) -> Self {
            // SAFETY: the CPU has AVX512-BF16; a register of pairs has the bits of one of f32.
            unsafe {
                let [x, y] = [self.0, a.0].map(|pairs| transmute::<__m512, __m512bh>(pairs));
                Pairs(_mm512_dpbf16_ps(b.0, x, y))
            }
        }
        #[inline(always)]
        unsafe fn plus(self, b: Self) -> Self {
            // SAFETY: the CPU has AVX-512.
            Pairs(unsafe { _mm512_add_ps(self.0, b.0) })
        }
        #[inline(always)]
        unsafe fn load_first(p: *const f32, n: usize) -> Self {
            // SAFETY: as for a register of sums alone.
            Pairs(unsafe { __m512::load_first(p, n) })
        }
        #[inline(always)]
        unsafe fn store_first(self, p: *mut f32, n: usize, add: bool) {
            // SAFETY: as for a register of sums alone.
            unsafe { self.0.store_first(p, n, add) }
        }
    }

    /// Masks of the first `n` lanes, fewer than there are.
    #[inline(always)]
    fn first_16(n: usize) -> __mmask16 {
        (1 << n) - 1
    }
    #[inline(always)]
    fn first_8(n: usize) -> __mmask8 {
        (1 << n) - 1
    }
    /// # Safety
    /// This and the next: the CPU has AVX-512, and the first `n` elements, fewer than a register has, are writable.
    #[inline(always)]
    unsafe fn store_first_of_16(p: *mut f32, n: usize, v: __m512) {
        // SAFETY: lanes that are masked off are not accessed.
        unsafe { _mm512_mask_storeu_ps(p, first_16(n), v) }
    }
    #[inline(always)]
    unsafe fn store_first_of_8(p: *mut f64, n: usize, v: __m512d) {
        // SAFETY: lanes that are masked off are not accessed.
        unsafe { _mm512_mask_storeu_pd(p, first_8(n), v) }
    }
    /// # Safety
    /// This and the next: the CPU has AVX2.
    #[inline(always)]
    unsafe fn first_of_8(n: usize) -> __m256i {
        // SAFETY: the CPU has AVX2.
        unsafe { _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)) }
    }
    #[inline(always)]
    unsafe fn first_of_4(n: usize) -> __m256i {
        // SAFETY: the CPU has AVX2.
        unsafe { _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), _mm256_setr_epi64x(0, 1, 2, 3)) }
    }
    /// Loads with the mask first, as AVX-512's.
    ///
    /// # Safety
    /// This and the next: the CPU has AVX2, and the lanes of the mask are readable.
    #[inline(always)]
    unsafe fn load_masked_ps(mask: __m256i, p: *const f32) -> __m256 {
        // SAFETY: lanes that are masked off are not accessed.
        unsafe { _mm256_maskload_ps(p, mask) }
    }
    #[inline(always)]
    unsafe fn load_masked_pd(mask: __m256i, p: *const f64) -> __m256d {
        // SAFETY: lanes that are masked off are not accessed.
        unsafe { _mm256_maskload_pd(p, mask) }
    }
}
