use opforge_core::{Meta, Result};
use opforge_runtime::Kernel;
use opforge_runtime::parallel::parallel_for;

use super::ids::{BATCH, Ids, SKIP};
use crate::copy::{Axis, Nest, Shared, byte_steps};

/// Bytes that a thread writes at a time.
const CHUNK: usize = 64 << 10;

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
}

enum Inner {
    /// A row shares one index and is contiguous.
    Run,
    /// A row shares one index.
    Row(CopyRow),
    /// Every element has an index of its own.
    Elements(CopyElements),
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
        let row = nest.axes.pop().unwrap_or(Axis { len: 1, step: [0, size as isize, size as isize] });
        let (inner, part) = if row.step == [0, size as isize, size as isize] {
            (Inner::Run, row.len.min(CHUNK / size))
        } else if row.step[0] == 0 {
            (Inner::Row(by_size!(size, T => copy_row::<T>)), row.len.min(CHUNK / size))
        } else {
            (Inner::Elements(by_size!(size, T => copy_elements::<T>)), row.len.min(BATCH))
        };
        Gather { ids, nest, row, axis_step, size, part: part.max(1), inner }
    }

    /// # Safety
    /// The pointers are those of `run`, the indices checked.
    unsafe fn parts(&self, inputs: [*const u8; 2], output: *mut u8, parts: usize, range: std::ops::Range<usize>) {
        let [_, src_step, dst_step] = self.row.step;
        let mut batch = [0; BATCH];
        self.nest.for_each_part(parts, range, |offset, part| {
            let first = part * self.part;
            let n = self.part.min(self.row.len - first);
            let at = |t: usize| offset[t] + first as isize * self.row.step[t];
            // SAFETY: offsets are within the tensors, and so are checked indices.
            unsafe {
                let (ids, src) = (inputs[1].offset(at(0)), inputs[0].wrapping_offset(at(1)));
                let dst = output.offset(at(2));
                if let Inner::Elements(copy) = self.inner {
                    let batch = &mut batch[..n];
                    self.ids.read(ids, self.row.step[0], batch);
                    return copy(batch, src, src_step, self.axis_step, dst, dst_step);
                }
                let id = self.ids.read_one(ids);
                let src = (id != SKIP).then(|| src.wrapping_offset(id as isize * self.axis_step));
                match (&self.inner, src) {
                    (Inner::Row(copy), src) => copy(src, src_step, dst, dst_step, n),
                    (_, Some(src)) => std::ptr::copy_nonoverlapping(src, dst, n * self.size),
                    (_, None) => std::ptr::write_bytes(dst, 0, n * self.size),
                }
            }
        });
    }

    /// Reads what `ids` name, without checking them.
    ///
    /// # Safety
    /// As [`Kernel::run`], and no index is out of range.
    pub unsafe fn copy(&self, input: *const u8, ids: *const u8, output: *mut u8) {
        let parts = self.row.len.div_ceil(self.part);
        let count = self.nest.count() * parts;
        let (input, ids, output) = (Shared(input), Shared(ids), Shared(output));
        // SAFETY: parts write disjoint elements.
        let work = |range| unsafe { self.parts([input.get(), ids.get()], output.get(), parts, range) };
        let grain = (CHUNK / (self.part * self.size)).max(1);
        if count <= 2 * grain {
            work(0..count);
        } else {
            parallel_for(count, grain, work);
        }
    }
}

impl Kernel for Gather {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: by the contract; the indices are checked first.
        unsafe {
            self.ids.check(inputs[1])?;
            self.copy(inputs[0], inputs[1], outputs[0]);
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        let elements = self.nest.count() * self.row.len;
        20 + match self.inner {
            Inner::Elements(_) => 2 * elements,
            Inner::Row(_) => elements,
            Inner::Run => 5 * self.nest.count() + elements * self.size / 8,
        } as u64
    }
}

/// # Safety
/// Valid for `n` elements at the steps.
unsafe fn copy_row<T: Copy + Default>(
    src: Option<*const u8>,
    src_step: isize,
    dst: *mut u8,
    dst_step: isize,
    n: usize,
) {
    for i in 0..n as isize {
        // SAFETY: by the contract.
        unsafe {
            let value = src.map_or(T::default(), |src| src.offset(i * src_step).cast::<T>().read_unaligned());
            dst.offset(i * dst_step).cast::<T>().write_unaligned(value);
        }
    }
}

/// # Safety
/// Valid for all indices, or they are [`SKIP`].
unsafe fn copy_elements<T: Copy + Default>(
    ids: &[usize],
    src: *const u8,
    src_step: isize,
    axis_step: isize,
    dst: *mut u8,
    dst_step: isize,
) {
    for (i, &id) in ids.iter().enumerate() {
        let i = i as isize;
        // SAFETY: by the contract.
        unsafe {
            let value = if id == SKIP {
                T::default()
            } else {
                src.wrapping_offset(i * src_step + id as isize * axis_step).cast::<T>().read_unaligned()
            };
            dst.offset(i * dst_step).cast::<T>().write_unaligned(value);
        }
    }
}
