//! Random tensors. An element depends only on the seed, the offset and its index, hence not on the number of threads.
//!
//! The kernels' first input, and but for Poisson's rates and what drops out the only one, is the key: a `u64` tensor `[seed, offset]`. Different offsets are independent streams, so a caller numbers its
//! draws. Outputs are contiguous; one that is a part of a tensor gets what the whole has there.

pub(crate) mod draw;
mod dropout;
pub(crate) mod philox;
mod poisson;
mod target;

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use opforge_core::{DType, Element, Error, Meta, Result, Scalar, WithDType, bf16, f16};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;

use crate::copy::Shared;
use crate::simd::convert::{NarrowBf16, NarrowF16};
use crate::simd::{Entry, Isa, Routine, Simd, resolve};
pub use dropout::dropout;
pub use poisson::poisson;
pub use target::Target;

use draw::{Bernoulli, Draw, GROUP, Integers, Normal, Uniform};
use philox::{Blocks, LANES};
use target::Runs;

/// The kernel that fills a float tensor uniformly from `[low, high)`; from `low` alone if they are equal.
///
/// f64 has 53 random bits, the others 24. In f16 and bf16 values are rounded, but never up to `high`.
///
/// # Errors
/// Bounds that are not finite, in the wrong order or too far apart; a dtype that is not a float; a wrong key or output.
pub fn uniform<'a>(
    op: &'static str,
    low: f64,
    high: f64,
    key: &Meta,
    target: impl Into<Target<'a>>,
) -> Result<Arc<dyn HostKernel>> {
    let (output, runs) = check(op, key, target.into())?;
    if !(low <= high && (high - low).is_finite()) {
        return Err(Error::value(op, "low, high", format!("{low}, {high}"), "finite bounds in order"));
    }
    match output.dtype {
        DType::F16 => single::<f16>(op, low, high, output, runs),
        DType::BF16 => single::<bf16>(op, low, high, output, runs),
        DType::F32 => single::<f32>(op, low, high, output, runs),
        DType::F64 => {
            let top = if low < high { high.next_down() } else { high };
            Ok(Random::<_, f64>::kernel(Uniform { low, width: high - low, top }, output, runs))
        }
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

/// A uniform distribution of a type that is computed in f32.
fn single<T: Output<f32> + WithDType + NextDown>(
    op: &'static str,
    low: f64,
    high: f64,
    output: &Meta,
    runs: Runs,
) -> Result<Arc<dyn HostKernel>> {
    let width = (high - low) as f32;
    if !(low as f32).is_finite() || !width.is_finite() || !T::from_f64(high).to_f64().is_finite() {
        return Err(Error::value(op, "low, high", format!("{low}, {high}"), format!("bounds within {}", T::DTYPE)));
    }
    let nearest = T::from_f64(high);
    let top = if low < high && nearest.to_f64() >= high { nearest.next_down() } else { nearest };
    let top = (top.to_f64() as f32).max(low as f32);
    Ok(Random::<_, T>::kernel(Uniform { low: low as f32, width, top }, output, runs))
}

trait NextDown {
    /// The next smaller number.
    fn next_down(self) -> Self;
}

impl NextDown for f32 {
    fn next_down(self) -> Self {
        f32::next_down(self)
    }
}

macro_rules! next_down_of_half {
    ($($ty:ty),*) => {
        $(impl NextDown for $ty {
            fn next_down(self) -> Self {
                const SIGN: u16 = 0x8000;
                match self.to_bits() {
                    0 | SIGN => Self::from_bits(SIGN + 1),
                    bits if bits < SIGN => Self::from_bits(bits - 1),
                    bits => Self::from_bits(bits + 1),
                }
            }
        })*
    };
}
next_down_of_half!(f16, bf16);

/// The kernel that fills a float tensor from the normal distribution.
///
/// # Errors
/// A mean or deviation that is not finite; a negative deviation; a dtype that is not a float; a wrong key or output.
pub fn normal<'a>(
    op: &'static str,
    mean: f64,
    std: f64,
    key: &Meta,
    target: impl Into<Target<'a>>,
) -> Result<Arc<dyn HostKernel>> {
    let (output, runs) = check(op, key, target.into())?;
    if !(mean.is_finite() && std.is_finite() && std >= 0.0) {
        return Err(Error::value(op, "mean, std", format!("{mean}, {std}"), "finite numbers, std not negative"));
    }
    let draw = Normal { mean: mean as f32, std: std as f32 };
    match output.dtype {
        DType::F16 => Ok(Random::<_, f16>::kernel(draw, output, runs)),
        DType::BF16 => Ok(Random::<_, bf16>::kernel(draw, output, runs)),
        DType::F32 => Ok(Random::<_, f32>::kernel(draw, output, runs)),
        DType::F64 => Ok(Random::<_, f64>::kernel(Normal { mean, std }, output, runs)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

/// The kernel that fills a tensor with ones, of probability `p` to within 2^-32, and zeros.
///
/// # Errors
/// A probability outside of 0 to 1; complex numbers, and dtypes that are only stored; a wrong key or output.
pub fn bernoulli<'a>(
    op: &'static str,
    p: f64,
    key: &Meta,
    target: impl Into<Target<'a>>,
) -> Result<Arc<dyn HostKernel>> {
    multiples(op, p, 1.0, key, target.into())
}

/// As [`bernoulli`], with another number in place of ones.
fn multiples(op: &'static str, p: f64, of: f64, key: &Meta, target: Target<'_>) -> Result<Arc<dyn HostKernel>> {
    let (output, runs) = check(op, key, target)?;
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::value(op, "p", p, "a probability from 0 to 1"));
    }
    let threshold = (p * (1u64 << 32) as f64).round() as u64;
    // Zeros are alike, so that only the width of an element and the bits of a one matter.
    let one = match output.dtype {
        DType::F16 => f16::from_f64(of).to_bits().into(),
        DType::BF16 => bf16::from_f64(of).to_bits().into(),
        DType::F32 => (of as f32).to_bits().into(),
        DType::F64 => of.to_bits(),
        dtype if dtype.is_complex() || dtype.is_storage_only() => {
            return Err(Error::UnsupportedDTypeForOp(dtype, op));
        }
        _ => of as u64,
    };
    Ok(match output.dtype.size_in_bytes() {
        1 => Random::<_, u8>::kernel(Bernoulli { threshold, one: one as u8 }, output, runs),
        2 => Random::<_, u16>::kernel(Bernoulli { threshold, one: one as u16 }, output, runs),
        4 => Random::<_, u32>::kernel(Bernoulli { threshold, one: one as u32 }, output, runs),
        _ => Random::<_, u64>::kernel(Bernoulli { threshold, one }, output, runs),
    })
}

/// The kernel that fills a tensor with integers from `[low, high)`.
///
/// # Errors
/// An empty range, or one beyond the dtype's; bool and complex numbers; a wrong key or output.
pub fn randint<'a>(
    op: &'static str,
    low: i64,
    high: i64,
    key: &Meta,
    target: impl Into<Target<'a>>,
) -> Result<Arc<dyn HostKernel>> {
    let (output, runs) = check(op, key, target.into())?;
    let dtype = output.dtype;
    if !dtype.is_int() && !dtype.is_float() {
        return Err(Error::UnsupportedDTypeForOp(dtype, op));
    }
    if low >= high || !Scalar::Int(low).fits(dtype) || !Scalar::Int(high - 1).fits(dtype) {
        let accepted = format!("low < high, within {dtype}");
        return Err(Error::value(op, "low, high", format!("{low}, {high}"), accepted));
    }
    let count = high.wrapping_sub(low) as u64;
    // Integers of one width have the same low bits, with a sign or without.
    Ok(match (dtype, dtype.size_in_bytes()) {
        (DType::F16, _) => integers(low, count, |i| f16::from_scalar(Scalar::Int(i)), output, runs),
        (DType::BF16, _) => integers(low, count, |i| bf16::from_scalar(Scalar::Int(i)), output, runs),
        (DType::F32, _) => integers(low, count, |i| i as f32, output, runs),
        (DType::F64, _) => integers(low, count, |i| i as f64, output, runs),
        (_, 1) => integers(low, count, |i| i as u8, output, runs),
        (_, 2) => integers(low, count, |i| i as u16, output, runs),
        (_, 4) => integers(low, count, |i| i as u32, output, runs),
        _ => integers(low, count, |i| i as u64, output, runs),
    })
}

fn integers<T: Element>(low: i64, count: u64, convert: fn(i64) -> T, output: &Meta, runs: Runs) -> Arc<dyn HostKernel> {
    Random::<_, T>::kernel(Integers { low, count, convert }, output, runs)
}

/// The output, and which elements of the whole it has.
fn check<'a>(op: &'static str, key: &Meta, target: Target<'a>) -> Result<(&'a Meta, Runs)> {
    let output = target.meta;
    if key.dtype != DType::U64 {
        return Err(Error::dtype(op, "key", key.dtype, DType::U64));
    }
    if key.dims() != [2] || !key.layout.is_contiguous() {
        return Err(Error::shape(op, "key", format!("{:?}", key.layout), "[2], contiguous"));
    }
    if !output.layout.is_contiguous() {
        return Err(Error::shape(op, "output", format!("{:?}", output.layout), "a contiguous layout"));
    }
    Ok((output, target.runs(op)?))
}

/// A type that values of `V` are stored as.
trait Output<V>: Copy + Send + Sync + 'static {
    /// # Safety
    /// `at` is writable for the values, and the processor supports `S::ISA`.
    unsafe fn put<S: Simd>(values: &[V], at: *mut Self);
}

impl<T: Copy + Send + Sync + 'static> Output<T> for T {
    #[inline(always)]
    unsafe fn put<S: Simd>(values: &[T], at: *mut T) {
        // SAFETY: `at` is writable for as many values, which the borrowed ones are no part of.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), at, values.len()) }
    }
}

impl Output<f32> for f16 {
    #[inline(always)]
    unsafe fn put<S: Simd>(values: &[f32], at: *mut f16) {
        // SAFETY: `at` is writable for the values; the processor supports `S::ISA`.
        unsafe { NarrowF16.run::<S>((values.as_ptr(), at, values.len())) }
    }
}

impl Output<f32> for bf16 {
    #[inline(always)]
    unsafe fn put<S: Simd>(values: &[f32], at: *mut bf16) {
        // SAFETY: one bf16 is written for each value, for which `at` has room; the processor supports `S::ISA`.
        unsafe { NarrowBf16.run::<S>((values.as_ptr(), at, values.len())) }
    }
}

/// Fills a tensor of `T` with draws. Element `i` of the whole comes from group `i / COUNT` of blocks.
struct Random<D: Draw, T: Output<D::Value>> {
    len: usize,
    fill: Entry<Fill<D, T>>,
    draw: Fill<D, T>,
}

impl<D: Draw, T: Output<D::Value>> Random<D, T> {
    fn kernel(draw: D, output: &Meta, runs: Runs) -> Arc<dyn HostKernel> {
        let draw = Fill { draw, runs, output: PhantomData };
        Arc::new(Random { len: output.elem_count(), fill: resolve::<Fill<D, T>>(Isa::current()), draw })
    }
}

impl<D: Draw, T: Output<D::Value>> HostKernel for Random<D, T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: the key holds two numbers.
        let key = unsafe { inputs[0].cast::<[u64; 2]>().read() };
        let out = Shared(outputs[0].cast::<T>());
        parallel_for(self.len.div_ceil(D::COUNT), (1 << 14) / D::COUNT, |groups| {
            let elements = groups.start * D::COUNT..self.len.min(groups.end * D::COUNT);
            // SAFETY: ranges are disjoint parts of the output; the function was resolved for this CPU.
            unsafe { (self.fill)(&self.draw, (key, elements, out.get())) };
        });
        Ok(())
    }

    fn cost(&self) -> u64 {
        20 + 2 * self.len as u64
    }
}

struct Fill<D, T> {
    draw: D,
    /// The places of the output's elements in the whole.
    runs: Runs,
    output: PhantomData<fn() -> T>,
}

impl<D: Draw, T: Output<D::Value>> Routine for Fill<D, T> {
    /// Seed and offset, the elements to fill, the first element of the output.
    type Args = ([u64; 2], Range<usize>, *mut T);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, ([seed, offset], elements, out): Self::Args) {
        let mut words = [[0; LANES]; 4];
        let mut values = [D::Value::default(); GROUP];
        // Short runs share groups.
        let (mut at, mut drawn) = (elements.start, None);
        while at < elements.end {
            let (place, left) = self.runs.place(at);
            let (group, first) = ((place / D::COUNT) as u64, place % D::COUNT);
            if drawn != Some(group) {
                // SAFETY: there is room for the words, and the processor supports the level.
                unsafe { S::call(&Blocks, (seed, offset, group * LANES as u64, &raw mut words)) };
                self.draw.draw(&words, &mut values);
                drawn = Some(group);
            }
            let count = (D::COUNT - first).min(left).min(elements.end - at);
            // SAFETY: within the elements that the caller vouches for.
            unsafe { T::put::<S>(&values[first..first + count], out.add(at)) };
            at += count;
        }
    }
}
