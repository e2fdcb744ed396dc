//! Where attention may go.

use std::marker::PhantomData;

use opforge_core::{DType, Error, Meta, Result, WithDType};
use smallvec::SmallVec;

use super::strip::Element;
use super::{Block, Sizes};
use crate::copy::byte_steps;
use crate::matmul::{Matrix, pack};
use crate::simd::{Entry, Isa, Routine, Simd, resolve};

/// A mask `[.., n, m]` of any strides, in bytes.
pub(super) struct Mask<T: WithDType> {
    /// Whether it is true or false; else it is added.
    truth: bool,
    /// The lengths and steps of the leading dimensions.
    lead: SmallVec<[(usize, isize); 4]>,
    row: isize,
    column: isize,
    apply: Entry<Row<T>>,
}

/// A head's part of a mask.
pub(super) struct HeadMask<'a, T: WithDType> {
    mask: &'a Mask<T>,
    at: *const u8,
}

impl<T: WithDType> Mask<T> {
    /// For queries `q`.
    pub fn of(op: &'static str, sizes: &Sizes, q: &Meta, mask: Option<&Meta>) -> Result<Option<Self>> {
        let Some(mask) = mask else { return Ok(None) };
        if ![DType::Bool, T::DTYPE].contains(&mask.dtype) {
            return Err(Error::dtype(op, "attn_mask", mask.dtype, format!("bool or {}", T::DTYPE)));
        }
        let (lead, [queries, keys]) = (&q.dims()[..q.rank() - 2], [sizes.queries, sizes.keys]);
        let fits = mask.dims().split_last_chunk().is_some_and(|(l, last)| l == lead && *last == [queries, keys]);
        if !fits {
            let accepted = format!("{lead:?} and {queries}, {keys}");
            return Err(Error::shape(op, "attn_mask", format!("{:?}", mask.shape()), accepted));
        }
        let steps: SmallVec<[isize; 6]> = byte_steps(mask).collect();
        let (row, column) = (steps[lead.len()], steps[lead.len() + 1]);
        let lead = lead.iter().copied().zip(steps).collect();
        Ok(Some(Mask { truth: mask.dtype == DType::Bool, lead, row, column, apply: resolve(Isa::current()) }))
    }

    /// The part for one of the heads, which count all leading dimensions.
    pub fn of_head(&self, mask: *const u8, head: usize) -> HeadMask<'_, T> {
        let mut rest = head;
        let offset = self.lead.iter().rev().map(|&(len, step)| {
            let at = rest % len;
            rest /= len;
            at as isize * step
        });
        HeadMask { mask: self, at: mask.wrapping_offset(offset.sum()) }
    }
}

impl<T: WithDType> HeadMask<'_, T> {
    /// The part for keys from this number on.
    pub fn beginning_at(self, key: usize) -> Self {
        HeadMask { at: self.at.wrapping_offset(key as isize * self.mask.column), ..self }
    }

    /// Masks the scores of a block; a bit is set for each of its rows that sees nothing.
    ///
    /// # Safety
    /// The mask is readable, and `scores` is valid for the block's rows of `keys`, which nobody else uses.
    pub unsafe fn apply(&self, block: &Block, scores: *mut T) -> u128 {
        let Mask { truth, row, column, apply, .. } = *self.mask;
        let mut blind = 0;
        for i in 0..block.rows {
            let mask = self.at.wrapping_offset((block.first + i) as isize * row);
            // SAFETY: row `i` of the block has `keys` scores, and the mask as many elements; the entry was resolved for this CPU.
            unsafe {
                let scores = scores.add(i * block.keys);
                apply(&Row { truth, column, element: PhantomData }, (mask, scores, block.keys));
                let hidden = T::from_f64(f64::NEG_INFINITY);
                let sees = std::slice::from_raw_parts(scores, block.keys).iter().any(|score| *score != hidden);
                blind |= u128::from(!sees) << i;
            }
        }
        blind
    }
}

impl<T: Element> HeadMask<'_, T> {
    /// Masks the scores of `count` queries from `first` on with as many keys, as `[queries, keys]`: a row a key, `width` apart.
    ///
    /// # Safety
    /// The mask is readable for these queries and keys; `scores` is valid for a row for each key, and so is `room`, which nobody else uses.
    pub unsafe fn apply_turned(
        &self,
        first: [usize; 2],
        count: [usize; 2],
        scores: *mut T,
        width: usize,
        room: *mut T,
    ) {
        let Mask { truth, row, column, apply, .. } = *self.mask;
        let at = self.at.wrapping_offset(first[0] as isize * row + first[1] as isize * column);
        // SAFETY: the mask's elements are read where the caller vouches for them; the entry was resolved for this CPU.
        unsafe {
            if row == 0 {
                return self.apply_to_rows(at, std::slice::from_raw_parts_mut(scores, count[1] * width), width);
            }
            let (all, size) = (count[1] * width, if truth { 1 } else { size_of::<T>() });
            let [row, column] = [row, column].map(|step| step as usize / size);
            if truth {
                pack(Matrix { at, row: column, column: row }, count[1], count[0], room.cast::<u8>(), width);
            } else {
                pack(Matrix { at: at.cast::<T>(), row: column, column: row }, count[1], count[0], room, width);
            }
            apply(&Row { truth, column: size as isize, element: PhantomData }, (room.cast(), scores, all));
        }
    }

    /// Masks rows of scores whose queries all see the same keys.
    ///
    /// # Safety
    /// `at` is readable for each row's key.
    unsafe fn apply_to_rows(&self, at: *const u8, scores: &mut [T], width: usize) {
        for (key, scores) in scores.chunks_exact_mut(width).enumerate() {
            // SAFETY: the mask has an element for each row's key.
            unsafe {
                let at = at.wrapping_offset(key as isize * self.mask.column);
                match self.mask.truth {
                    true if *at == 0 => scores.fill(T::from_f64(f64::NEG_INFINITY)),
                    true => {}
                    false => scores.iter_mut().for_each(|score| *score += at.cast::<T>().read()),
                }
            }
        }
    }
}

/// Masks one row of scores.
struct Row<T> {
    truth: bool,
    column: isize,
    element: PhantomData<T>,
}

impl<T: WithDType> Routine for Row<T> {
    /// The mask's row, the scores and their number.
    type Args = (*const u8, *mut T, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (mask, scores, n): Self::Args) {
        let hidden = T::from_f64(f64::NEG_INFINITY);
        // SAFETY: `n` scores are valid at `scores`, which nobody else uses.
        let scores = unsafe { std::slice::from_raw_parts_mut(scores, n) };
        let each = |step: isize| {
            // SAFETY: the mask has an element for each score.
            move |i: usize| unsafe { mask.offset(i as isize * step) }
        };
        // Steps that are known when this is compiled make vectors.
        match (self.truth, self.column) {
            (true, 1) => hide(scores, each(1), hidden),
            (true, column) => hide(scores, each(column), hidden),
            (false, column) if column == size_of::<T>() as isize => add(scores, each(size_of::<T>() as isize)),
            (false, column) => add(scores, each(column)),
        }
    }
}

#[inline(always)]
fn hide<T: WithDType>(scores: &mut [T], mask: impl Fn(usize) -> *const u8, hidden: T) {
    for (i, score) in scores.iter_mut().enumerate() {
        // SAFETY: `Row` passes readable truths.
        *score = if unsafe { *mask(i) } != 0 { *score } else { hidden };
    }
}

#[inline(always)]
fn add<T: WithDType>(scores: &mut [T], mask: impl Fn(usize) -> *const u8) {
    for (i, score) in scores.iter_mut().enumerate() {
        // SAFETY: `Row` passes readable numbers of the scores' dtype.
        *score += unsafe { *mask(i).cast::<T>() };
    }
}
