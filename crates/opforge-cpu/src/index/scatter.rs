use opforge_core::{Complex, DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::Kernel;
use opforge_runtime::parallel::parallel_for;

use super::combine::{Add, Combine, Largest, Multiply, Number, Plain, Reduce, Smallest, Summand, Truth};
use super::ids::{BATCH, Ids, SKIP};
use crate::copy::{Axis, Nest, Plan, Shared, byte_steps};
use smallvec::SmallVec;

/// Rows along another dimension than the indexed are walked side by side when they are at least this long.
const MIN_ROW: usize = 8;
/// Elements of a row that a thread writes at a time where they share an index.
const ROW_PART: usize = 4096;
/// Elements below which a scatter is not shared among threads.
const MIN_SHARED: usize = 1 << 14;

/// Writes along one axis at indices.
///
/// Threads share the loops beside the axis, so that all writes to one place are one thread's, in order along the axis.
pub(super) struct Scatter {
    ids: Ids,
    base: Plan,
    /// The output's elements.
    len: usize,
    /// The loops over indices, source and sums beside the axis and `row`.
    nest: Nest<3>,
    axis: Axis<3>,
    /// A loop beside the axis inside of that along it; of length 1 if none is worth it.
    row: Axis<3>,
    part: usize,
    write: Write,
    sums: Option<Sums>,
}

/// How an element is written.
#[derive(Clone, Copy)]
struct Write {
    /// One element for each index: source and its step, sums and theirs, the step of an index in the sums.
    elements: unsafe fn(&[usize], *const u8, isize, *mut u8, isize, isize),
    /// Elements side by side: source and its step, sums and theirs, their number.
    row: unsafe fn(*const u8, isize, *mut u8, isize, usize),
}

/// How a dtype's sums are kept wider than it is: the size of a sum, and the ways there and back.
#[derive(Clone, Copy)]
struct Sums {
    size: usize,
    widen: unsafe fn(*const u8, *mut u8, usize),
    narrow: unsafe fn(*const u8, *mut u8, usize),
}

/// The loops of a scatter: over indices, source and output.
pub(super) struct Loops {
    /// Along the indices; what a step by one index is in the output.
    pub axis: Axis<3>,
    /// Those beside it.
    pub beside: SmallVec<[Axis<3>; 6]>,
    /// How far apart in the output neighbours along the indexed axis are.
    pub stride: isize,
}

impl Loops {
    /// The loops for indices of the source's rank into one axis.
    pub fn along(dims: &[usize], id_steps: &[isize], src: &Meta, axis: usize, output: &Meta) -> Self {
        let steps = id_steps.iter().zip(byte_steps(src)).zip(byte_steps(output));
        let mut beside: SmallVec<[Axis<3>; 6]> =
            dims.iter().zip(steps).map(|(&len, ((&id, src), dst))| Axis { len, step: [id, src, dst] }).collect();
        let axis = beside.remove(axis);
        Loops { axis, beside, stride: axis.step[2] }
    }
}

impl Scatter {
    /// The kernel that overwrites.
    pub fn set(ids: Ids, loops: Loops, base: &Meta, output: &Meta) -> Self {
        let write = by_size!(base.dtype.size_in_bytes(), T => Write { elements: set::<T>, row: set_row::<T> });
        Self::new(ids, loops, base, output, write, None)
    }

    /// The kernel that adds. Dtypes whose sums are wider than their elements need a contiguous output.
    pub fn add(op: &'static str, ids: Ids, loops: Loops, base: &Meta, output: &Meta) -> Result<Self> {
        let (write, sums) = match base.dtype {
            DType::Bool => (Write::combining::<Truth, Add>(), None),
            DType::U8 | DType::I8 => (Write::combining::<u8, Add>(), None),
            DType::U16 | DType::I16 => (Write::combining::<u16, Add>(), None),
            DType::U32 | DType::I32 => (Write::combining::<u32, Add>(), None),
            DType::U64 | DType::I64 => (Write::combining::<u64, Add>(), None),
            DType::F16 => (Write::combining::<f16, Add>(), Some(Sums::of::<f16>())),
            DType::BF16 => (Write::combining::<bf16, Add>(), Some(Sums::of::<bf16>())),
            DType::F32 => (Write::combining::<f32, Add>(), None),
            DType::F64 => (Write::combining::<f64, Add>(), None),
            DType::C64 => (Write::combining::<Complex<f32>, Add>(), None),
            DType::C128 => (Write::combining::<Complex<f64>, Add>(), None),
        };
        if sums.is_some() && !output.layout.is_contiguous() {
            let accepted = format!("a contiguous layout in {}", output.dtype);
            return Err(Error::value(op, "output", format!("{:?}", output.layout), accepted));
        }
        Ok(Self::new(ids, loops, base, output, write, sums))
    }

    /// The kernel that multiplies, or keeps the smallest or largest: of numbers, NaN counting as both.
    pub fn reduce(op: &'static str, ids: Ids, loops: Loops, base: &Meta, how: Reduce, output: &Meta) -> Result<Self> {
        fn write<T: Number>(how: Reduce) -> Write {
            match how {
                Reduce::Product => Write::combining::<Plain<T>, Multiply>(),
                Reduce::Smallest => Write::combining::<Plain<T>, Smallest>(),
                Reduce::Largest => Write::combining::<Plain<T>, Largest>(),
            }
        }
        let write = by_number!(op, base.dtype, T => write::<T>(how));
        Ok(Self::new(ids, loops, base, output, write, None))
    }

    fn new(ids: Ids, loops: Loops, base: &Meta, output: &Meta, write: Write, sums: Option<Sums>) -> Self {
        let widened = sums.map_or(1, |s| s.size / output.dtype.size_in_bytes()) as isize;
        let widen = |axis: &Axis<3>| Axis { step: [axis.step[0], axis.step[1], axis.step[2] * widened], ..*axis };
        let mut nest = Nest::collapse(loops.beside.iter().map(widen));
        let beside = nest.axes.last().is_some_and(|a| a.len >= MIN_ROW && a.step[2] < loops.stride * widened);
        let row = if beside { nest.axes.pop() } else { None }.unwrap_or(Axis { len: 1, step: [0; 3] });
        // A row that shares one index needs no room for many.
        let part = row.len.clamp(1, if row.step[0] == 0 { ROW_PART } else { BATCH });
        let (len, base) = (output.elem_count(), Plan::new(base, output, &[]));
        Scatter { ids, base, len, nest, axis: widen(&loops.axis), row, part, write, sums }
    }

    /// Copies the base to the output and writes over it at `ids`, without checking them.
    ///
    /// # Safety
    /// As [`Kernel::run`], and no index is out of range.
    pub unsafe fn write(&self, base: *const u8, ids: *const u8, src: *const u8, output: *mut u8) -> Result<()> {
        // SAFETY: by the contract; the buffer for sums is as large as the output's elements need.
        unsafe {
            if base != output.cast_const() {
                self.base.run(base, output);
            }
            let Some(sums) = self.sums else {
                self.scatter(ids, src, output);
                return Ok(());
            };
            let mut buffer = super::buffer::<u64>((self.len * sums.size).div_ceil(8))?;
            let buffer = buffer.as_mut_ptr().cast::<u8>();
            (sums.widen)(output, buffer, self.len);
            self.scatter(ids, src, buffer);
            (sums.narrow)(buffer, output, self.len);
        }
        Ok(())
    }

    /// # Safety
    /// `sums` is laid out as the output, with the size of sums; the indices are checked.
    unsafe fn scatter(&self, ids: *const u8, src: *const u8, sums: *mut u8) {
        let parts = self.row.len.div_ceil(self.part);
        let count = self.nest.count() * parts;
        let (ids, src, sums) = (Shared(ids), Shared(src), Shared(sums));
        let work = |range| {
            let mut batch = [0; BATCH];
            self.nest.for_each_part(parts, range, |offset, part| {
                let at = |t: usize| offset[t] + (part * self.part) as isize * self.row.step[t];
                // SAFETY: offsets are within the tensors; parts write disjoint places.
                unsafe {
                    let (ids, src) = (ids.get().offset(at(0)), src.get().offset(at(1)));
                    let sums = sums.get().offset(at(2));
                    if self.row.len > 1 {
                        self.rows(ids, src, sums, self.part.min(self.row.len - part * self.part), &mut batch);
                    } else {
                        self.line(ids, src, sums, &mut batch);
                    }
                }
            });
        };
        let per_part = (self.part * self.axis.len).max(1);
        if count.saturating_mul(per_part) < MIN_SHARED {
            work(0..count);
        } else {
            parallel_for(count, MIN_SHARED.div_ceil(2 * per_part), work);
        }
    }

    /// Writes `n` neighbouring rows, index after index.
    ///
    /// # Safety
    /// The pointers are valid for the rows.
    #[inline(always)]
    unsafe fn rows(&self, ids: *const u8, src: *const u8, sums: *mut u8, n: usize, batch: &mut [usize; BATCH]) {
        let ([id_step, src_step, sum_step], axis_step) = (self.row.step, self.axis.step[2]);
        for i in 0..self.axis.len as isize {
            // SAFETY: by the contract.
            unsafe {
                let ids = ids.offset(i * self.axis.step[0]);
                let src = src.offset(i * self.axis.step[1]);
                if id_step != 0 {
                    self.ids.read(ids, id_step, &mut batch[..n]);
                    (self.write.elements)(&batch[..n], src, src_step, sums, sum_step, axis_step);
                    continue;
                }
                let id = self.ids.read_one(ids);
                if id != SKIP {
                    (self.write.row)(src, src_step, sums.offset(id as isize * axis_step), sum_step, n);
                }
            }
        }
    }

    /// Writes one line along the axis.
    ///
    /// # Safety
    /// The pointers are valid for the line.
    #[inline(always)]
    unsafe fn line(&self, ids: *const u8, src: *const u8, sums: *mut u8, batch: &mut [usize; BATCH]) {
        let [id_step, src_step, sum_step] = self.axis.step;
        for first in (0..self.axis.len).step_by(BATCH) {
            let batch = &mut batch[..BATCH.min(self.axis.len - first)];
            let first = first as isize;
            // SAFETY: by the contract.
            unsafe {
                self.ids.read(ids.offset(first * id_step), id_step, batch);
                (self.write.elements)(batch, src.offset(first * src_step), src_step, sums, 0, sum_step);
            }
        }
    }
}

impl Kernel for Scatter {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let [base, ids, src] = *inputs.first_chunk().expect("three inputs");
        // SAFETY: by the contract; the indices are checked first.
        unsafe {
            self.ids.check(ids)?;
            self.write(base, ids, src, outputs[0])
        }
    }

    fn cost(&self) -> u64 {
        let writes = self.nest.count() * self.row.len * self.axis.len;
        20 + self.base.cost() + 2 * writes as u64 + (self.len * self.sums.map_or(0, |s| s.size) / 8) as u64
    }
}

impl Write {
    fn combining<T: Summand, C: Combine<T>>() -> Self {
        Write { elements: add::<T, C>, row: add_row::<T, C> }
    }
}

impl Sums {
    fn of<T: Summand>() -> Self {
        Sums { size: size_of::<T::Sum>(), widen: widen::<T>, narrow: narrow::<T> }
    }
}

/// # Safety
/// Valid for `n` elements.
unsafe fn widen<T: Summand>(from: *const u8, to: *mut u8, n: usize) {
    for i in 0..n {
        // SAFETY: by the contract.
        unsafe { *to.cast::<T::Sum>().add(i) = (*from.cast::<T>().add(i)).widen() };
    }
}

/// # Safety
/// Valid for `n` elements.
unsafe fn narrow<T: Summand>(from: *const u8, to: *mut u8, n: usize) {
    for i in 0..n {
        // SAFETY: by the contract.
        unsafe { *to.cast::<T>().add(i) = T::narrow(*from.cast::<T::Sum>().add(i)) };
    }
}

/// # Safety
/// Valid for all indices but [`SKIP`].
unsafe fn set<T: Copy>(
    ids: &[usize],
    src: *const u8,
    src_step: isize,
    dst: *mut u8,
    dst_step: isize,
    axis_step: isize,
) {
    for (i, &id) in ids.iter().enumerate().filter(|(_, id)| **id != SKIP) {
        let i = i as isize;
        // SAFETY: by the contract.
        unsafe {
            let value = src.offset(i * src_step).cast::<T>().read_unaligned();
            dst.offset(i * dst_step + id as isize * axis_step).cast::<T>().write_unaligned(value);
        }
    }
}

/// # Safety
/// As [`set`]; sums are of the accumulator's type.
unsafe fn add<T: Summand, C: Combine<T>>(
    ids: &[usize],
    src: *const u8,
    src_step: isize,
    sums: *mut u8,
    sum_step: isize,
    axis_step: isize,
) {
    for (i, &id) in ids.iter().enumerate().filter(|(_, id)| **id != SKIP) {
        let i = i as isize;
        // SAFETY: by the contract.
        unsafe {
            let value = (*src.offset(i * src_step).cast::<T>()).widen();
            let sum = sums.offset(i * sum_step + id as isize * axis_step).cast::<T::Sum>();
            *sum = C::combine(*sum, value);
        }
    }
}

/// # Safety
/// Valid for `n` elements.
unsafe fn set_row<T: Copy>(src: *const u8, src_step: isize, dst: *mut u8, dst_step: isize, n: usize) {
    // SAFETY: by the contract.
    (0..n as isize).for_each(|i| unsafe {
        let value = src.offset(i * src_step).cast::<T>().read_unaligned();
        dst.offset(i * dst_step).cast::<T>().write_unaligned(value);
    });
}

/// # Safety
/// As [`set_row`]; sums are of the accumulator's type.
unsafe fn add_row<T: Summand, C: Combine<T>>(
    src: *const u8,
    src_step: isize,
    sums: *mut u8,
    sum_step: isize,
    n: usize,
) {
    // SAFETY: by the contract.
    unsafe {
        if src_step == size_of::<T>() as isize && sum_step == size_of::<T::Sum>() as isize {
            let src = std::slice::from_raw_parts(src.cast::<T>(), n);
            let sums = std::slice::from_raw_parts_mut(sums.cast::<T::Sum>(), n);
            sums.iter_mut().zip(src).for_each(|(sum, value)| *sum = C::combine(*sum, value.widen()));
            return;
        }
        for i in 0..n as isize {
            let value = (*src.offset(i * src_step).cast::<T>()).widen();
            let sum = sums.offset(i * sum_step).cast::<T::Sum>();
            *sum = C::combine(*sum, value);
        }
    }
}
