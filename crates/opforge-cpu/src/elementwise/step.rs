//! Elementwise functions with their types erased, as kernels and fused programs run them.

use std::marker::PhantomData;

use opforge_core::{DType, F8E4M3, F8E5M2, bf16, f16};

use super::block::Block;
use super::float::{FloatMap, FloatStep, FloatTest, HalfStep, TestStep};
use crate::simd::convert::{NarrowBf16, NarrowF8, NarrowF16, WidenBf16, WidenF8, WidenF16};
use crate::simd::{Entry, Isa, Prepared, Routine, resolve};

/// An elementwise function prepared for its types and the instruction set, its own type erased: eager kernels run one over whole tensors,
/// tile programs run many over tiles.
#[derive(Clone)]
pub(super) struct Step<const K: usize>(Prepared<*const Block<K>, bool>);

impl<const K: usize> Step<K> {
    pub fn new<R>(routine: R) -> Self
    where
        R: Routine<Args = *const Block<K>, Output = bool> + Send + Sync + 'static,
    {
        Step(Prepared::new(routine))
    }

    /// The step of a float function for elements of a dtype, and whether they are to be widened for it.
    pub fn of_floats<F: FloatMap<K>>(f: F, dtype: DType) -> (Self, bool) {
        // A constant condition, so that only the code that can run is compiled. Without instructions for conversions, tiles are faster.
        if const { F::STORED } && Isa::current() != Isa::Portable {
            match dtype {
                DType::F16 => return (Self::new(HalfStep(f, PhantomData::<f16>)), false),
                DType::BF16 => return (Self::new(HalfStep(f, PhantomData::<bf16>)), false),
                _ => {}
            }
        }
        (Self::float(f, dtype.compute()), true)
    }

    /// The step of a float function for elements that are computed in as `compute`: f32, or else f64.
    fn float<F: FloatMap<K>>(f: F, compute: DType) -> Self {
        match compute {
            DType::F32 => Self::new(FloatStep(f, PhantomData::<f32>)),
            _ => Self::new(FloatStep(f, PhantomData::<f64>)),
        }
    }

    /// The step of a float predicate.
    pub fn test<F: FloatTest<K>>(f: F, compute: DType) -> Self {
        match compute {
            DType::F32 => Self::new(TestStep(f, PhantomData::<f32>)),
            _ => Self::new(TestStep(f, PhantomData::<f64>)),
        }
    }

    /// Computes a block; true if the function failed for an element.
    ///
    /// # Safety
    /// The block's pointers are valid for all its elements, which have the step's types.
    #[inline(always)]
    pub unsafe fn run(&self, block: &Block<K>) -> bool {
        // SAFETY: the block is valid for all its elements, of the step's types, while it is borrowed.
        unsafe { self.0.run(block) }
    }
}

/// A conversion of contiguous elements to or from f32, in which floats of 8 and 16 bits are computed.
#[derive(Clone, Copy)]
pub(super) enum Convert {
    WidenF16(Entry<WidenF16>),
    WidenBf16(Entry<WidenBf16>),
    NarrowF16(Entry<NarrowF16>),
    NarrowBf16(Entry<NarrowBf16>),
    WidenE4M3(Entry<WidenF8<F8E4M3>>),
    WidenE5M2(Entry<WidenF8<F8E5M2>>),
    NarrowE4M3(Entry<NarrowF8<F8E4M3>>),
    NarrowE5M2(Entry<NarrowF8<F8E5M2>>),
}

impl Convert {
    /// The conversion of an input for computing; none where elements are computed in as they are.
    pub fn input(dtype: DType) -> Option<Convert> {
        match dtype {
            DType::F16 => Some(Convert::WidenF16(resolve::<WidenF16>(Isa::current()))),
            DType::BF16 => Some(Convert::WidenBf16(resolve::<WidenBf16>(Isa::current()))),
            DType::F8E4M3 => Some(Convert::WidenE4M3(resolve::<WidenF8<F8E4M3>>(Isa::current()))),
            DType::F8E5M2 => Some(Convert::WidenE5M2(resolve::<WidenF8<F8E5M2>>(Isa::current()))),
            _ => None,
        }
    }

    /// The conversion of a result for storing.
    pub fn output(dtype: DType) -> Option<Convert> {
        match dtype {
            DType::F16 => Some(Convert::NarrowF16(resolve::<NarrowF16>(Isa::current()))),
            DType::BF16 => Some(Convert::NarrowBf16(resolve::<NarrowBf16>(Isa::current()))),
            DType::F8E4M3 => Some(Convert::NarrowE4M3(resolve::<NarrowF8<F8E4M3>>(Isa::current()))),
            DType::F8E5M2 => Some(Convert::NarrowE5M2(resolve::<NarrowF8<F8E5M2>>(Isa::current()))),
            _ => None,
        }
    }

    /// Converts `n` elements.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `n` elements of the conversion's types; they do not overlap.
    pub unsafe fn run(self, from: *const u8, to: *mut u8, n: usize) {
        // SAFETY: `n` elements of the arm's types are valid on both sides; its level was supported when the entry was resolved.
        unsafe {
            match self {
                Convert::WidenF16(entry) => entry(&WidenF16, (from.cast(), to.cast(), n)),
                Convert::WidenBf16(entry) => entry(&WidenBf16, (from.cast(), to.cast(), n)),
                Convert::NarrowF16(entry) => entry(&NarrowF16, (from.cast(), to.cast(), n)),
                Convert::NarrowBf16(entry) => entry(&NarrowBf16, (from.cast(), to.cast(), n)),
                Convert::WidenE4M3(entry) => entry(&WidenF8(PhantomData), (from.cast(), to.cast(), n)),
                Convert::WidenE5M2(entry) => entry(&WidenF8(PhantomData), (from.cast(), to.cast(), n)),
                Convert::NarrowE4M3(entry) => entry(&NarrowF8(PhantomData), (from.cast(), to.cast(), n)),
                Convert::NarrowE5M2(entry) => entry(&NarrowF8(PhantomData), (from.cast(), to.cast(), n)),
            }
        }
    }
}
