//! Casts from any dtype to any other.

use std::marker::PhantomData;
use std::sync::Arc;

use num_complex::Complex;
use opforge_core::{DType, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;

use super::kernel::Spec;
use super::scalar::{ScalarMap, ScalarStep};
use super::step::{self, Step};
use crate::copy::Shared;
use crate::loops::work::GRAIN;
use crate::memory::Truth;

const PICOSECONDS: usize = 150;

#[derive(PartialEq, Eq)]
enum Kind {
    Integer,
    Float,
    Other,
}

/// A type to cast from and to, by way of the widest type of its kind; the compiler merges the two conversions.
trait Value: Copy + Send + Sync + 'static {
    const KIND: Kind;
    fn cast<T: Value>(self) -> T;
    fn from_i64(v: i64) -> Self;
    fn from_u64(v: u64) -> Self;
    fn from_f32(v: f32) -> Self;
    fn from_f64(v: f64) -> Self;
    fn from_complex(re: f64, im: f64) -> Self;
}

/// Numbers convert to numbers as `as` does: integers wrap, floats truncate and saturate, NaN gives 0.
macro_rules! real {
    ($($kind:ident $ty:ty => $via:ident $wide:ty, $from_f32:expr, $from_f64:expr);*) => {
        $(#[allow(clippy::unnecessary_cast)]
        impl Value for $ty {
            const KIND: Kind = Kind::$kind;
            #[inline(always)]
            fn cast<T: Value>(self) -> T { T::$via(self as $wide) }
            #[inline(always)]
            fn from_i64(v: i64) -> Self { v as $ty }
            #[inline(always)]
            fn from_u64(v: u64) -> Self { v as $ty }
            #[inline(always)]
            fn from_f32(v: f32) -> Self { ($from_f32)(v) }
            #[inline(always)]
            fn from_f64(v: f64) -> Self { ($from_f64)(v) }
            #[inline(always)]
            fn from_complex(re: f64, _: f64) -> Self { re as $ty }
        })*
    };
}

/// A float, truncated and saturated as `as` does it, by what processors have instructions for: `as` makes a branch for each element of a loop.
macro_rules! truncate {
    ($float:ty, $ty:ty, $int:ty) => {
        |v: $float| {
            // Rounded up where the float has fewer bits than the integer.
            const END: $float = <$ty>::MAX as $float;
            const ROUNDED_UP: bool = END as i128 > <$ty>::MAX as i128;
            const LOW: $float = <$ty>::MIN as $float;
            const HIGH: $float = if ROUNDED_UP { END.next_down() } else { END };
            // Comparisons that are false for NaN, as the instructions' are.
            let within = if v > LOW { v } else { LOW };
            let within = if within < HIGH { within } else { HIGH };
            // SAFETY: no NaN, and within the range of `$ty`, which `$int` holds.
            let whole = unsafe { within.to_int_unchecked::<$int>() } as $ty;
            let whole = if ROUNDED_UP && v >= END { <$ty>::MAX } else { whole };
            if v.is_nan() { 0 } else { whole }
        }
    };
}
real! {
    Integer u8 => from_u64 u64, truncate!(f32, u8, i32), truncate!(f64, u8, i32);
    Integer u16 => from_u64 u64, truncate!(f32, u16, i32), truncate!(f64, u16, i32);
    Integer u32 => from_u64 u64, |v| v as u32, |v| v as u32;
    Integer u64 => from_u64 u64, |v| v as u64, |v| v as u64;
    Integer i8 => from_i64 i64, truncate!(f32, i8, i32), truncate!(f64, i8, i32);
    Integer i16 => from_i64 i64, truncate!(f32, i16, i32), truncate!(f64, i16, i32);
    Integer i32 => from_i64 i64, truncate!(f32, i32, i32), truncate!(f64, i32, i32);
    Integer i64 => from_i64 i64, truncate!(f32, i64, i64), truncate!(f64, i64, i64);
    Float f32 => from_f32 f32, |v| v, |v| v as f32;
    Float f64 => from_f64 f64, f64::from, |v| v
}

macro_rules! complex {
    ($($part:ty),*) => {
        $(#[allow(clippy::unnecessary_cast)]
        impl Value for Complex<$part> {
            const KIND: Kind = Kind::Other;
            #[inline(always)]
            fn cast<T: Value>(self) -> T { T::from_complex(self.re as f64, self.im as f64) }
            #[inline(always)]
            fn from_i64(v: i64) -> Self { Complex::new(v as $part, 0.0) }
            #[inline(always)]
            fn from_u64(v: u64) -> Self { Complex::new(v as $part, 0.0) }
            #[inline(always)]
            fn from_f32(v: f32) -> Self { Complex::new(v as $part, 0.0) }
            #[inline(always)]
            fn from_f64(v: f64) -> Self { Complex::new(v as $part, 0.0) }
            #[inline(always)]
            fn from_complex(re: f64, im: f64) -> Self { Complex::new(re as $part, im as $part) }
        })*
    };
}
complex!(f32, f64);

/// True for whatever differs from zero, NaN included.
impl Value for Truth {
    const KIND: Kind = Kind::Other;
    #[inline(always)]
    fn cast<T: Value>(self) -> T {
        T::from_u64(self.is().into())
    }
    #[inline(always)]
    fn from_i64(v: i64) -> Self {
        Truth((v != 0).into())
    }
    #[inline(always)]
    fn from_u64(v: u64) -> Self {
        Truth((v != 0).into())
    }
    #[inline(always)]
    fn from_f32(v: f32) -> Self {
        Truth((v != 0.0).into())
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        Truth((v != 0.0).into())
    }
    #[inline(always)]
    fn from_complex(re: f64, im: f64) -> Self {
        Truth((re != 0.0 || im != 0.0).into())
    }
}

#[derive(Clone, Copy)]
struct Convert<From, To>(PhantomData<(From, To)>);

impl<From: Value, To: Value> ScalarMap<1> for Convert<From, To> {
    type In = From;
    type Out = To;
    /// Integers of 64 bits from floats, and narrow ones from wider.
    const AVX512: bool = matches!((From::KIND, To::KIND), (Kind::Float, Kind::Integer));
    #[inline(always)]
    fn map(&self, [x]: [From; 1]) -> To {
        x.cast()
    }
}

/// Evaluates an expression with `$t` as the type that elements of a dtype are computed in.
macro_rules! with_value {
    ($dtype:expr, $t:ident => $expr:expr) => {{
        macro_rules! arm {
            ($ty:ty) => {{
                type $t = $ty;
                $expr
            }};
        }
        match $dtype {
            DType::Bool => arm!(Truth),
            DType::U8 => arm!(u8),
            DType::U16 => arm!(u16),
            DType::U32 => arm!(u32),
            DType::U64 => arm!(u64),
            DType::I8 => arm!(i8),
            DType::I16 => arm!(i16),
            DType::I32 => arm!(i32),
            DType::I64 => arm!(i64),
            DType::F8E4M3 | DType::F8E5M2 | DType::F16 | DType::BF16 | DType::F32 => arm!(f32),
            DType::F64 => arm!(f64),
            DType::C64 => arm!(Complex<f32>),
            DType::C128 => arm!(Complex<f64>),
        }
    }};
}

fn step_from<From: Value>(to: DType) -> Step<1> {
    with_value!(to, To => Step::new(ScalarStep(Convert::<From, To>(PhantomData))))
}

/// The kernel that converts every element to the output's dtype.
///
/// Integers wrap; floats truncate and saturate to integers, with NaN as 0; bool is whether the value differs from 0; complex numbers lose their
/// imaginary part. Floats of 8 and 16 bits go through f32.
///
/// # Errors
/// Shapes that differ; an output that overlaps itself.
pub fn cast(op: &'static str, input: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    if input.dtype == output.dtype {
        return crate::copy::copy(op, input, output);
    }
    if let Some(kernel) = small(input, output) {
        return Ok(kernel);
    }
    let step = with_value!(input.dtype, From => step_from::<From>(output.dtype));
    Spec { op, step, widen: true, ps: PICOSECONDS, failure: None }.kernel([input], output)
}

/// The kernel between f32 and smaller floats where both are contiguous: the conversion that other kernels' tiles begin or end with, alone.
fn small(input: &Meta, output: &Meta) -> Option<Arc<dyn HostKernel>> {
    let convert = match (input.dtype, output.dtype) {
        (DType::F32, small) => step::Convert::output(small),
        (small, DType::F32) => step::Convert::input(small),
        _ => None,
    }?;
    let plain = input.layout.is_contiguous() && output.layout.is_contiguous() && input.dims() == output.dims();
    let [from, to] = [input, output].map(|meta| meta.dtype.size_in_bytes());
    plain.then(|| Arc::new(Small { convert, len: input.elem_count(), from, to }) as Arc<dyn HostKernel>)
}

struct Small {
    convert: step::Convert,
    len: usize,
    /// Bytes of an element here and there.
    from: usize,
    to: usize,
}

impl HostKernel for Small {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (src, dst) = (Shared(inputs[0]), Shared(outputs[0]));
        parallel_for(self.len, GRAIN, |range| {
            let (from, to) =
                (src.get().wrapping_add(range.start * self.from), dst.get().wrapping_add(range.start * self.to));
            // SAFETY: the range is within the `len` contiguous elements of both sides, and ranges are disjoint.
            unsafe { self.convert.run(from, to, range.len()) };
        });
        Ok(())
    }

    fn cost(&self) -> u64 {
        5 + self.len as u64 / 4
    }
}
