//! Elements and slices read at indices along one axis.

use std::sync::atomic::{AtomicBool, Ordering};

use opforge_core::{Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;

use super::ids::{BATCH, Batch, Ids, SKIP};
use super::lines::{CopyLine, CopyLines, Lines, line, lines};
use crate::copy::{Axis, Nest, Shared, byte_steps};
use crate::memory::prefetch;

/// Bytes that a thread writes at a time.
const CHUNK: usize = 64 << 10;
/// Elements up to which a row is short.
const SHORT: usize = 8;

/// Reads along one axis at indices.
pub(super) struct Gather {
    ids: Ids,
    /// The loops over indices, input and output around `row`.
    nest: Nest<3>,
    /// The innermost loop.
    row: Axis<3>,
    /// What a step along the indexed axis is in the input.
    axis_step: isize,
    size: usize,
    /// Rows are cut into parts of this many elements.
    part: usize,
    inner: Inner,
    /// For short lines with one loop around them.
    lines: Option<CopyLines>,
}

enum Inner {
    /// A row shares one index and is contiguous.
    Run,
    /// A row shares one index.
    Row(CopyRow),
    /// Every element has an index of its own.
    Elements(CopyElements),
    /// A row has contiguous indices into one line.
    Line(CopyLine),
}

/// Copies `n` elements between strided places; `None` stands for zeros.
type CopyRow = unsafe fn(Option<*const u8>, isize, *mut u8, isize, n: usize);
/// Copies one element for each index: source, its step and that of an index, destination and its step.
type CopyElements = unsafe fn(&[usize], *const u8, isize, isize, *mut u8, isize);
impl Gather {
    /// `id_steps` and `input_steps` are those along the output's dimensions, the input's without the indexed axis, whose step is
    /// `axis_step`.
    pub fn new(ids: Ids, id_steps: &[isize], axis_step: isize, input_steps: &[isize], output: &Meta) -> Self {
        let size = output.dtype.size_in_bytes();
        let steps = id_steps.iter().zip(input_steps).zip(byte_steps(output));
        let axes = output.dims().iter().zip(steps);
        let mut nest = Nest::collapse(axes.map(|(&len, ((&id, &src), dst))| Axis { len, step: [id, src, dst] }));
        let lines = lines(&ids, &nest, size);
        if lines.is_none() {
            join_short_rows(&mut nest);
        }
        let row = nest.axes.pop().unwrap_or(Axis { len: 1, step: [0, size as isize, size as isize] });
        let (inner, part) = if row.step == [0, size as isize, size as isize] {
            (Inner::Run, row.len.min(CHUNK / size))
        } else if row.step[0] == 0 {
            (Inner::Row(by_size!(size, T => copy_row::<T>)), row.len.min(CHUNK / size))
        } else if let Some(copy) = line(&ids, &row, size) {
            (Inner::Line(copy), row.len.min(CHUNK / size))
        } else {
            (Inner::Elements(by_size!(size, T => copy_elements::<T>)), row.len.min(BATCH))
        };
        Gather { ids, nest, row, axis_step, size, part: part.max(1), inner, lines }
    }

    /// The only loop around whole runs, whose indices are read many at a time.
    fn one_loop(&self) -> Option<&Axis<3>> {
        match (&self.inner, &self.nest.axes[..]) {
            (Inner::Run, [axis]) if self.part == self.row.len => Some(axis),
            _ => None,
        }
    }

    /// As [`Gather::parts`] where there is [one loop](Gather::one_loop).
    ///
    /// # Safety
    /// The pointers are those of `run`.
    unsafe fn runs(
        &self,
        axis: &Axis<3>,
        inputs: [*const u8; 2],
        output: *mut u8,
        range: std::ops::Range<usize>,
    ) -> bool {
        let (mut batch, mut ok) = (Batch::new(), true);
        let bytes = self.row.len * self.size;
        let end = range.end;
        for first in range.step_by(BATCH) {
            let at = |t: usize, i: usize| (first + i) as isize * axis.step[t];
            let n = BATCH.min(end - first);
            // SAFETY: the loop has so many indices from there on; offsets and indices in range are within the tensors.
            unsafe {
                let Some(ids) = self.ids.read(inputs[1].offset(at(0, 0)), axis.step[0], n, &mut batch) else {
                    ok = false;
                    continue;
                };
                let run = |i: usize| {
                    let from = |&id: &usize| inputs[0].wrapping_offset(at(1, i) + id as isize * self.axis_step);
                    ids.get(i).filter(|&&id| id != SKIP).map(from)
                };
                for i in 0..n {
                    // The next run's first bytes are on their way while this one is copied.
                    if let Some(next) = run(i + 1) {
                        prefetch::prefetch(next, bytes.min(prefetch::RUN));
                    }
                    copy_run(run(i), output.offset(at(2, i)), bytes);
                }
            }
        }
        ok
    }

    /// As [`Gather::parts`] where there is one loop around short lines.
    ///
    /// # Safety
    /// The pointers are those of `run`.
    unsafe fn copy_lines(
        &self,
        copy: CopyLines,
        inputs: [*const u8; 2],
        output: *mut u8,
        range: std::ops::Range<usize>,
    ) -> bool {
        let apart = self.nest.axes[0].step;
        let lines = Lines { n: self.row.len, len: self.ids.len(), step: self.axis_step, apart };
        let [ids, src, dst] = apart.map(|step| range.start as isize * step);
        // SAFETY: the loop has as many lines from there on; the input's first need not be readable where none is asked for.
        unsafe { copy(&lines, range.len(), inputs[1].offset(ids), inputs[0].wrapping_offset(src), output.offset(dst)) }
    }

    /// False if an index is out of range.
    ///
    /// # Safety
    /// The pointers are those of `run`.
    unsafe fn parts(
        &self,
        inputs: [*const u8; 2],
        output: *mut u8,
        parts: usize,
        range: std::ops::Range<usize>,
    ) -> bool {
        let [id_step, src_step, dst_step] = self.row.step;
        let (mut batch, mut ok) = (Batch::new(), true);
        // A run is copied when the next is known, while its own first bytes are on their way; and elements of a line, most of whose memory they need.
        let (mut waiting, mut waiting_line) = (None, None);
        let line = self.ids.len().saturating_mul(self.size);
        let is_dense = self.axis_step == self.size as isize && line <= prefetch::RUN && self.part >= line / 64;
        self.nest.for_each_part(parts, range, |offset, part| {
            let first = part * self.part;
            let n = self.part.min(self.row.len - first);
            let at = |t: usize| offset[t] + first as isize * self.row.step[t];
            // SAFETY: offsets are within the tensors, and so are indices in range.
            unsafe {
                let (ids, src) = (inputs[1].offset(at(0)), inputs[0].wrapping_offset(at(1)));
                let dst = output.offset(at(2));
                let row = |id: usize| (id != SKIP).then(|| src.wrapping_offset(id as isize * self.axis_step));
                let fine = match self.inner {
                    Inner::Line(copy) if is_dense => {
                        prefetch::prefetch(src, line);
                        let before = waiting_line.replace((copy, ids, n, src, dst));
                        before.is_none_or(|line| self.copy_line(line))
                    }
                    Inner::Line(copy) => self.copy_line((copy, ids, n, src, dst)),
                    Inner::Elements(copy) => {
                        let ids = self.ids.read(ids, id_step, n, &mut batch);
                        ids.map(|ids| copy(ids, src, src_step, self.axis_step, dst, dst_step)).is_some()
                    }
                    Inner::Row(copy) => {
                        let id = self.ids.read(ids, id_step, 1, &mut batch);
                        id.map(|id| copy(row(id[0]), src_step, dst, dst_step, n)).is_some()
                    }
                    Inner::Run => {
                        let id = self.ids.read(ids, id_step, 1, &mut batch);
                        let run = id.map(|id| (row(id[0]), dst, n * self.size));
                        if let Some((Some(src), _, bytes)) = run {
                            prefetch::prefetch(src, bytes.min(prefetch::RUN));
                        }
                        if let Some((src, dst, bytes)) = std::mem::replace(&mut waiting, run) {
                            copy_run(src, dst, bytes);
                        }
                        run.is_some()
                    }
                };
                ok &= fine;
            }
        });
        // SAFETY: the run and the line are some of those above.
        unsafe {
            if let Some((src, dst, bytes)) = waiting {
                copy_run(src, dst, bytes);
            }
            ok & waiting_line.is_none_or(|line| self.copy_line(line))
        }
    }

    /// Copies `n` elements of a line: the function for it, indices, `n`, the line and the destination. False if an index is out of range.
    ///
    /// # Safety
    /// As the function's.
    unsafe fn copy_line(&self, (copy, ids, n, src, dst): (CopyLine, *const u8, usize, *const u8, *mut u8)) -> bool {
        // SAFETY: the line has an element for each place on the axis.
        unsafe { copy(ids, n, src, self.ids.len(), self.axis_step, dst) }
    }
}

impl HostKernel for Gather {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let parts = self.row.len.div_ceil(self.part);
        let count = self.nest.count() * parts;
        if count == 0 {
            // SAFETY: the second input is the tensor of indices, all of which are readable.
            return unsafe { self.ids.check(inputs[1]) };
        }
        let ok = AtomicBool::new(true);
        let (input, ids, output) = (Shared(inputs[0]), Shared(inputs[1]), Shared(outputs[0]));
        let work = |range| {
            let inputs = [input.get(), ids.get()];
            // SAFETY: the pointers are those of `run`, valid until it returns; parts write disjoint elements of the output.
            let fine = unsafe {
                match (self.lines, self.one_loop()) {
                    (Some(copy), _) => self.copy_lines(copy, inputs, output.get(), range),
                    (_, Some(axis)) => self.runs(axis, inputs, output.get(), range),
                    _ => self.parts(inputs, output.get(), parts, range),
                }
            };
            if !fine {
                ok.store(false, Ordering::Relaxed);
            }
        };
        let grain = (CHUNK / (self.part * self.size)).max(1);
        if count <= 2 * grain {
            work(0..count);
        } else {
            parallel_for(count, grain, work);
        }
        // SAFETY: the second input is the tensor of indices that `ids` was made of.
        if ok.into_inner() { Ok(()) } else { Err(unsafe { self.ids.first_wrong(inputs[1]) }) }
    }

    fn cost(&self) -> u64 {
        let elements = self.nest.count() * self.row.len;
        20 + match self.inner {
            Inner::Elements(_) | Inner::Line(_) => 2 * elements,
            Inner::Row(_) => elements,
            Inner::Run => 5 * self.nest.count() + elements * self.size / 8,
        } as u64
    }
}

/// Makes rows of the loop around short ones whose elements have indices of their own: what is done once a row takes longer than to copy a few elements,
/// which may come in any order. Pieces of that loop, so that what lies next to each other is written at about the same time, and by one thread.
fn join_short_rows(nest: &mut Nest<3>) {
    let [.., outer, inner] = &mut nest.axes[..] else { return };
    if inner.step[0] == 0 || inner.len > SHORT {
        return;
    }
    let Some(len) = (4 * SHORT..=BATCH).rev().find(|&len| outer.len % len == 0) else { return };
    let row = Axis { len, step: outer.step };
    *outer = Axis { len: outer.len / len, step: outer.step.map(|step| step * len as isize) };
    nest.axes.push(row);
}

/// # Safety
/// `dst` is writable for `bytes`; `src`, if there is one, is readable for as many, none of them `dst`'s.
unsafe fn copy_run(src: Option<*const u8>, dst: *mut u8, bytes: usize) {
    // SAFETY: `dst` is writable for `bytes`, and `src`, another tensor's, is readable for as many if there is one.
    unsafe {
        match src {
            Some(src) => std::ptr::copy_nonoverlapping(src, dst, bytes),
            None => std::ptr::write_bytes(dst, 0, bytes),
        }
    }
}

/// # Safety
/// `dst` is writable and `src`, if there is one, readable for `n` elements of `T` at these steps.
unsafe fn copy_row<T: Copy + Default>(
    src: Option<*const u8>,
    src_step: isize,
    dst: *mut u8,
    dst_step: isize,
    n: usize,
) {
    for i in 0..n as isize {
        // SAFETY: `i` is below `n`, and both sides have `n` elements at their steps.
        unsafe {
            let value = src.map_or(T::default(), |src| src.offset(i * src_step).cast::<T>().read_unaligned());
            dst.offset(i * dst_step).cast::<T>().write_unaligned(value);
        }
    }
}

/// # Safety
/// Indices are [`SKIP`] or within the axis, of which `src` is readable at every element; `dst` is writable for an element for each index.
unsafe fn copy_elements<T: Copy + Default>(
    ids: &[usize],
    src: *const u8,
    src_step: isize,
    axis_step: isize,
    dst: *mut u8,
    dst_step: isize,
) {
    let write = |i: usize, value: T| {
        // SAFETY: `dst` has an element for each index, of which this is the `i`-th.
        unsafe { dst.offset(i as isize * dst_step).cast::<T>().write_unaligned(value) }
    };
    let read = |i: usize, id: usize| {
        let at = src.wrapping_offset(i as isize * src_step + id as isize * axis_step);
        // SAFETY: `id` is not SKIP, hence within the axis, which `src` has at its `i`-th element.
        unsafe { at.cast::<T>().read_unaligned() }
    };
    for (i, &id) in ids.iter().enumerate() {
        write(i, if id == SKIP { T::default() } else { read(i, id) });
    }
}
