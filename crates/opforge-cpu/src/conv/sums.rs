//! The sums of a weight's gradient, which enter totals where there are many products.

use std::ops::Range;
use std::slice;

use super::product::Total;
use crate::matmul::operand::{Accumulator, add_to_totals, round_totals};

/// Products that are added to one sum before it enters a total: errors grow with their number. Totals take memory, and most have fewer.
pub(super) const PRODUCTS: usize = 1024;

/// A task's sums: the first of its columns, in rows as long as all columns.
pub(super) struct Sums<F: Accumulator> {
    pub at: *mut F,
    pub columns: Range<usize>,
    /// Whether they hold anything yet.
    pub begun: bool,
    pub rows: usize,
    /// From one row to the next.
    pub row: usize,
    /// Products that have been added since sums entered the totals.
    pub products: usize,
    /// A total for each sum; null if there are none.
    pub totals: *mut Total<F>,
    /// Whether the totals hold anything yet.
    pub in_totals: bool,
}

impl<F: Accumulator> Sums<F> {
    /// Notes that a product was added to each sum.
    ///
    /// # Safety
    /// There are sums for each column of each row and, unless null, as many totals; nobody else uses them.
    #[inline(always)]
    pub unsafe fn count_product(&mut self) {
        self.products += 1;
        if self.products == PRODUCTS && !self.totals.is_null() {
            // SAFETY: the totals are not null, hence there is one for each sum.
            unsafe { self.flush() };
        }
    }

    /// # Safety
    /// As [`Sums::count_product`].
    #[inline(never)]
    unsafe fn flush(&mut self) {
        let width = self.columns.len();
        for i in 0..self.rows {
            // SAFETY: row `i` has `width` sums, and as many totals, which are apart from them.
            let (sums, totals) = unsafe { (slice::from_raw_parts(self.at.add(i * self.row), width), self.totals(i)) };
            add_to_totals(sums, totals, !self.in_totals);
        }
        (self.products, self.begun, self.in_totals) = (0, false, true);
    }

    /// The totals of row `i`.
    ///
    /// # Safety
    /// As [`Sums::count_product`]; one row's are borrowed at a time.
    unsafe fn totals<'a>(&self, i: usize) -> &'a mut [Total<F>] {
        let width = self.columns.len();
        // SAFETY: there are `width` totals for each row.
        unsafe { slice::from_raw_parts_mut(self.totals.add(i * width), width) }
    }

    /// Leaves whole sums.
    ///
    /// # Safety
    /// As [`Sums::count_product`].
    pub unsafe fn finish(&mut self) {
        if !self.in_totals {
            return;
        }
        let width = self.columns.len();
        if self.begun {
            // SAFETY: totals are held, so that there is one for each sum.
            unsafe { self.flush() };
        }
        for i in 0..self.rows {
            // SAFETY: row `i` has `width` sums, which are apart from the totals.
            let sums = unsafe { slice::from_raw_parts_mut(self.at.add(i * self.row), width) };
            // SAFETY: totals are held, and row `i`'s are borrowed only here.
            round_totals(unsafe { self.totals(i) }, sums);
        }
        self.begun = true;
    }
}
