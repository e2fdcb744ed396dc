//! How two layouts over one storage relate: identical, disjoint, overlapping, or not known.

use crate::Layout;

/// How two layouts over one storage relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LayoutRelation {
    /// Each element is at the same place in both.
    Identical,
    /// No place is in both.
    Disjoint,
    /// Some place is in both.
    Overlapping,
    /// Neither was found.
    Unknown,
}

/// The places that a layout with elements names: they are `first`, `last` and others between them, a multiple of `step` from `first`.
struct Places {
    first: usize,
    last: usize,
    step: usize,
    /// Whether every such multiple is one.
    all: bool,
}

impl Places {
    fn of(layout: &Layout) -> Self {
        let strides =
            || layout.dims().iter().zip(layout.stride()).filter(|(len, _)| **len > 1).map(|(_, &stride)| stride);
        let (first, last) = (layout.start_offset(), layout.span() - 1);
        let step = strides().fold(0, gcd);
        let count = (last - first).checked_div(step).map_or(1, |steps| steps + 1);
        Places { first, last, step, all: !layout.may_overlap_itself() && layout.elem_count() == count }
    }

    fn certainly_has(&self, place: usize) -> bool {
        let between = (self.first..=self.last).contains(&place) && self.all;
        place == self.first || place == self.last || between && (place - self.first).is_multiple_of(self.step)
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Layout {
    /// How this layout relates to another one over the same storage. Exact for layouts without gaps and for those of one step; views of a part in several
    /// dimensions may be [`LayoutRelation::Unknown`].
    ///
    /// ```
    /// # use opforge_core::{Layout, LayoutRelation};
    /// let all = Layout::contiguous((2, 4));
    /// let (left, right) = (all.narrow(1, 0, 1)?, all.narrow(1, 1, 1)?);
    /// assert_eq!(left.relation(&right), LayoutRelation::Disjoint);
    /// assert_eq!(left.relation(&all), LayoutRelation::Overlapping);
    /// # Ok::<(), opforge_core::Error>(())
    /// ```
    pub fn relation(&self, other: &Layout) -> LayoutRelation {
        if self.elem_count() == 0 || other.elem_count() == 0 {
            return LayoutRelation::Disjoint;
        }
        let steps = |layout: &Layout| -> Vec<(usize, usize)> {
            let dims = layout.dims().iter().zip(layout.stride());
            dims.map(|(&len, &stride)| (len, if len == 1 { 0 } else { stride })).collect()
        };
        if self.start_offset() == other.start_offset() && steps(self) == steps(other) {
            return LayoutRelation::Identical;
        }
        let (a, b) = (Places::of(self), Places::of(other));
        let step = gcd(a.step, b.step);
        if a.last < b.first || b.last < a.first || step > 0 && a.first % step != b.first % step {
            return LayoutRelation::Disjoint;
        }
        if a.certainly_has(b.first) || a.certainly_has(b.last) || b.certainly_has(a.first) || b.certainly_has(a.last) {
            return LayoutRelation::Overlapping;
        }
        LayoutRelation::Unknown
    }
}
