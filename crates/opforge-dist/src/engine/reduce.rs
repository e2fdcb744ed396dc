//! The reduction of several ranks' elements, for all engines: they move bytes, and opforge reduces them in the order of ranks. So all ranks, engines
//! and MPI libraries give the same bits, and half precision stays half on the wire.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex;
use opforge_core::{DType, Error, Result};

use super::Reduction;

/// How many elements are reduced at a time: of all ranks together they stay in a cache.
const BLOCK: usize = 1024;

/// Writes the reduction of the ranks' elements, rank by rank from the first to the last. `None` stands for the elements that are in `out`.
/// f16 and bf16 are computed in f32 and rounded once.
///
/// # Errors
/// No ranks, other lengths, memory that is not aligned for the dtype, a reduction that does not take the dtype.
pub(crate) fn reduce(dtype: DType, op: Reduction, ranks: &[Option<&[u8]>], out: &mut [u8]) -> Result<()> {
    if ranks.is_empty() || ranks.iter().flatten().any(|rank| rank.len() != out.len()) {
        let lengths: Vec<usize> = ranks.iter().flatten().map(|rank| rank.len()).collect();
        return Err(Error::shape(
            op.name(),
            "ranks",
            format!("{lengths:?} bytes"),
            format!("{} bytes each", out.len()),
        ));
    }
    match (dtype, op) {
        (DType::Bool | DType::U8, Reduction::Any) => each::<u8>(ranks, out, |a, b| u8::from(a != 0 || b != 0), truth),
        (DType::Bool | DType::U8, Reduction::All) => each::<u8>(ranks, out, |a, b| u8::from(a != 0 && b != 0), truth),
        (DType::Bool, Reduction::Max) => reduce(dtype, Reduction::Any, ranks, out),
        (DType::Bool, Reduction::Min) => reduce(dtype, Reduction::All, ranks, out),
        (DType::U8, _) => int::<u8>(op, ranks, out),
        (DType::U16, _) => int::<u16>(op, ranks, out),
        (DType::U32, _) => int::<u32>(op, ranks, out),
        (DType::U64, _) => int::<u64>(op, ranks, out),
        (DType::I8, _) => int::<i8>(op, ranks, out),
        (DType::I16, _) => int::<i16>(op, ranks, out),
        (DType::I32, _) => int::<i32>(op, ranks, out),
        (DType::I64, _) => int::<i64>(op, ranks, out),
        (DType::F16, _) => half::<f16>(op, ranks, out),
        (DType::BF16, _) => half::<bf16>(op, ranks, out),
        (DType::F32, _) => float::<f32>(op, ranks, out),
        (DType::F64, _) => float::<f64>(op, ranks, out),
        (DType::C64, _) => complex::<f32>(op, ranks, out),
        (DType::C128, _) => complex::<f64>(op, ranks, out),
        (DType::Bool | DType::F8E4M3 | DType::F8E5M2, _) => Err(unsupported(dtype, op)),
    }
}

#[cold]
fn unsupported(dtype: DType, op: Reduction) -> Error {
    Error::UnsupportedDTypeForOp(dtype, op.name())
}

fn truth(byte: u8) -> u8 {
    u8::from(byte != 0)
}

/// Integers, for which sums and products wrap.
trait Wrap: Plain + Ord {
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    const DTYPE: DType;
}

macro_rules! wrap {
    ($($ty:ty => $dtype:ident),*) => {
        $(impl Wrap for $ty {
            #[inline(always)]
            fn sum(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn product(self, other: Self) -> Self { self.wrapping_mul(other) }
            const DTYPE: DType = DType::$dtype;
        })*
    };
}
wrap!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, i8 => I8, i16 => I16, i32 => I32, i64 => I64);

fn int<T: Wrap>(op: Reduction, ranks: &[Option<&[u8]>], out: &mut [u8]) -> Result<()> {
    match op {
        Reduction::Sum => each::<T>(ranks, out, T::sum, |x| x),
        Reduction::Product => each::<T>(ranks, out, T::product, |x| x),
        Reduction::Max => each::<T>(ranks, out, T::max, |x| x),
        Reduction::Min => each::<T>(ranks, out, T::min, |x| x),
        Reduction::Any | Reduction::All => Err(unsupported(T::DTYPE, op)),
    }
}

/// Floats that are computed in their own type.
trait Real: Plain + PartialOrd + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {
    const DTYPE: DType;
}
impl Real for f32 {
    const DTYPE: DType = DType::F32;
}
impl Real for f64 {
    const DTYPE: DType = DType::F64;
}

#[inline(always)]
#[allow(clippy::eq_op)]
fn larger<T: Real>(a: T, b: T) -> T {
    // NaN differs from itself, and is kept.
    if a > b || a != a { a } else { b }
}

#[inline(always)]
#[allow(clippy::eq_op)]
fn smaller<T: Real>(a: T, b: T) -> T {
    if a < b || a != a { a } else { b }
}

fn float<T: Real>(op: Reduction, ranks: &[Option<&[u8]>], out: &mut [u8]) -> Result<()> {
    match op {
        Reduction::Sum => each::<T>(ranks, out, |a, b| a + b, |x| x),
        Reduction::Product => each::<T>(ranks, out, |a, b| a * b, |x| x),
        Reduction::Max => each::<T>(ranks, out, larger, |x| x),
        Reduction::Min => each::<T>(ranks, out, smaller, |x| x),
        Reduction::Any | Reduction::All => Err(unsupported(T::DTYPE, op)),
    }
}

fn complex<T: Part>(op: Reduction, ranks: &[Option<&[u8]>], out: &mut [u8]) -> Result<()>
where
    Complex<T>: Plain + std::ops::Add<Output = Complex<T>> + std::ops::Mul<Output = Complex<T>>,
{
    match op {
        Reduction::Sum => each::<Complex<T>>(ranks, out, |a, b| a + b, |x| x),
        Reduction::Product => each::<Complex<T>>(ranks, out, |a, b| a * b, |x| x),
        _ => Err(unsupported(T::COMPLEX, op)),
    }
}

/// Parts of complex numbers.
trait Part: Copy {
    const COMPLEX: DType;
}
impl Part for f32 {
    const COMPLEX: DType = DType::C64;
}
impl Part for f64 {
    const COMPLEX: DType = DType::C128;
}

/// Types of 16 bits that are computed in f32. Slices of them are converted with the processor's instructions.
trait Half: Plain {
    fn widen(from: &[Self], to: &mut [f32]);
    fn round(from: &[f32], to: &mut [Self]);
    const DTYPE: DType;
}

macro_rules! half {
    ($($ty:ty => $dtype:ident),*) => {
        $(impl Half for $ty {
            fn widen(from: &[Self], to: &mut [f32]) { from.convert_to_f32_slice(to) }
            fn round(from: &[f32], to: &mut [Self]) { to.convert_from_f32_slice(from) }
            const DTYPE: DType = DType::$dtype;
        })*
    };
}
half!(f16 => F16, bf16 => BF16);

fn half<T: Half>(op: Reduction, ranks: &[Option<&[u8]>], out: &mut [u8]) -> Result<()> {
    match op {
        Reduction::Sum => widened::<T>(ranks, out, |a, b| a + b),
        Reduction::Product => widened::<T>(ranks, out, |a, b| a * b),
        Reduction::Max => widened::<T>(ranks, out, larger),
        Reduction::Min => widened::<T>(ranks, out, smaller),
        Reduction::Any | Reduction::All => Err(unsupported(T::DTYPE, op)),
    }
}

/// Reduces in f32, and rounds once.
#[inline(always)]
fn widened<T: Half>(ranks: &[Option<&[u8]>], out: &mut [u8], combine: impl Fn(f32, f32) -> f32) -> Result<()> {
    let (ranks, out) = typed::<T>(ranks, out)?;
    let (mut wide, mut next) = ([0f32; BLOCK], [0f32; BLOCK]);
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let (wide, next) = (&mut wide[..out.len()], &mut next[..out.len()]);
        for (number, rank) in ranks.iter().enumerate() {
            let rank = rank.map_or(&*out, |rank| &rank[block * BLOCK..][..wide.len()]);
            if number == 0 {
                T::widen(rank, wide);
                continue;
            }
            T::widen(rank, next);
            wide.iter_mut().zip(&*next).for_each(|(wide, &x)| *wide = combine(*wide, x));
        }
        T::round(wide, out);
    }
    Ok(())
}

/// Reduces in the elements' own type; `first` is what the first rank's elements become.
#[inline(always)]
fn each<T: Plain>(
    ranks: &[Option<&[u8]>],
    out: &mut [u8],
    combine: impl Fn(T, T) -> T,
    first: impl Fn(T) -> T,
) -> Result<()> {
    let (ranks, out) = typed::<T>(ranks, out)?;
    let in_place = ranks.iter().any(Option::is_none);
    let mut own = Vec::with_capacity(BLOCK);
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        if in_place {
            own.clear();
            own.extend_from_slice(out);
        }
        for (number, rank) in ranks.iter().enumerate() {
            let rank = rank.map_or(&own[..], |rank| &rank[block * BLOCK..][..out.len()]);
            match number {
                0 => out.iter_mut().zip(rank).for_each(|(out, &x)| *out = first(x)),
                _ => out.iter_mut().zip(rank).for_each(|(out, &x)| *out = combine(*out, x)),
            }
        }
    }
    Ok(())
}

/// Types for which any bytes are a value.
///
/// # Safety
/// Only for types without padding and without bytes that are no value.
unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($ty:ty),*) => {
        // SAFETY: integers, floats and pairs of floats (`repr(C)`) have neither padding nor invalid bytes; f16 and bf16 are u16 (`repr(transparent)`).
        $(unsafe impl Plain for $ty {})*
    };
}
plain!(u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64, Complex<f32>, Complex<f64>);

/// The elements of each rank.
type Elements<'a, T> = Vec<Option<&'a [T]>>;

/// Bytes as elements.
fn typed<'a, T: Plain>(ranks: &[Option<&'a [u8]>], out: &'a mut [u8]) -> Result<(Elements<'a, T>, &'a mut [T])> {
    let misaligned =
        || Error::value("reduce", "memory", "not aligned", format!("aligned to {} bytes", align_of::<T>()));
    let elements = |bytes: &'a [u8]| {
        // SAFETY: any bytes are elements of a plain type.
        let (before, elements, after) = unsafe { bytes.align_to::<T>() };
        if before.is_empty() && after.is_empty() { Ok(elements) } else { Err(misaligned()) }
    };
    let ranks = ranks.iter().map(|rank| rank.map(elements).transpose()).collect::<Result<Vec<_>>>()?;
    // SAFETY: any bytes are elements of a plain type.
    let (before, out, after) = unsafe { out.align_to_mut::<T>() };
    if before.is_empty() && after.is_empty() { Ok((ranks, out)) } else { Err(misaligned()) }
}

#[cfg(test)]
mod tests;
