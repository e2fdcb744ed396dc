//! Square tiles transposed in registers.
//!
//! Zipping row `i` with row `i + n/2`, for every `i`, rotates the bits of each element's address (row bits above column bits) left by one.
//! After `log2 n` rounds rows and columns have changed places.

/// Moves `side` rows of `side` contiguous elements, the rows `src_step` bytes apart, into as many columns: rows of the destination are
/// `dst_step` bytes apart.
pub type FullTile = unsafe fn(src: *const u8, src_step: isize, dst: *mut u8, dst_step: isize);
/// The same for `rows <= side` rows of the destination and `columns <= side` rows of the source.
pub type PartTile = unsafe fn(*const u8, isize, *mut u8, isize, rows: usize, columns: usize);

/// The best tile of this machine for an element size.
pub struct Tile {
    /// Rows, and elements of a row.
    pub side: usize,
    /// Transposes a whole tile.
    pub full: FullTile,
    /// Transposes a part of one.
    pub part: PartTile,
}

impl Tile {
    /// For elements of so many bytes.
    pub fn new(size: usize) -> Self {
        let part: PartTile = by_size!(size, T => part::<T>);
        #[cfg(target_arch = "x86_64")]
        if let Some((side, full)) = x86::widest(size) {
            return Tile { side, full, part };
        }
        let (side, full): (usize, FullTile) = match size {
            1 => (16, scalar::<u8, 16>),
            2 => (16, scalar::<u16, 16>),
            4 => (8, scalar::<u32, 8>),
            8 => (4, scalar::<u64, 4>),
            _ => (4, scalar::<[u64; 2], 4>),
        };
        Tile { side, full, part }
    }
}

/// # Safety
/// `src` is readable for `columns` runs of `rows` elements of `T`, `dst` writable for `rows` runs of `columns`, at these steps.
unsafe fn part<T: Copy>(src: *const u8, src_step: isize, dst: *mut u8, dst_step: isize, rows: usize, columns: usize) {
    for i in 0..rows {
        for j in 0..columns {
            // SAFETY: `i < rows` and `j < columns`, for which both sides are valid.
            unsafe {
                let value = src.offset(j as isize * src_step).cast::<T>().add(i).read_unaligned();
                dst.offset(i as isize * dst_step).cast::<T>().add(j).write_unaligned(value);
            }
        }
    }
}

/// # Safety
/// `src` is readable and `dst` writable for `N` runs of `N` elements of `T`, at these steps.
unsafe fn scalar<T: Copy, const N: usize>(src: *const u8, src_step: isize, dst: *mut u8, dst_step: isize) {
    // SAFETY: both sides hold `N` rows of `N` elements, at their steps.
    unsafe { part::<T>(src, src_step, dst, dst_step, N, N) }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    use super::FullTile;
    use crate::simd::Isa;
    use std::arch::x86_64::*;

    /// A register of elements that can be interleaved with another.
    trait Zip: Copy {
        /// # Safety
        /// The pointer is readable for the whole register, and the CPU has the instructions.
        unsafe fn load(p: *const u8) -> Self;
        /// # Safety
        /// The pointer is writable for the whole register, and the CPU has the instructions.
        unsafe fn store(self, p: *mut u8);
        /// The first and the second half of `self[0], other[0], self[1], other[1], ..`.
        ///
        /// # Safety
        /// The CPU has the instructions.
        unsafe fn zip(self, other: Self) -> (Self, Self);
    }

    /// # Safety
    /// `src` is readable and `dst` writable for `N` rows of one register each; the CPU has the register's instructions.
    #[inline(always)]
    unsafe fn tile<V: Zip, const N: usize>(src: *const u8, src_step: isize, dst: *mut u8, dst_step: isize) {
        // SAFETY: `j < N`, for which `src` is readable and `dst` writable for a register each; the CPU has its instructions.
        unsafe {
            let mut rows: [V; N] = std::array::from_fn(|j| V::load(src.offset(j as isize * src_step)));
            for _ in 0..N.ilog2() {
                let from = rows;
                for i in 0..N / 2 {
                    (rows[2 * i], rows[2 * i + 1]) = from[i].zip(from[i + N / 2]);
                }
            }
            for (i, row) in rows.into_iter().enumerate() {
                row.store(dst.offset(i as isize * dst_step));
            }
        }
    }

    /// A 128-bit register type of elements of one size; SSE2 is part of x86-64.
    macro_rules! sse2 {
        ($name:ident, $lo:ident, $hi:ident) => {
            #[derive(Clone, Copy)]
            struct $name(__m128i);
            impl Zip for $name {
                #[inline(always)]
                unsafe fn load(p: *const u8) -> Self {
                    // SAFETY: 16 bytes are readable at `p`, of any alignment; SSE2 is part of x86-64.
                    Self(unsafe { _mm_loadu_si128(p.cast()) })
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut u8) {
                    // SAFETY: 16 bytes are writable at `p`, of any alignment; SSE2 is part of x86-64.
                    unsafe { _mm_storeu_si128(p.cast(), self.0) }
                }
                #[inline(always)]
                unsafe fn zip(self, other: Self) -> (Self, Self) {
                    // SAFETY: SSE2 is part of x86-64.
                    unsafe { (Self($lo(self.0, other.0)), Self($hi(self.0, other.0))) }
                }
            }
        };
    }
    sse2!(Sse8, _mm_unpacklo_epi8, _mm_unpackhi_epi8);
    sse2!(Sse16, _mm_unpacklo_epi16, _mm_unpackhi_epi16);
    sse2!(Sse32, _mm_unpacklo_epi32, _mm_unpackhi_epi32);
    sse2!(Sse64, _mm_unpacklo_epi64, _mm_unpackhi_epi64);

    /// The permutation for `_mm512_permutex2var_*` that gives the first (`start` 0) or second (`start` N/2) half of an interleaving.
    const fn interleave<const N: usize>(start: usize) -> [u64; 8] {
        let width = 64 / N;
        let mut bytes = [0u8; 64];
        let mut i = 0;
        while i < N {
            bytes[i * width] = (start + i / 2 + (i % 2) * N) as u8;
            i += 1;
        }
        let mut words = [0u64; 8];
        let mut b = 0;
        while b < 64 {
            words[b / 8] |= (bytes[b] as u64) << (8 * (b % 8));
            b += 1;
        }
        words
    }

    /// A 512-bit register type of `$n` elements.
    macro_rules! avx512 {
        ($name:ident, $n:literal, $permute:ident) => {
            #[derive(Clone, Copy)]
            struct $name(__m512i);
            impl Zip for $name {
                #[inline(always)]
                unsafe fn load(p: *const u8) -> Self {
                    // SAFETY: 64 bytes are readable at `p`, of any alignment, and the CPU has AVX-512.
                    Self(unsafe { _mm512_loadu_si512(p.cast()) })
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut u8) {
                    // SAFETY: 64 bytes are writable at `p`, of any alignment, and the CPU has AVX-512.
                    unsafe { _mm512_storeu_si512(p.cast(), self.0) }
                }
                #[inline(always)]
                unsafe fn zip(self, other: Self) -> (Self, Self) {
                    const FIRST: [u64; 8] = interleave::<$n>(0);
                    const SECOND: [u64; 8] = interleave::<$n>($n / 2);
                    // SAFETY: the CPU has the instructions, which `zip` asks for; the constants are 64 bytes.
                    unsafe {
                        let first = _mm512_loadu_si512(FIRST.as_ptr().cast());
                        let second = _mm512_loadu_si512(SECOND.as_ptr().cast());
                        (Self($permute(self.0, first, other.0)), Self($permute(self.0, second, other.0)))
                    }
                }
            }
        };
    }
    avx512!(Zmm8, 64, _mm512_permutex2var_epi8);
    avx512!(Zmm16, 32, _mm512_permutex2var_epi16);
    avx512!(Zmm32, 16, _mm512_permutex2var_epi32);
    avx512!(Zmm64, 8, _mm512_permutex2var_epi64);

    /// A tile as a function compiled for an instruction set.
    macro_rules! entry {
        ($name:ident, $features:literal, $v:ty, $n:literal) => {
            /// # Safety
            /// As [`FullTile`], on a CPU with the features.
            #[target_feature(enable = $features)]
            unsafe fn $name(src: *const u8, src_step: isize, dst: *mut u8, dst_step: isize) {
                // SAFETY: `$n` rows of `$n` elements are a register each; this function's features are the register's.
                unsafe { tile::<$v, $n>(src, src_step, dst, dst_step) }
            }
        };
    }
    entry!(sse8, "sse2", Sse8, 16);
    entry!(sse16, "sse2", Sse16, 8);
    entry!(sse32, "sse2", Sse32, 4);
    entry!(sse64, "sse2", Sse64, 2);
    entry!(zmm8, "avx512f,avx512bw,avx512vbmi", Zmm8, 64);
    entry!(zmm16, "avx512f,avx512bw", Zmm16, 32);
    entry!(zmm32, "avx512f", Zmm32, 16);
    entry!(zmm64, "avx512f", Zmm64, 8);

    /// The side and the function of the widest tile this CPU has for an element size.
    pub fn widest(size: usize) -> Option<(usize, FullTile)> {
        let avx512 = Isa::current() >= Isa::Avx512;
        let vbmi = avx512 && is_x86_feature_detected!("avx512vbmi");
        match size {
            1 if vbmi => Some((64, zmm8)),
            2 if avx512 => Some((32, zmm16)),
            4 if avx512 => Some((16, zmm32)),
            8 if avx512 => Some((8, zmm64)),
            _ => baseline(size),
        }
    }

    /// The side and the function of the tile that every x86-64 CPU has.
    pub fn baseline(size: usize) -> Option<(usize, FullTile)> {
        match size {
            1 => Some((16, sse8)),
            2 => Some((8, sse16)),
            4 => Some((4, sse32)),
            8 => Some((2, sse64)),
            _ => None,
        }
    }

    /// Four rows of four 32-bit elements, to be inlined.
    ///
    /// # Safety
    /// As [`FullTile`] with side 4.
    #[inline(always)]
    pub unsafe fn tile_4x4(src: *const u8, src_step: isize, dst: *mut u8, dst_step: isize) {
        // SAFETY: a row of four 32-bit elements is one SSE register, and SSE2 is part of x86-64.
        unsafe { tile::<Sse32, 4>(src, src_step, dst, dst_step) }
    }
}
