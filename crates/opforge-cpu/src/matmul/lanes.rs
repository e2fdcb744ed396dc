use crate::operand::Accumulator;

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
        // SAFETY: by the contract.
        Array(unsafe { p.cast::<[E; N]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut E) {
        // SAFETY: by the contract.
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
    use std::arch::x86_64::*;

    /// A float register with fused multiply-add.
    macro_rules! lanes {
        ($ty:ty, $element:ty, $count:literal, $splat:ident, $load:ident, $store:ident, $fma:ident, $add:ident) => {
            impl Lanes for $ty {
                type Element = $element;
                const COUNT: usize = $count;
                #[inline(always)]
                unsafe fn splat(value: $element) -> Self {
                    // SAFETY: by the contract, as all below.
                    unsafe { $splat(value) }
                }
                #[inline(always)]
                unsafe fn load(p: *const $element) -> Self {
                    // SAFETY: as above.
                    unsafe { $load(p) }
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut $element) {
                    // SAFETY: as above.
                    unsafe { $store(p, self) }
                }
                #[inline(always)]
                unsafe fn mul_add(self, a: Self, b: Self) -> Self {
                    // SAFETY: as above.
                    unsafe { $fma(self, a, b) }
                }
                #[inline(always)]
                unsafe fn plus(self, b: Self) -> Self {
                    // SAFETY: as above.
                    unsafe { $add(self, b) }
                }
            }
        };
    }
    lanes!(__m512, f32, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, _mm512_add_ps);
    lanes!(__m512d, f64, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd, _mm512_add_pd);
    lanes!(__m256, f32, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps, _mm256_add_ps);
    lanes!(__m256d, f64, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd, _mm256_add_pd);
}
