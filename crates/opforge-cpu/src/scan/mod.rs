//! Running sums, products and extremes along an axis.

pub(crate) mod halves;
mod long;

use std::hint::select_unpredictable;
use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;
use opforge_tile::forms::{self as form, Extreme, Scan};

use crate::copy::{Axis, Nest, Shared, byte_steps, check_output};
use crate::loops::work::{LOOK, grain, look_again};
use crate::memory::Truth;
use long::{LongSums, is_long};

/// Rows that are walked side by side, at most.
const LANES: usize = 16;
/// Those of rows whose elements lie closer to each other than rows do: more would compete for the same lines of the cache.
const FAR_LANES: usize = 4;
/// Rows whose places are sought side by side: a result and its place stay in registers.
const PLACES: usize = 4;

/// The kernel for `output[.., i, ..]`, `i` along `axis`, that combines `input[.., 0, ..]` to `input[.., i, ..]`.
///
/// Results are formed in order, those of floats in f64; integers wrap. The output is of the input's dtype, and may be the input itself; for places it is
/// I64.
///
/// # Errors
/// Shape or dtype mismatch, an axis beyond the rank, complex numbers; bool but for places.
pub fn scan(
    op: &'static str,
    Scan { running, axis }: Scan,
    input: &Meta,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    if matches!(running, form::Running::Place(_)) {
        if output.dtype != DType::I64 || output.layout.may_overlap_itself() {
            return Err(Error::dtype(op, "output", output.dtype, "i64, each element in memory of its own"));
        }
    } else {
        check_output(op, input, output)?;
    }
    let (rows, along) = loops(op, input, axis, output)?;
    let run: Run = match (running, input.dtype) {
        (form::Running::Sum, dtype) => by_number!(op, dtype, T => run_of::<T, Sums>(along)),
        (form::Running::Product, dtype) => by_number!(op, dtype, T => run::<T, Products>),
        (form::Running::LogSumExp, DType::F16) => run::<f16, LogSums>,
        (form::Running::LogSumExp, DType::BF16) => run::<bf16, LogSums>,
        (form::Running::LogSumExp, DType::F32) => run::<f32, LogSums>,
        (form::Running::LogSumExp, DType::F64) => run::<f64, LogSums>,
        (form::Running::LogSumExp, other) => return Err(Error::UnsupportedDTypeForOp(other, op)),
        (form::Running::Place(Extreme::Max), DType::Bool) => run_arg::<Truth, false>,
        (form::Running::Place(Extreme::Min), DType::Bool) => run_arg::<Truth, true>,
        (form::Running::Place(Extreme::Max), dtype) => by_number!(op, dtype, T => run_arg::<T, false>),
        (form::Running::Place(Extreme::Min), dtype) => by_number!(op, dtype, T => run_arg::<T, true>),
    };
    // Sums of f64 have no wider type.
    if running == form::Running::Sum && input.dtype != DType::F64 && is_long(&rows, along) {
        return Ok(by_number!(op, input.dtype, T => Arc::new(LongSums::<T> { rows, along, element: PhantomData })));
    }
    Ok(prepare(rows, along, run))
}

/// The loops over rows, and that along them.
fn loops(op: &'static str, input: &Meta, axis: usize, output: &Meta) -> Result<(Nest<2>, Axis<2>)> {
    if input.dims() != output.dims() || axis >= input.rank() {
        let accepted = format!("equal shapes that have dim {axis}");
        return Err(Error::shapes(op, input.shape(), output.shape(), accepted));
    }
    let steps = byte_steps(input).zip(byte_steps(output));
    let mut axes: Vec<Axis<2>> =
        input.dims().iter().zip(steps).map(|(&len, (src, dst))| Axis { len, step: [src, dst] }).collect();
    let along = axes.remove(axis);
    Ok((Nest::collapse(axes.into_iter()), along))
}

fn prepare(mut nest: Nest<2>, along: Axis<2>, run: Run) -> Arc<dyn HostKernel> {
    let lanes = nest.axes.pop().unwrap_or(Axis { len: 1, step: [0, 0] });
    // Of short rows even many are next to each other.
    let far = along.step[0].abs() < lanes.step[0].abs() && along.len > LANES;
    let together = if far { FAR_LANES } else { LANES };
    Arc::new(ScanKernel { nest, lanes, along, together, run })
}

/// Walks `n` lanes, at most [`LANES`], at the addresses of their first elements.
type Run = unsafe fn(lanes: Axis<2>, n: usize, along: Axis<2>, src: *const u8, dst: *mut u8);

struct ScanKernel {
    nest: Nest<2>,
    /// The innermost loop over rows.
    lanes: Axis<2>,
    /// The loop over a row's elements.
    along: Axis<2>,
    /// Rows that are walked side by side.
    together: usize,
    run: Run,
}

impl HostKernel for ScanKernel {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (src, dst) = (Shared(inputs[0]), Shared(outputs[0]));
        let parts = self.lanes.len.div_ceil(self.together);
        let work = |range| {
            self.nest.for_each_part(parts, range, |offset, part| {
                let first = part * self.together;
                let n = self.together.min(self.lanes.len - first);
                let at = |t: usize| offset[t] + first as isize * self.lanes.step[t];
                // SAFETY: offsets are within the tensors; parts write disjoint elements.
                unsafe { (self.run)(self.lanes, n, self.along, src.get().offset(at(0)), dst.get().offset(at(1))) };
            });
        };
        parallel_for(self.nest.count() * parts, grain(self.together * self.along.len), work);
        Ok(())
    }

    fn cost(&self) -> u64 {
        20 + (self.nest.count() * self.lanes.len * self.along.len) as u64
    }
}

/// # Safety
/// `src` is readable and `dst` writable for all elements of `n` lanes.
unsafe fn run<T: Running, C: Combine<T> + Combine<f64>>(
    lanes: Axis<2>,
    n: usize,
    along: Axis<2>,
    src: *const u8,
    dst: *mut u8,
) {
    let mut lane = 0;
    while lane < n {
        let at = lane as isize;
        // SAFETY: `n` lanes are valid from the pointers on, each for a walk along its elements.
        unsafe {
            let (src, dst) = (src.offset(at * lanes.step[0]), dst.offset(at * lanes.step[1]));
            lane += match n - lane {
                LANES.. => {
                    T::walk::<C, LANES>([start::<T, C>(); LANES], lanes, along, src, dst);
                    LANES
                }
                FAR_LANES.. => {
                    T::walk::<C, FAR_LANES>([start::<T, C>(); FAR_LANES], lanes, along, src, dst);
                    FAR_LANES
                }
                _ => {
                    T::walk::<C, 1>([start::<T, C>()], lanes, along, src, dst);
                    1
                }
            };
        }
    }
}

/// The walk over lanes of that many elements.
fn run_of<T: Running, C: Combine<T> + Combine<f64>>(along: Axis<2>) -> Run {
    match along.len {
        _ if T::SIDE_BY_SIDE || along.step != [size_of::<T>() as isize; 2] => run::<T, C>,
        2 => run_short::<T, C, 2>,
        3 => run_short::<T, C, 3>,
        4 => run_short::<T, C, 4>,
        5 => run_short::<T, C, 5>,
        6 => run_short::<T, C, 6>,
        7 => run_short::<T, C, 7>,
        8 => run_short::<T, C, 8>,
        _ => run::<T, C>,
    }
}

/// [`run`] of lanes of a constant number of elements that lie next to each other: they are read and written at once.
///
/// # Safety
/// As [`run`].
unsafe fn run_short<T: Running, C: Combine<T>, const LEN: usize>(
    lanes: Axis<2>,
    n: usize,
    _along: Axis<2>,
    src: *const u8,
    dst: *mut u8,
) {
    for lane in 0..n as isize {
        // SAFETY: the lane's elements are contiguous on both sides.
        unsafe {
            let row = src.offset(lane * lanes.step[0]).cast::<[T; LEN]>().read_unaligned();
            let mut result = start::<T, C>();
            let results = row.map(
                #[inline(always)]
                |x| {
                    result = C::combine(result, x.widen());
                    T::round(result)
                },
            );
            dst.offset(lane * lanes.step[1]).cast::<[T; LEN]>().write_unaligned(results);
        }
    }
}

fn start<T: Running, C: Combine<T>>() -> T::Wide {
    C::START
}

/// Calls `body` with the numbers below `len`; now and then it looks whether the walk is to stop. Two loops: an iterator over both is
/// slower. `body` must be `#[inline(always)]`.
#[inline(always)]
fn looking(len: usize, mut body: impl FnMut(isize)) {
    for first in (0..len).step_by(LOOK) {
        look_again(first);
        for i in first..len.min(first + LOOK) {
            body(i as isize);
        }
    }
}

/// A constant number of lanes, whose results, which begin with those given, stay in registers.
///
/// # Safety
/// As [`run`].
unsafe fn walk_lanes<T: Running, C: Combine<T>, const N: usize>(
    mut results: [T::Wide; N],
    lanes: Axis<2>,
    along: Axis<2>,
    src: *const u8,
    dst: *mut u8,
) {
    looking(
        along.len,
        #[inline(always)]
        |i| {
            for (lane, result) in results.iter_mut().enumerate() {
                let at = |t: usize| i * along.step[t] + lane as isize * lanes.step[t];
                // SAFETY: `lane` is below `N` and `i` below the length: an element of both sides.
                unsafe {
                    *result = C::combine(*result, src.offset(at(0)).cast::<T>().read_unaligned().widen());
                    dst.offset(at(1)).cast::<T>().write_unaligned(T::round(*result));
                }
            }
        },
    );
}

/// # Safety
/// `src` is readable for all elements of `n` lanes, `dst` writable for an `i64` for each.
unsafe fn run_arg<T: Copy + PartialOrd, const LEAST: bool>(
    lanes: Axis<2>,
    n: usize,
    along: Axis<2>,
    src: *const u8,
    dst: *mut u8,
) {
    if along.len == 0 {
        return;
    }
    let at = |lane: usize| (lane as isize * lanes.step[0], lane as isize * lanes.step[1]);
    // SAFETY: lanes below `n` are valid for a walk along their elements, of which there is a first.
    unsafe {
        let together = n / PLACES * PLACES;
        for lane in (0..together).step_by(PLACES) {
            let (from, to) = at(lane);
            walk_places::<T, LEAST, PLACES>(lanes, along, src.offset(from), dst.offset(to));
        }
        for lane in together..n {
            let (from, to) = at(lane);
            walk_places::<T, LEAST, 1>(lanes, along, src.offset(from), dst.offset(to));
        }
    }
}

/// The places of running extremes, the last of equal ones, of a constant number of lanes; that of a NaN stays until the next one.
///
/// # Safety
/// As [`run_arg`], for `N` lanes of at least one element.
unsafe fn walk_places<T: Copy + PartialOrd, const LEAST: bool, const N: usize>(
    lanes: Axis<2>,
    along: Axis<2>,
    src: *const u8,
    dst: *mut u8,
) {
    // SAFETY: it is called with lanes below `N` and numbers below the length.
    let read = |lane: usize, i: isize| unsafe {
        src.offset(i * along.step[0] + lane as isize * lanes.step[0]).cast::<T>().read_unaligned()
    };
    let mut best: [(T, i64); N] = std::array::from_fn(|lane| (read(lane, 0), 0));
    looking(
        along.len,
        #[inline(always)]
        |i| {
            for (lane, (old, place)) in best.iter_mut().enumerate() {
                let x = read(lane, i);
                let wins = if LEAST { x <= *old } else { x >= *old };
                let taken = wins | x.partial_cmp(&x).is_none();
                *old = select_unpredictable(taken, x, *old);
                *place = select_unpredictable(taken, i as i64, *place);
                // SAFETY: as `read`; the places are `i64`s at the outputs' steps.
                unsafe {
                    let to = dst.offset(i * along.step[1] + lane as isize * lanes.step[1]);
                    to.cast::<i64>().write_unaligned(*place);
                }
            }
        },
    );
}

/// An element type and the type of its running results.
trait Running: Copy {
    type Wide: Copy;
    /// Whether lanes are walked side by side however short they are.
    const SIDE_BY_SIDE: bool = false;
    fn widen(self) -> Self::Wide;
    fn round(result: Self::Wide) -> Self;
    /// [`walk_lanes`], in the way that is fastest for the type.
    ///
    /// # Safety
    /// As [`walk_lanes`].
    unsafe fn walk<C: Combine<Self> + Combine<f64>, const N: usize>(
        results: [Self::Wide; N],
        lanes: Axis<2>,
        along: Axis<2>,
        src: *const u8,
        dst: *mut u8,
    ) {
        // SAFETY: as the caller vouches.
        unsafe { walk_lanes::<Self, C, N>(results, lanes, along, src, dst) }
    }
}

/// A [`Scan`] of an element type.
trait Combine<T: Running> {
    const START: T::Wide;
    fn combine(result: T::Wide, x: T::Wide) -> T::Wide;
}

struct Sums;
struct Products;
struct LogSums;

impl<T: Running<Wide = f64>> Combine<T> for LogSums {
    const START: f64 = f64::NEG_INFINITY;
    #[inline(always)]
    fn combine(result: f64, x: f64) -> f64 {
        let (least, greatest) = if result < x { (result, x) } else { (x, result) };
        // Infinity less infinity is NaN.
        if least == greatest && least.is_infinite() { least } else { greatest + (least - greatest).exp().ln_1p() }
    }
}

macro_rules! running_floats {
    ($($ty:ty: $widen:expr, $round:expr $(, by $walk:ident)?;)*) => {
        $(impl Running for $ty {
            type Wide = f64;
            #[inline(always)]
            fn widen(self) -> f64 { ($widen)(self) }
            #[inline(always)]
            fn round(result: f64) -> $ty { ($round)(result) }
            $(const SIDE_BY_SIDE: bool = true;
            unsafe fn walk<C: Combine<Self> + Combine<f64>, const N: usize>(
                results: [f64; N],
                lanes: Axis<2>,
                along: Axis<2>,
                src: *const u8,
                dst: *mut u8,
            ) {
                // SAFETY: as the caller vouches.
                unsafe { halves::$walk::<Self, C, N>(results, lanes, along, src, dst) }
            })?
        }
        running_floats!(@combine $ty, Sums, 0.0, |result: f64, x: f64| result + x);
        running_floats!(@combine $ty, Products, 1.0, |result: f64, x: f64| result * x);)*
    };
    (@combine $ty:ty, $scan:ty, $start:expr, $combine:expr) => {
        impl Combine<$ty> for $scan {
            const START: f64 = $start;
            #[inline(always)]
            fn combine(result: f64, x: f64) -> f64 { ($combine)(result, x) }
        }
    };
}
running_floats! {
    f64: |x| x, |result| result;
    f32: f64::from, |result| result as f32;
    f16: halves::widen_f16, halves::round_f16, by walk;
    bf16: halves::widen_bf16, halves::round_bf16, by walk;
}

macro_rules! running_ints {
    ($($ty:ty),*) => {
        $(impl Running for $ty {
            type Wide = $ty;
            #[inline(always)]
            fn widen(self) -> $ty { self }
            #[inline(always)]
            fn round(result: $ty) -> $ty { result }
        }
        impl Combine<$ty> for Sums {
            const START: $ty = 0;
            #[inline(always)]
            fn combine(result: $ty, x: $ty) -> $ty { result.wrapping_add(x) }
        }
        impl Combine<$ty> for Products {
            const START: $ty = 1;
            #[inline(always)]
            fn combine(result: $ty, x: $ty) -> $ty { result.wrapping_mul(x) }
        })*
    };
}
running_ints!(u8, u16, u32, u64, i8, i16, i32, i64);
