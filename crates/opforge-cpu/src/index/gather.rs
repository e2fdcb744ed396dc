//! Elements and slices read at indices along one axis.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge_core::{Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;

use super::each::Each;
use super::ids::{BATCH, Batch, Ids, SKIP};
use crate::copy::run::SHORT_RUN;
use crate::copy::{Axis, Nest, Shared, byte_steps};
use crate::memory::prefetch;

/// Bytes that a thread writes at a time.
const CHUNK: usize = 64 << 10;

/// Reads along one axis at indices.
pub(super) struct Gather {
    ids: Ids,
    /// The loops over indices, input and output around `row`, and around what [`Inner::Each`] copies at a time.
    nest: Nest<3>,
    /// The innermost loop.
    row: Axis<3>,
    /// What a step along the indexed axis is in the input.
    axis_step: isize,
    /// Bytes of what is copied as a whole.
    size: usize,
    /// Rows that share an index are cut into parts of this many elements.
    part: usize,
    inner: Inner,
}

enum Inner {
    /// A row shares one index and is contiguous.
    Run,
    /// A row shares one index.
    Row(CopyRow),
    /// Every element, or every short run, has an index of its own.
    Each(Each),
}

/// Copies `n` elements between strided places; `None` stands for zeros.
type CopyRow = unsafe fn(Option<*const u8>, isize, *mut u8, isize, n: usize);

impl Gather {
    /// `id_steps` and `input_steps` are those along the output's dimensions, the input's without the indexed axis, whose step is
    /// `axis_step`.
    pub fn new(ids: Ids, id_steps: &[isize], axis_step: isize, input_steps: &[isize], output: &Meta) -> Self {
        let mut size = output.dtype.size_in_bytes();
        let steps = id_steps.iter().zip(input_steps).zip(byte_steps(output));
        let axes = output.dims().iter().zip(steps);
        let mut nest = Nest::collapse(axes.map(|(&len, ((&id, &src), dst))| Axis { len, step: [id, src, dst] }));
        // Short runs are copied as elements are.
        if let [.., outer, run] = nest.axes[..]
            && run.step == [0, size as isize, size as isize]
            && run.len * size <= SHORT_RUN
            && outer.step[0] != 0
        {
            nest.axes.pop();
            size *= run.len;
        }
        let row = nest.axes.pop().unwrap_or(Axis { len: 1, step: [0, size as isize, size as isize] });
        let inner = if row.step == [0, size as isize, size as isize] {
            Inner::Run
        } else if row.step[0] == 0 {
            Inner::Row(by_size!(size, T => copy_row::<T>))
        } else {
            Inner::Each(Each::new(&ids, &mut nest, row, axis_step, size))
        };
        Gather { ids, nest, row, axis_step, size, part: row.len.min(CHUNK / size).max(1), inner }
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
    unsafe fn runs(&self, axis: &Axis<3>, inputs: [*const u8; 2], output: *mut u8, range: Range<usize>) -> bool {
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

    /// Copies parts of rows that share an index; false if one is out of range.
    ///
    /// # Safety
    /// The pointers are those of `run`.
    unsafe fn parts(
        &self,
        inputs: [*const u8; 2],
        output: *mut u8,
        parts: usize,
        range: Range<usize>,
        copy: impl Fn(Option<*const u8>, *mut u8, usize),
    ) -> bool {
        let (mut batch, mut ok) = (Batch::new(), true);
        // A part is copied when the next is known, while its own first bytes are on their way.
        let mut waiting = None;
        self.nest.for_each_part(parts, range, |offset, part| {
            let first = part * self.part;
            let n = self.part.min(self.row.len - first);
            let at = |t: usize| offset[t] + first as isize * self.row.step[t];
            // SAFETY: offsets are within the tensors, and so are indices in range.
            let id = unsafe { self.ids.read(inputs[1].offset(at(0)), 0, 1, &mut batch) };
            let from = |id: usize| inputs[0].wrapping_offset(at(1) + id as isize * self.axis_step);
            let part = id.map(|id| ((id[0] != SKIP).then(|| from(id[0])), output.wrapping_offset(at(2)), n));
            if let Some((Some(src), _, n)) = part {
                prefetch::prefetch(src, (n * self.size).min(prefetch::RUN));
            }
            ok &= part.is_some();
            if let Some((src, dst, n)) = std::mem::replace(&mut waiting, part) {
                copy(src, dst, n);
            }
        });
        if let Some((src, dst, n)) = waiting {
            copy(src, dst, n);
        }
        ok
    }
}

impl HostKernel for Gather {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (parts, bytes) = match &self.inner {
            Inner::Each(each) => (each.parts(), each.part_bytes()),
            _ => (self.row.len.div_ceil(self.part), self.part * self.size),
        };
        let count = self.nest.count() * parts;
        if count == 0 {
            // SAFETY: the second input is the tensor of indices, all of which are readable.
            return unsafe { self.ids.check(inputs[1]) };
        }
        let ok = AtomicBool::new(true);
        let (input, ids, output) = (Shared(inputs[0]), Shared(inputs[1]), Shared(outputs[0]));
        let work = |range| {
            let (inputs, output) = ([input.get(), ids.get()], output.get());
            // SAFETY: the pointers are those of `run`, valid until it returns; parts write disjoint elements of the output.
            let fine = unsafe {
                match (&self.inner, self.one_loop()) {
                    (Inner::Each(each), _) => each.run(&self.ids, &self.nest, inputs, output, range),
                    (_, Some(axis)) => self.runs(axis, inputs, output, range),
                    (Inner::Row(copy), _) => self.parts(inputs, output, parts, range, |src, dst, n| {
                        copy(src, self.row.step[1], dst, self.row.step[2], n)
                    }),
                    (Inner::Run, _) => {
                        self.parts(inputs, output, parts, range, |src, dst, n| copy_run(src, dst, n * self.size))
                    }
                }
            };
            if !fine {
                ok.store(false, Ordering::Relaxed);
            }
        };
        let grain = (CHUNK / bytes).max(1);
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
        20 + match &self.inner {
            Inner::Each(each) => 2 * each.parts() * self.nest.count() * each.part_bytes() / self.size.clamp(1, 8),
            Inner::Row(_) => elements,
            Inner::Run => 5 * self.nest.count() + elements * self.size / 8,
        } as u64
    }
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
