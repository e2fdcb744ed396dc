//! What the innermost kernels of matrix products compute, and which there are for this processor.

use super::fold::{Fold, FoldKernel};
use super::lanes::{Array, Lanes, registers};
use super::small::{self, InPlace, InPlaceKernel};
use crate::matmul::operand::{Accumulator, Compensated};
use crate::memory::prefetch::prefetch;
use crate::simd::{Isa, resolve};

/// What a micro-kernel computes: `c[i][j] = sum over p of a[p][i] * b[p][j]`, for `MR` rows and `columns` columns.
pub(crate) struct Args<E> {
    pub depth: usize,
    /// `MR` elements for each p, without gaps.
    pub a: *const E,
    /// A whole kernel width of readable elements for each p, `b_row` apart.
    pub b: *const E,
    pub b_row: usize,
    /// For each p, the offset of its elements from `b`, instead of a multiple of `b_row`; for the indirect kernels only.
    pub b_offsets: *const usize,
    pub c: *mut E,
    pub c_row: usize,
    /// At most the kernel's width.
    pub columns: usize,
    /// Whether to add to `c` what it holds.
    pub add: bool,
    /// What is asked for meanwhile.
    pub ahead: Ahead<E>,
}

/// Memory that will be read next: some elements of it are asked for at each step of the depth, which costs less than all at once.
#[derive(Clone, Copy)]
pub(crate) struct Ahead<E> {
    pub at: *const E,
    /// Elements from step to step.
    pub step: usize,
}

impl<E> Ahead<E> {
    /// Nothing but what is in a cache already.
    pub fn nothing(near: *const E) -> Self {
        Ahead { at: near, step: 0 }
    }
}

/// # Safety
/// The arguments' pointers are valid as described, and the CPU has the instructions.
pub(crate) type MicroKernel<E> = unsafe fn(&Args<E>);

/// A machine's micro-kernels for an accumulator type.
#[derive(Clone, Copy)]
pub(crate) struct Kernels<E: 'static> {
    /// Columns of one register.
    pub(super) lanes: usize,
    /// `table[v - 1][r - 1]` computes `r` rows of `v` registers.
    table: &'static [&'static [MicroKernel<E>]],
    /// The same, for rows of `b` at offsets.
    indirect: &'static [&'static [MicroKernel<E>]],
    /// The same, for operands where they lie; empty where the compiler makes no vectors of such loops.
    in_place: &'static [&'static [InPlaceKernel<E>]],
    /// What is to be called before kernels run on a thread, and held as long.
    begin: Option<fn() -> Session>,
}

/// A state of a thread's processor that kernels need.
pub(crate) struct Session {
    end: fn(),
}

impl Session {
    /// The state that `end` gives up.
    pub(super) fn new(end: fn()) -> Self {
        Session { end }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        (self.end)();
    }
}

impl<E> Kernels<E> {
    /// Kernels of packed operands alone.
    pub(super) fn packed(
        lanes: usize,
        table: &'static [&'static [MicroKernel<E>]],
        begin: Option<fn() -> Session>,
    ) -> Self {
        Kernels { lanes, table, indirect: &[], in_place: &[], begin }
    }
    /// The state that kernels need on this thread while they run.
    #[inline]
    pub(crate) fn session(&self) -> Option<Session> {
        self.begin.map(|begin| begin())
    }
    /// Rows of the largest kernel.
    pub(crate) fn rows(&self) -> usize {
        self.table[0].len()
    }
    /// Columns of the widest kernel.
    pub(crate) fn width(&self) -> usize {
        self.table.len() * self.lanes
    }
    /// The kernel of `rows` rows whose width is the smallest that holds `columns`.
    #[inline]
    pub(crate) fn get(&self, rows: usize, columns: usize) -> MicroKernel<E> {
        self.table[(columns - 1) / self.lanes][rows - 1]
    }
    /// As [`Kernels::get`], the kernel that finds the rows of `b` by [`Args::b_offsets`].
    #[inline]
    pub(crate) fn get_indirect(&self, rows: usize, columns: usize) -> MicroKernel<E> {
        self.indirect[(columns - 1) / self.lanes][rows - 1]
    }
    /// As [`Kernels::get`], the kernel that reads operands where they lie.
    #[inline]
    pub(super) fn get_in_place(&self, rows: usize, columns: usize) -> InPlaceKernel<E> {
        self.in_place[(columns - 1) / self.lanes][rows - 1]
    }
    /// Whether there are kernels that read operands where they lie.
    pub(super) fn are_in_place(&self) -> bool {
        !self.in_place.is_empty()
    }
    /// Columns of one register.
    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }
}

/// # Safety
/// As [`MicroKernel`].
#[inline(always)]
unsafe fn micro<L: Lanes, const MR: usize, const NV: usize, const INDIRECT: bool>(args: &Args<L::Element>) {
    let (mut a, mut b) = (args.a, args.b);
    let mut ahead = args.ahead.at;
    for i in 0..MR {
        prefetch(args.c.wrapping_add(i * args.c_row).cast(), NV * size_of::<L>());
    }
    // SAFETY: all offsets are within what the arguments promise.
    unsafe {
        let mut sums = [[L::splat(L::Element::default()); NV]; MR];
        for p in 0..args.depth {
            prefetch(ahead.cast(), 1);
            ahead = ahead.wrapping_add(args.ahead.step);
            if INDIRECT {
                b = args.b.add(*args.b_offsets.add(p));
            }
            let row = registers::<L, NV>(b);
            for (i, sums) in sums.iter_mut().enumerate() {
                let scale = L::splat(*a.add(i));
                for (sum, b) in sums.iter_mut().zip(row) {
                    *sum = scale.mul_add(b, *sum);
                }
            }
            a = a.add(MR);
            if !INDIRECT {
                b = b.add(args.b_row);
            }
        }
        if args.columns == NV * L::COUNT {
            for (i, row) in sums.into_iter().enumerate() {
                for (v, sum) in row.into_iter().enumerate() {
                    let c = args.c.add(i * args.c_row + v * L::COUNT);
                    if args.add { L::load(c).plus(sum).store(c) } else { sum.store(c) }
                }
            }
        } else {
            for (i, row) in sums.into_iter().enumerate() {
                store_part(row, args.c.add(i * args.c_row), args.columns, args.add);
            }
        }
    }
}

/// Stores the first `columns` elements of a row of registers.
///
/// # Safety
/// `c` is valid for them, and the CPU has the instructions.
#[inline(always)]
pub(super) unsafe fn store_part<L: Lanes, const NV: usize>(
    row: [L; NV],
    c: *mut L::Element,
    columns: usize,
    add: bool,
) {
    for (v, sum) in row.into_iter().enumerate() {
        let n = columns.saturating_sub(v * L::COUNT).min(L::COUNT);
        // SAFETY: `v * COUNT` is clamped to `columns`, so that `c` has `n` elements from there on.
        unsafe {
            let c = c.add(columns - columns.saturating_sub(v * L::COUNT));
            match n == L::COUNT {
                true => {
                    if add {
                        L::load(c).plus(sum).store(c)
                    } else {
                        sum.store(c)
                    }
                }
                false => sum.store_first(c, n, add),
            }
        }
    }
}

/// The table of packed operands' kernels of some lanes, compiled with some attributes: for each width in registers, the numbers of rows.
macro_rules! packed_kernels {
    ([$($attribute:tt)*] $element:ty, $lanes:ty, $($nv:literal: [$($mr:literal)*]),*) => {{
        /// # Safety
        /// As [`MicroKernel`].
        $($attribute)*
        unsafe fn entry<const NV: usize, const MR: usize, const INDIRECT: bool>(args: &Args<$element>) {
            // SAFETY: the pointers are as the arguments describe; this entry's attributes enable the instructions of its lanes.
            unsafe { micro::<$lanes, MR, NV, INDIRECT>(args) }
        }
        Kernels {
            lanes: <$lanes as Lanes>::COUNT,
            in_place: &[],
            begin: None,
            table: const { &[$(&[$(entry::<$nv, $mr, false> as MicroKernel<$element>),*]),*] },
            indirect: const { &[$(&[$(entry::<$nv, $mr, true> as MicroKernel<$element>),*]),*] },
        }
    }};
}

/// The same, and those of operands where they lie.
macro_rules! kernels {
    ([$($attribute:tt)*] $element:ty, $lanes:ty, $($nv:literal: [$($mr:literal)*]),*) => {{
        /// # Safety
        /// As [`InPlaceKernel`].
        $($attribute)*
        unsafe fn entry<const NV: usize, const MR: usize>(args: &InPlace<$element>) {
            // SAFETY: the pointers are as the arguments describe; this entry's attributes enable the instructions of its lanes.
            unsafe { small::micro::<$lanes, MR, NV>(args) }
        }
        Kernels {
            in_place: const { &[$(&[$(entry::<$nv, $mr> as InPlaceKernel<$element>),*]),*] },
            ..packed_kernels!([$($attribute)*] $element, $lanes, $($nv: [$($mr)*]),*)
        }
    }};
}

macro_rules! float {
    ($ty:ty, $wide:ty, $narrow:ty, $plain:literal, $total:ty: $add:expr, $join:expr, $get:expr) => {
        impl Accumulator for $ty {
            type Total = $total;
            #[inline(always)]
            fn add_to(self, total: &mut $total) {
                let add: fn(&mut $total, $ty) = $add;
                add(total, self)
            }
            #[inline(always)]
            fn join(total: &mut $total, other: $total) {
                let join: fn(&mut $total, $total) = $join;
                join(total, other)
            }
            #[inline(always)]
            fn of_total(total: $total) -> Self {
                let get: fn($total) -> $ty = $get;
                get(total)
            }
            #[inline(always)]
            fn mul_add<const FMA: bool>(self, a: Self, b: Self) -> Self {
                if FMA { <$ty>::mul_add(self, a, b) } else { self * a + b }
            }
            #[inline(always)]
            fn plus(self, b: Self) -> Self {
                self + b
            }
            fn fold() -> Option<FoldKernel<Self>> {
                // Lanes change places by way of memory in portable vectors.
                (Isa::current() != Isa::Portable).then(|| resolve::<Fold<$ty>>(Isa::current()))
            }
            fn kernels() -> Kernels<Self> {
                #[cfg(target_arch = "x86_64")]
                {
                    use std::arch::x86_64::*;
                    if Isa::current() >= Isa::Avx512 {
                        return kernels!(
                            [#[target_feature(enable = "avx512f")]] $ty, $wide,
                            1: [1 2 3 4 5 6 7 8 9 10 11 12], 2: [1 2 3 4 5 6 7 8 9 10 11 12]
                        );
                    }
                    // Of 16 registers 12 hold sums. With three to a row no register is left for what the compiler moves about: a sum goes through
                    // memory at each step, and the next step waits for it.
                    if Isa::current() >= Isa::Avx2 {
                        return kernels!(
                            [#[target_feature(enable = "avx2,fma")]] $ty, $narrow,
                            1: [1 2 3 4 5 6], 2: [1 2 3 4 5 6]
                        );
                    }
                }
                kernels!([] $ty, Array<$ty, $plain>, 1: [1 2 3 4], 2: [1 2 3 4])
            }
        }
    };
}
float!(f32, __m512, __m256, 4, f64: |total, sum| *total += f64::from(sum), |total, other| *total += other, |total| total as f32);
float!(f64, __m512d, __m256d, 2, Compensated: Compensated::add, Compensated::join, Compensated::get);

/// The micro-kernels of [`pairs`](super::pairs), for processors with AVX512-BF16.
#[cfg(target_arch = "x86_64")]
pub(super) fn bf16_pairs() -> Kernels<f32> {
    kernels!(
        [#[target_feature(enable = "avx512f,avx512bf16")]] f32, super::lanes::x86::Pairs,
        1: [1 2 3 4 5 6 7 8 9 10 11 12], 2: [1 2 3 4 5 6 7 8 9 10 11 12]
    )
}

macro_rules! integer {
    ($($ty:ty: $lanes:literal),*) => {
        $(impl Accumulator for $ty {
            type Total = $ty;
            #[inline(always)]
            fn add_to(self, total: &mut $ty) {
                *total = total.wrapping_add(self);
            }
            #[inline(always)]
            fn join(total: &mut $ty, other: $ty) {
                *total = total.wrapping_add(other);
            }
            #[inline(always)]
            fn of_total(total: $ty) -> Self {
                total
            }
            #[inline(always)]
            fn mul_add<const FMA: bool>(self, a: Self, b: Self) -> Self {
                self.wrapping_mul(a).wrapping_add(b)
            }
            #[inline(always)]
            fn plus(self, b: Self) -> Self {
                self.wrapping_add(b)
            }
            fn kernels() -> Kernels<Self> {
                #[cfg(target_arch = "x86_64")]
                {
                    if Isa::current() >= Isa::Avx512 {
                        return packed_kernels!([#[target_feature(enable = "avx512bw,avx512dq")]] $ty, Array<$ty, $lanes>, 1: [1 2 3 4]);
                    }
                    if Isa::current() >= Isa::Avx2 {
                        return packed_kernels!([#[target_feature(enable = "avx2")]] $ty, Array<$ty, $lanes>, 1: [1 2 3 4]);
                    }
                }
                packed_kernels!([] $ty, Array<$ty, $lanes>, 1: [1 2 3 4])
            }
        })*
    };
}
integer!(u8: 32, u16: 16, u32: 16, u64: 8);
