//! Explicit SIMD: vector types behind traits, and the way to compile one generic loop for every instruction set.
//!
//! A loop is written once, as a [`Routine`] generic over the instruction set `S`; [`resolve`] compiles it for each set with the right target
//! features and hands out the entry for the set in use. Kernels resolve while they are prepared and call the pointer when they run.
//!
//! An operator's file states `fn float<V: Float>(x: V) -> V` once; it is compiled for f32 and f64, as AVX-512, AVX2 and portable code (NEON on
//! aarch64), and f16 and bf16 are widened when they are loaded and rounded when they are stored. Functions of integers are compiled portably only:
//! eight types make code large, and memory is the limit.
//!
//! ```
//! use opforge_cpu::simd::{Float, FloatElem, Isa, Routine, Simd, Vector, resolve};
//! use std::marker::PhantomData;
//!
//! /// Sums a slice; for f32 and f64 alike.
//! struct Sum<E>(PhantomData<E>);
//!
//! impl<E: FloatElem> Routine for Sum<E> {
//!     type Args = (*const E, usize);
//!     type Output = E;
//!
//!     #[inline(always)] // Required: the loop must be compiled inside the entry that enables the target features.
//!     unsafe fn run<S: Simd>(&self, (ptr, n): (*const E, usize)) -> E {
//!         let lanes = <E::Vector<S>>::LANES;
//!         let mut acc = <E::Vector<S>>::splat(0.0);
//!         let mut i = 0;
//!         // SAFETY: the caller passes `n` readable elements; every access below stays within them.
//!         unsafe {
//!             while i + lanes <= n {
//!                 acc = acc + <E::Vector<S>>::load(ptr.add(i));
//!                 i += lanes;
//!             }
//!             acc = acc + <E::Vector<S>>::load_partial(ptr.add(i), n - i); // Missing lanes are zero.
//!         }
//!         acc.reduce_sum()
//!     }
//! }
//!
//! let entry = resolve::<Sum<f32>>(Isa::current());
//! let x = [1.0f32; 37];
//! // SAFETY: `Isa::current` is supported here, and the pointer is to 37 elements.
//! assert_eq!(unsafe { entry(&Sum(PhantomData), (x.as_ptr(), 37)) }, 37.0);
//! ```
//!
//! Everything generic that a routine calls and that touches vectors must be `#[inline(always)]`: a function left outside the entry is compiled
//! without its target features, and is then correct but tens of times slower.
//!
//! The vector types cannot be named outside this module. Generic code receives them through a routine, hence only where the processor has the
//! instructions; that is why their methods are safe.

#[cfg(target_arch = "x86_64")]
#[macro_use]
mod x86;
#[cfg(target_arch = "x86_64")]
pub(crate) mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod convert;
mod float;
mod int;
mod isa;
pub(crate) mod lines;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(not(target_arch = "aarch64"))]
mod portable;
pub(crate) mod stored;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::{store_first_pd, store_first_ps};
use float::by_lanes;
pub use float::{FloatElem, Vector, VectorMask};
pub use int::Integer;
pub use opforge_tile::{Bits, Float, Int, Mask};

pub use isa::{Entry, Isa, Routine, Simd, resolve, with_isa};
pub(crate) use isa::{Prepared, is_amd};
