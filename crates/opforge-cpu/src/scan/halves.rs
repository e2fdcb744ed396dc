//! Running results of floats of 16 bits: to and from f64 without branches, and many at a time where rows are contiguous.

use std::marker::PhantomData;

use half::{bf16, f16};

use super::{Combine, Running, looking, walk_lanes};
use crate::copy::Axis;
use crate::simd::{Entry, Isa, Routine, Simd, convert, resolve};

/// Elements that are widened at a time.
const PIECE: usize = 128;
/// Elements below which what is prepared for a piece of a row takes longer than its walk.
const SHORT: usize = 16;
/// The bytes of a widened element.
const WIDE: isize = size_of::<f64>() as isize;

/// [`walk_lanes`] by elements that lie side by side, which are widened before the walk and rounded after it: in the walk itself, where an element follows
/// the other, that would be most of the time.
///
/// # Safety
/// As [`walk_lanes`].
pub(super) unsafe fn walk<T: Running<Wide = f64>, C: Combine<T> + Combine<f64>, const N: usize>(
    mut results: [f64; N],
    lanes: Axis<2>,
    along: Axis<2>,
    src: *const u8,
    dst: *mut u8,
) {
    let [beside, after] = [lanes.step, along.step].map(|step| step == [size_of::<T>() as isize; 2]);
    let one_after_another = after && lanes.step == along.step.map(|step| step * along.len as isize);
    let whole = Whole::<T>::new();
    // SAFETY: as the caller vouches; each arm has what it asks for.
    unsafe {
        match (beside, after) {
            (true, false) if N > 1 => whole.columns::<C, N>(&mut results, along, src, dst),
            (_, true) if along.len >= SHORT => whole.pieces::<C, N>(&mut results, lanes, along, src, dst),
            (_, true) if one_after_another => whole.rows::<C, N>(results, along.len, src, dst),
            _ => walk_lanes::<T, C, N>(results, lanes, along, src, dst),
        }
    }
}

/// The loops that widen and round elements side by side, for this processor.
struct Whole<T: Running<Wide = f64>> {
    widen: Entry<Widen<T>>,
    round: Entry<Round<T>>,
}

impl<T: Running<Wide = f64>> Whole<T> {
    fn new() -> Self {
        Whole { widen: resolve(Isa::current()), round: resolve(Isa::current()) }
    }

    /// # Safety
    /// `src` is readable for `to.len()` elements.
    unsafe fn widen(&self, src: *const u8, to: &mut [f64]) {
        // SAFETY: as the caller vouches; the entry is for this processor.
        unsafe { (self.widen)(&Widen(PhantomData), (src.cast(), to.as_mut_ptr(), to.len())) }
    }

    /// # Safety
    /// `dst` is writable for `from.len()` elements.
    unsafe fn round(&self, from: &[f64], dst: *mut u8) {
        // SAFETY: as the caller vouches; the entry is for this processor.
        unsafe { (self.round)(&Round(PhantomData), (from.as_ptr(), dst.cast(), from.len())) }
    }

    /// Rows of neighbouring elements, by pieces.
    ///
    /// # Safety
    /// As [`walk_lanes`].
    unsafe fn pieces<C: Combine<f64>, const N: usize>(
        &self,
        results: &mut [f64; N],
        lanes: Axis<2>,
        along: Axis<2>,
        src: *const u8,
        dst: *mut u8,
    ) {
        let mut room = [[0.0; PIECE]; N];
        let rows = Axis { len: N, step: [PIECE as isize * WIDE; 2] };
        for first in (0..along.len).step_by(PIECE) {
            let n = PIECE.min(along.len - first);
            let at = |t: usize, lane: usize| first as isize * along.step[t] + lane as isize * lanes.step[t];
            // SAFETY: a piece of each lane, of which there are `N`, lies within its elements, and has a row of the room.
            unsafe {
                for (lane, row) in room.iter_mut().enumerate() {
                    self.widen(src.offset(at(0, lane)), &mut row[..n]);
                }
                let piece = room.as_mut_ptr().cast::<u8>();
                walk_lanes::<f64, C, N>(*results, rows, Axis { len: n, step: [WIDE; 2] }, piece, piece);
                for (lane, row) in room.iter().enumerate() {
                    results[lane] = row[n - 1];
                    self.round(&row[..n], dst.offset(at(1, lane)));
                }
            }
        }
    }

    /// Short rows, shorter than [`SHORT`], one after another: all at once.
    ///
    /// # Safety
    /// As [`walk_lanes`].
    unsafe fn rows<C: Combine<f64>, const N: usize>(
        &self,
        results: [f64; N],
        len: usize,
        src: *const u8,
        dst: *mut u8,
    ) {
        let mut room = [[0.0; SHORT]; N];
        let room = &mut room.as_flattened_mut()[..N * len];
        let rows = Axis { len: N, step: [len as isize * WIDE; 2] };
        // SAFETY: the rows' elements, `N * len` of them, lie side by side on both sides and in the room.
        unsafe {
            self.widen(src, room);
            let all = room.as_mut_ptr().cast::<u8>();
            walk_lanes::<f64, C, N>(results, rows, Axis { len, step: [WIDE; 2] }, all, all);
            self.round(room, dst);
        }
    }

    /// Rows whose elements of one place lie side by side: place by place.
    ///
    /// # Safety
    /// As [`walk_lanes`].
    unsafe fn columns<C: Combine<f64>, const N: usize>(
        &self,
        results: &mut [f64; N],
        along: Axis<2>,
        src: *const u8,
        dst: *mut u8,
    ) {
        let mut place = [0.0; N];
        looking(
            along.len,
            #[inline(always)]
            |i| {
                // SAFETY: `i` is below the length: each side has an element of each of the `N` rows there.
                unsafe {
                    self.widen(src.offset(i * along.step[0]), &mut place);
                    for (result, x) in results.iter_mut().zip(place) {
                        *result = C::combine(*result, x);
                    }
                    self.round(&*results, dst.offset(i * along.step[1]));
                }
            },
        );
    }
}

/// Widens `n` elements.
struct Widen<T>(PhantomData<T>);

impl<T: Running<Wide = f64>> Routine for Widen<T> {
    type Args = (*const T, *mut f64, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (src, dst, n): Self::Args) {
        for i in 0..n {
            // SAFETY: the caller vouches for `n` elements of both.
            unsafe { dst.add(i).write(src.add(i).read_unaligned().widen()) };
        }
    }
}

/// Rounds `n` results.
struct Round<T>(PhantomData<T>);

impl<T: Running<Wide = f64>> Routine for Round<T> {
    type Args = (*const f64, *mut T, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (src, dst, n): Self::Args) {
        for i in 0..n {
            // SAFETY: the caller vouches for `n` elements of both.
            unsafe { dst.add(i).write_unaligned(T::round(src.add(i).read())) };
        }
    }
}

/// The number, exactly.
#[inline(always)]
pub(super) fn widen_bf16(x: bf16) -> f64 {
    f64::from(convert::widen_bf16(x))
}

/// The number, exactly.
#[inline(always)]
pub(super) fn widen_f16(x: f16) -> f64 {
    f64::from(convert::widen_f16(x))
}

/// The nearest bf16, the even one of two.
#[inline(always)]
pub fn round_bf16(x: f64) -> bf16 {
    let bits = to_odd(x).to_bits();
    let nearest = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    bf16::from_bits(if x.is_nan() { bits >> 16 | 0x40 } else { nearest } as u16)
}

/// The nearest f16, the even one of two.
#[inline(always)]
pub fn round_f16(x: f64) -> f16 {
    let bits = to_odd(x).to_bits();
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    let nearest = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + (magnitude >> 13 & 1)) >> 13;
    // The least f16 is 2^-24: so much is the last place of numbers next to 1/2.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let finite = if magnitude < 0x3880_0000 { subnormal } else { nearest };
    let result = if magnitude >= 0x4780_0000 { 0x7c00 } else { finite };
    f16::from_bits((sign | if x.is_nan() { 0x7e00 } else { result }) as u16)
}

/// An f32 from which one rounds to fewer bits as from `x` itself: the next one towards 0, its last bit set where anything is lost
/// (Boldo and Melquiond, "When double rounding is odd", 2005).
#[inline(always)]
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    let beyond = u32::from(back.abs() > x.abs());
    let inexact = u32::from(back != x && x.is_finite());
    f32::from_bits((near.to_bits() - (beyond & inexact)) | inexact)
}
