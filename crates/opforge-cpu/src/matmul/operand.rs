//! Element types of products and sums: what they are widened to, and how many sums are added.
//!
//! Sums of many floats are sums of sums: kernels add blocks of at most some thousand terms in the type of the elements (or a wider one, for half
//! precision), and the blocks' sums in a [`Total`](Accumulator::Total), f64 or compensated f64, or as a tree (`reduce/cascade.rs`). So errors do not
//! grow with the number of terms, whatever the layout; `tests/kernels/sums.rs` and `tests/python/test_sums.py` hold the kernels to that. Still one running
//! sum: additions at indices that each line has of its own, where few of many places get most of them, additions of complex numbers at indices, and
//! antialiased filters.

use opforge_core::{bf16, f16};

use super::fold::FoldKernel;
#[cfg(target_arch = "x86_64")]
use super::tiles;
use super::{Kernels, Packing, pairs};
use crate::simd::convert::{NarrowBf16, NarrowF16, WidenBf16, WidenF16, widen_bf16, widen_f16};
use crate::simd::stored::StoredFloat;
use crate::simd::{Isa, resolve};

/// The type in which products are summed.
pub(crate) trait Accumulator: Copy + Default + Send + Sync + 'static {
    /// `self * a + b`; integers wrap. Floats round once if `FMA`, which is slow on CPUs without the instruction, else twice.
    fn mul_add<const FMA: bool>(self, a: Self, b: Self) -> Self;
    /// `self + b`; integers wrap.
    fn plus(self, b: Self) -> Self;
    /// The micro-kernels of this machine.
    fn kernels() -> Kernels<Self>;
    /// The kernel for products with a few vectors, where this machine's vectors have one.
    fn fold() -> Option<FoldKernel<Self>> {
        None
    }
    /// A sum of many sums, whose rounding errors do not grow with their number.
    type Total: Copy + Default + Send + Sync + 'static;
    /// Adds a sum to a total.
    fn add_to(self, total: &mut Self::Total);
    /// Adds a total to another.
    fn join(total: &mut Self::Total, other: Self::Total);
    /// The total, rounded once.
    fn of_total(total: Self::Total) -> Self;
}

/// Adds sums to their totals, which begin anew if `first`.
#[inline(always)]
pub(crate) fn add_to_totals<A: Accumulator>(sums: &[A], totals: &mut [A::Total], first: bool) {
    for (sum, total) in sums.iter().zip(totals) {
        if first {
            *total = A::Total::default();
        }
        sum.add_to(total);
    }
}

/// Writes totals as sums.
#[inline(always)]
pub(crate) fn round_totals<A: Accumulator>(totals: &[A::Total], sums: &mut [A]) {
    for (sum, total) in sums.iter_mut().zip(totals) {
        *sum = A::of_total(*total);
    }
}

/// A sum in f64 and what its additions have rounded off (Neumaier, 1974).
#[derive(Clone, Copy, Default)]
pub(crate) struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    #[inline(always)]
    pub fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        let (large, small) = if self.sum.abs() >= x.abs() { (self.sum, x) } else { (x, self.sum) };
        self.lost += (large - sum) + small;
        self.sum = sum;
    }
    #[inline(always)]
    pub fn join(&mut self, other: Self) {
        self.add(other.sum);
        self.lost += other.lost;
    }
    /// An infinite sum has lost infinity or NaN, which counts for nothing.
    #[inline(always)]
    pub fn get(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

/// A stored element type: how it enters and leaves the type of its sums.
pub(crate) trait Operand: Copy + Send + Sync + 'static {
    type Acc: Accumulator + Operand<Acc = Self::Acc>;
    /// Whether elements are their own accumulators.
    const EXACT: bool;
    fn widen(self) -> Self::Acc;
    fn narrow(sum: Self::Acc) -> Self;
    /// Widens `n` elements.
    ///
    /// # Safety
    /// There are as many, and room for as many sums.
    unsafe fn widen_all(from: *const Self, to: *mut Self::Acc, n: usize) {
        for i in 0..n {
            // SAFETY: `i` is below `n`: an element on either side.
            unsafe { to.add(i).write((*from.add(i)).widen()) };
        }
    }
    /// Rounds `n` sums.
    ///
    /// # Safety
    /// There are as many sums, and room for as many elements.
    unsafe fn narrow_all(sums: *const Self::Acc, to: *mut Self, n: usize) {
        for i in 0..n {
            // SAFETY: as the caller promises.
            unsafe { to.add(i).write(Self::narrow(*sums.add(i))) };
        }
    }
    /// Two neighbours along the depth, as a packed element holds them where there are such micro-kernels.
    fn pair(first: Self::Acc, _second: Self::Acc) -> Self::Acc {
        first
    }
    /// As [`Operand::pair`], of sums that are rounded to elements first.
    fn pair_rounded(first: Self::Acc, _second: Self::Acc) -> Self::Acc {
        first
    }
    /// The micro-kernels that multiply pairs along the depth, and how operands are packed for them.
    fn pairs() -> Option<(Kernels<Self::Acc>, Packing<Self>)> {
        None
    }
    /// The micro-kernels of large products, and how operands are packed for them.
    fn for_products() -> (Kernels<Self::Acc>, Packing<Self>) {
        Self::pairs().unwrap_or_else(|| (Self::Acc::kernels(), Packing::SINGLE))
    }
}

/// A stored float whose sums are in the type that it is computed in.
pub(crate) trait Summed:
    StoredFloat<Compute: Accumulator + Operand<Acc = <Self as StoredFloat>::Compute>>
    + Operand<Acc = <Self as StoredFloat>::Compute>
{
}
impl<E> Summed for E where
    E: StoredFloat<Compute: Accumulator + Operand<Acc = <E as StoredFloat>::Compute>>
        + Operand<Acc = <E as StoredFloat>::Compute>
{
}

macro_rules! own_accumulator {
    ($($ty:ty),*) => {
        $(impl Operand for $ty {
            type Acc = $ty;
            const EXACT: bool = true;
            #[inline(always)]
            fn widen(self) -> $ty { self }
            #[inline(always)]
            fn narrow(sum: $ty) -> $ty { sum }
        })*
    };
}
own_accumulator!(u8, u16, u32, u64, f32, f64);

impl Operand for bf16 {
    type Acc = f32;
    const EXACT: bool = false;
    #[inline(always)]
    fn widen(self) -> f32 {
        widen_bf16(self)
    }
    #[inline(always)]
    fn narrow(sum: f32) -> bf16 {
        bf16::from_f32(sum)
    }
    unsafe fn widen_all(from: *const bf16, to: *mut f32, n: usize) {
        // SAFETY: there are `n` elements on either side; the entry is for this CPU.
        unsafe { resolve::<WidenBf16>(Isa::current())(&WidenBf16, (from, to, n)) }
    }
    unsafe fn narrow_all(sums: *const f32, to: *mut bf16, n: usize) {
        // SAFETY: as the caller promises; the entry is for this CPU.
        unsafe { resolve::<NarrowBf16>(Isa::current())(&NarrowBf16, (sums, to, n)) }
    }
    #[inline(always)]
    fn pair(first: f32, second: f32) -> f32 {
        f32::from_bits(first.to_bits() >> 16 | second.to_bits() & 0xffff_0000)
    }
    #[inline(always)]
    fn pair_rounded(first: f32, second: f32) -> f32 {
        // To the nearest, to even bits from halfway; NaN has its own.
        let rounded = |x: f32| {
            let bits = x.to_bits();
            f32::from_bits(if x.is_nan() { bits } else { bits.wrapping_add(0x7fff + (bits >> 16 & 1)) })
        };
        Self::pair(rounded(first), rounded(second))
    }
    fn pairs() -> Option<(Kernels<f32>, Packing<bf16>)> {
        pairs::kernels().map(|kernels| (kernels, pairs::PACKING))
    }
    #[cfg(target_arch = "x86_64")]
    fn for_products() -> (Kernels<f32>, Packing<bf16>) {
        let tiles = tiles::kernels().map(|kernels| (kernels, tiles::PACKING));
        tiles.or_else(Self::pairs).unwrap_or_else(|| (f32::kernels(), Packing::SINGLE))
    }
}

impl Operand for f16 {
    type Acc = f32;
    const EXACT: bool = false;
    #[inline(always)]
    fn widen(self) -> f32 {
        widen_f16(self)
    }
    #[inline(always)]
    fn narrow(sum: f32) -> f16 {
        f16::from_f32(sum)
    }
    unsafe fn widen_all(from: *const f16, to: *mut f32, n: usize) {
        // SAFETY: there are `n` elements on either side; the entry is for this CPU.
        unsafe { resolve::<WidenF16>(Isa::current())(&WidenF16, (from, to, n)) }
    }
    unsafe fn narrow_all(sums: *const f32, to: *mut f16, n: usize) {
        // SAFETY: as the caller promises; the entry is for this CPU.
        unsafe { resolve::<NarrowF16>(Isa::current())(&NarrowF16, (sums, to, n)) }
    }
}
