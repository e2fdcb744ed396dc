//! A batch in parts: its rows are independent, so that a thread takes some of them through all steps without waiting for others.

use std::ops::Range;
use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::num_threads;

/// Rows of a part at least. A row alone would be multiplied by another kernel, which adds in another order: results must not depend on threads.
const ROWS: usize = 4;

/// A batch in parts whose numbers of rows differ by one at most.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    batch: usize,
    pub count: usize,
}

impl Parts {
    /// As many parts as there are threads, or one for small batches, whose steps are shared out instead.
    pub fn of(batch: usize) -> Self {
        Parts { batch, count: (batch / ROWS).clamp(1, num_threads()) }
    }

    /// The rows of a part.
    pub fn rows(self, part: usize) -> Range<usize> {
        part * self.batch / self.count..(part + 1) * self.batch / self.count
    }

    /// The products of parts, by their rows.
    pub fn products(self, product: impl Fn(usize) -> Result<Arc<dyn HostKernel>>) -> Result<Products> {
        let rows = self.batch / self.count;
        let more = if self.batch.is_multiple_of(self.count) { rows } else { rows + 1 };
        Ok(Products { rows, few: product(rows)?, more: product(more)?, parts: self.count as u64 })
    }
}

/// A product for the one, and one for the other number of rows that parts have.
pub(super) struct Products {
    rows: usize,
    few: Arc<dyn HostKernel>,
    more: Arc<dyn HostKernel>,
    parts: u64,
}

impl Products {
    /// The product for a part of so many rows.
    pub fn of(&self, rows: usize) -> &dyn HostKernel {
        if rows == self.rows { &*self.few } else { &*self.more }
    }

    /// What all parts cost.
    pub fn cost(&self) -> u64 {
        self.parts * self.more.cost()
    }
}
