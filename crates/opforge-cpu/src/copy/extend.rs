//! Tensors continued beyond their edges.

use std::ops::Range;
use std::sync::Arc;

use opforge_core::{Error, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;
use opforge_tile::forms::Beyond;
use smallvec::SmallVec;

use super::{Plan, Shared, check_output};
use opforge_runtime::alloc::Workspace;

/// Bytes that a thread writes at a time.
const CHUNK: usize = 64 << 10;

/// The kernel that writes the input from the index `before` on, and what lies beyond its edges around it.
///
/// # Errors
/// Dtypes and shapes that do not go together, an output that is not contiguous, and edges beyond which there is nothing so far away.
pub fn extend(
    op: &'static str,
    input: &Meta,
    before: &[usize],
    beyond: Beyond,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    check_output(op, input, output)?;
    let axes = input.dims().iter().zip(before).zip(output.dims());
    let axes: Vec<Axis> = axes.map(|((&input, &before), &len)| Axis { input, before, len, step: 0 }).collect();
    let fits = input.rank() == output.rank() && before.len() == input.rank() && axes.iter().all(|a| a.fits(beyond));
    if !fits || !output.layout.is_contiguous() {
        let accepted = format!("a contiguous output around the input, {before:?} before it");
        return Err(Error::shapes(op, input.shape(), output.shape(), accepted));
    }
    let dense = Meta::contiguous(input.dtype, input.shape());
    let bytes = dense.elem_count() * dense.dtype.size_in_bytes();
    let staged = (!input.layout.is_contiguous()).then(|| (Plan::new(input, &dense, &[]), bytes));
    let size = input.dtype.size_in_bytes();
    let (outer, row) = rows(&axes, size);
    let copy: CopyRow = by_size!(size, T => copy_row::<T>);
    Ok(Arc::new(Extend { outer, row, size, beyond, copy, staged }))
}

/// An axis, of `len` elements in the output.
#[derive(Debug, Clone, Copy)]
struct Axis {
    input: usize,
    before: usize,
    len: usize,
    /// How many bytes apart neighbours are in the input.
    step: usize,
}

impl Axis {
    /// Whether there is something at either end.
    fn fits(&self, beyond: Beyond) -> bool {
        let inside = self.before.checked_add(self.input).is_some_and(|end| end <= self.len);
        inside && (self.len == 0 || [0, self.len - 1].into_iter().all(|at| self.source(at, beyond).is_some()))
    }

    fn is_extended(&self) -> bool {
        self.len != self.input
    }

    #[inline(always)]
    fn source(&self, at: usize, beyond: Beyond) -> Option<usize> {
        beyond.source(at as i64 - self.before as i64, self.input as i64).map(|place| place as usize)
    }
}

/// The axes around rows, and that of a row: the last one, or all after the last that is extended. Neighbours that are not extended are one.
fn rows(axes: &[Axis], size: usize) -> (SmallVec<[Axis; 4]>, Axis) {
    let mut merged: SmallVec<[Axis; 4]> = SmallVec::new();
    let mut step = size;
    for axis in axes.iter().rev() {
        match merged.last_mut() {
            Some(inner) if !inner.is_extended() && !axis.is_extended() => {
                (inner.len, inner.input) = (inner.len * axis.len, inner.input * axis.input);
            }
            _ => merged.push(Axis { step, ..*axis }),
        }
        step *= axis.input;
    }
    let row = if merged.is_empty() { Axis { input: 1, before: 0, len: 1, step: size } } else { merged.remove(0) };
    merged.reverse();
    (merged, row)
}

/// Copies a row from the input's to the output's.
type CopyRow = unsafe fn(&Axis, Beyond, *const u8, *mut u8);

struct Extend {
    outer: SmallVec<[Axis; 4]>,
    row: Axis,
    size: usize,
    beyond: Beyond,
    copy: CopyRow,
    /// How an input that is not contiguous is copied first, and its bytes.
    staged: Option<(Plan, usize)>,
}

impl Extend {
    fn count(&self) -> usize {
        self.outer.iter().map(|axis| axis.len).product()
    }

    /// # Safety
    /// The pointers are those of contiguous tensors, and there are so many rows.
    unsafe fn rows(&self, src: *const u8, dst: *mut u8, range: Range<usize>) {
        for i in range {
            let (mut rest, mut from) = (i, 0);
            for axis in self.outer.iter().rev() {
                from += axis.source(rest % axis.len, self.beyond).unwrap_or(0) * axis.step;
                rest /= axis.len;
            }
            // SAFETY: sources are within the input, and the output has a row for each `i`.
            unsafe { (self.copy)(&self.row, self.beyond, src.add(from), dst.add(i * self.row.len * self.size)) };
        }
    }
}

impl HostKernel for Extend {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (rows, bytes) = (self.count(), self.row.len * self.size);
        if rows * bytes == 0 {
            return Ok(());
        }
        let mut src = inputs[0];
        let space = Workspace::new(self.staged.as_ref().map_or(0, |(_, bytes)| *bytes))?;
        if let Some((plan, _)) = &self.staged {
            // SAFETY: the plan was made of the input's layout, and the workspace has the bytes of its copy.
            unsafe { plan.run(src, space.as_ptr()) };
            src = space.as_ptr();
        }
        let (src, dst) = (Shared(src), Shared(outputs[0]));
        // SAFETY: both tensors are contiguous now; ranges are of different rows.
        parallel_for(rows, (CHUNK / bytes).max(1), |range| unsafe { self.rows(src.get(), dst.get(), range) });
        Ok(())
    }

    fn cost(&self) -> u64 {
        20 + (self.count() * (5 + self.row.len * self.size / 8)) as u64
    }
}

/// # Safety
/// `src` is readable for the axis' elements of the input, `dst` writable for those of the output.
unsafe fn copy_row<T: Copy>(axis: &Axis, beyond: Beyond, src: *const u8, dst: *mut u8) {
    let (src, dst) = (src.cast::<T>(), dst.cast::<T>());
    let beside = |range: Range<usize>| {
        for at in range {
            let from = axis.source(at, beyond).unwrap_or(0);
            // SAFETY: the source is an element of the input, and `at` one of the output.
            unsafe { dst.add(at).write_unaligned(src.add(from).read_unaligned()) };
        }
    };
    beside(0..axis.before);
    // SAFETY: the input's elements are one run of the output's.
    unsafe {
        std::ptr::copy_nonoverlapping(src.cast::<u8>(), dst.add(axis.before).cast(), axis.input * size_of::<T>())
    };
    beside(axis.before + axis.input..axis.len);
}
