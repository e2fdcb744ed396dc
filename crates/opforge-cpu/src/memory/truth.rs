//! Truth values as tensors store them.

use std::cmp::Ordering;

/// The byte of a truth value, which is true unless it is 0.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Truth(pub u8);

impl Truth {
    /// Whether it is true.
    #[inline(always)]
    pub fn is(self) -> bool {
        self.0 != 0
    }
}

impl PartialEq for Truth {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.is() == other.is()
    }
}

impl PartialOrd for Truth {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.is().partial_cmp(&other.is())
    }
}
