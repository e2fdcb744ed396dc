//! Ranges: `start + i step`.

use std::sync::Arc;

use opforge_core::{Error, Kind, Meta, Result, Scalar, WithDType};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;

use crate::copy::Shared;
use crate::loops::work::GRAIN;

/// The kernel, without inputs, whose output's element `i` is `start + i * step`.
///
/// Of integers it is computed in integers, wrapping to the dtype; else in f64, rounded once.
///
/// # Errors
/// Bool and complex numbers; complex arguments; an output that is not contiguous.
pub fn arange(op: &'static str, start: Scalar, step: Scalar, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    if !output.layout.is_contiguous() {
        return Err(Error::shape(op, "output", format!("{:?}", output.layout), "a contiguous layout"));
    }
    let kind = start.kind().max(step.kind());
    if kind == Kind::Complex {
        return Err(Error::value(op, "start, step", format!("{start}, {step}"), "real numbers"));
    }
    let fill: Fill = match output.dtype.size_in_bytes() {
        _ if kind == Kind::Float || !output.dtype.is_int() => by_number!(op, output.dtype, T => floats::<T>),
        1 => integers::<u8>,
        2 => integers::<u16>,
        4 => integers::<u32>,
        _ => integers::<u64>,
    };
    Ok(Arc::new(Arange { start, step, len: output.elem_count(), fill }))
}

/// Fills `n` elements from index `first` on.
type Fill = unsafe fn(start: Scalar, step: Scalar, first: usize, at: *mut u8, n: usize);

struct Arange {
    start: Scalar,
    step: Scalar,
    len: usize,
    fill: Fill,
}

impl HostKernel for Arange {
    unsafe fn run(&self, _: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let out = Shared(outputs[0]);
        parallel_for(self.len, GRAIN, |range| {
            // SAFETY: ranges are disjoint parts of the output.
            unsafe { (self.fill)(self.start, self.step, range.start, out.get(), range.len()) };
        });
        Ok(())
    }

    fn cost(&self) -> u64 {
        10 + self.len as u64
    }
}

/// Elements that are computed from a common first: as many multiples of the step are known.
const BLOCK: usize = 64;

/// The integers, signed or not, of one size: all of them wrap, and what is cut off of a wider one does not change the rest.
trait Truncate: Copy {
    /// The lowest bits.
    fn truncate(value: i64) -> Self;
    fn plus(self, other: Self) -> Self;
}

macro_rules! truncate {
    ($($ty:ty),*) => {
        $(impl Truncate for $ty {
            fn truncate(value: i64) -> Self { value as $ty }
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
        })*
    };
}
truncate!(u8, u16, u32, u64);

/// # Safety
/// `at` points to the first element of a tensor of `T` that has these elements.
unsafe fn integers<T: Truncate>(start: Scalar, step: Scalar, first: usize, at: *mut u8, n: usize) {
    let (start, step) = (start.to_i64(), step.to_i64());
    let multiples: [T; BLOCK] = std::array::from_fn(|i| T::truncate(step.wrapping_mul(i as i64)));
    // SAFETY: the tensor has the elements, which are written before anything is read.
    let elements = unsafe { std::slice::from_raw_parts_mut(at.cast::<T>().add(first), n) };
    for (block, elements) in elements.chunks_mut(BLOCK).enumerate() {
        let begin = T::truncate(start.wrapping_add(step.wrapping_mul((first + block * BLOCK) as i64)));
        elements.iter_mut().zip(&multiples).for_each(|(element, multiple)| *element = begin.plus(*multiple));
    }
}

/// # Safety
/// As [`integers`].
unsafe fn floats<T: WithDType>(start: Scalar, step: Scalar, first: usize, at: *mut u8, n: usize) {
    let (start, step) = (start.to_f64(), step.to_f64());
    let numbers: [f64; BLOCK] = std::array::from_fn(|i| i as f64);
    // SAFETY: the tensor of `T` has the elements, which are written before anything is read.
    let elements = unsafe { std::slice::from_raw_parts_mut(at.cast::<T>().add(first), n) };
    for (block, elements) in elements.chunks_mut(BLOCK).enumerate() {
        // Whole numbers: their sums are exact.
        let begin = (first + block * BLOCK) as f64;
        for (element, number) in elements.iter_mut().zip(&numbers) {
            *element = T::from_f64(start + (begin + number) * step);
        }
    }
}
