//! What is drawn into: a tensor, or a part of one.

use opforge_core::{Error, Meta, Result};
use opforge_tile::forms::Portion;
use smallvec::SmallVec;

/// A contiguous output, and which part of the whole tensor it is; all of it where there is no portion.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The output.
    pub meta: &'a Meta,
    /// Where it lies in the whole.
    pub portion: Option<&'a Portion>,
}

impl<'a> From<&'a Meta> for Target<'a> {
    fn from(meta: &'a Meta) -> Self {
        Target { meta, portion: None }
    }
}

impl Target<'_> {
    /// Which elements of the whole the output has.
    ///
    /// # Errors
    /// A portion of another shape than the output's, or beyond the whole.
    pub(super) fn runs(&self, op: &'static str) -> Result<Runs> {
        let (dims, count) = (self.meta.dims(), self.meta.elem_count());
        let Some(portion) = self.portion else { return Ok(Runs { len: count, start: 0, outer: SmallVec::new() }) };
        let ranges = portion.ranges.iter().zip(portion.whole.dims());
        let is_within = ranges.clone().all(|(range, &whole)| range.start <= range.end && range.end <= whole);
        let is_like = portion.ranges.iter().map(ExactSizeIterator::len).eq(dims.iter().copied());
        if !is_within || !is_like || portion.whole.rank() != dims.len() {
            let given = format!("{:?} of {:?}", portion.ranges, portion.whole.dims());
            return Err(Error::shape(op, "part", given, format!("a part of the shape {dims:?}")));
        }
        portion.whole.check(op, 1)?;
        let (mut runs, mut step) = (Runs { len: 1, start: 0, outer: SmallVec::new() }, 1);
        let mut is_run = true;
        for (range, &whole) in ranges.rev() {
            runs.start += range.start * step;
            match is_run {
                true => runs.len *= range.len(),
                false => runs.outer.push((range.len(), step)),
            }
            is_run &= range.len() == whole;
            step *= whole;
        }
        Ok(runs)
    }
}

/// The places in the whole of a part's elements: runs of `len` neighbours.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    pub len: usize,
    /// Where the first run begins.
    start: usize,
    /// How many runs follow each other along a dimension, and how far apart: innermost first.
    outer: SmallVec<[(usize, usize); 6]>,
}

impl Runs {
    /// The place of an element of the part, and how many of its run follow from it on.
    #[inline(always)]
    pub fn place(&self, element: usize) -> (usize, usize) {
        if self.outer.is_empty() {
            return (self.start + element, self.len - element);
        }
        let (mut run, within) = (element / self.len, element % self.len);
        let mut place = self.start + within;
        for &(count, step) in &self.outer {
            place += run % count * step;
            run /= count;
        }
        (place, self.len - within)
    }
}
