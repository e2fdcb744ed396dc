//! Values written, added or combined at the places that indices name along a dimension.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge_core::{Complex, DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::parallel::parallel_for;
use opforge_runtime::{HostKernel, checkpoint};

use super::Combine;
use super::combine::{Add, Largest, Many, Multiply, Plain, Smallest, Truth};
use super::frequent::{self, Frequent};
use super::ids::{BATCH, Batch, Ids, SKIP};
use super::lines::{LONGEST, Lines};
use super::write::{Sums, Totals, Write, WriteLines};
use crate::copy::{Axis, Nest, Plan, Shared, byte_steps};
use crate::loops::work::LOOK;
use crate::matmul::operand::Operand;
use crate::memory::prefetch;
use crate::memory::scratch::with_scratch;
use smallvec::SmallVec;

/// Rows along another dimension than the indexed are walked side by side when they are at least this long.
const MIN_ROW: usize = 8;
/// Indices of a line up to which its neighbours are walked side by side however they lie: to begin a line takes longer. The second where all lines share
/// their indices.
const SHORT_LINE: [usize; 2] = [8, 16];
/// A line is copied just before it is written over where at least one in so many of its elements is: else the copy of all is shared out better.
const SPARSE: usize = 4;
/// Indices of rows after which they look whether they are to stop.
const ROWS: isize = (LOOK / ROW_PART) as isize;
/// Elements of a row that a thread writes at a time where they share an index.
const ROW_PART: usize = 4096;
/// The same at least, where rows are divided for that.
const LEAST_PART: usize = 128;
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
    /// The bytes of a line along the axis, where each line of the base is copied just before it is written over.
    line: Option<usize>,
    /// The loops over indices, source and sums beside the axis and `row`.
    nest: Nest<3>,
    axis: Axis<3>,
    /// A loop beside the axis inside of that along it; of length 1 if none is worth it.
    row: Axis<3>,
    part: usize,
    /// The loop for lines that are contiguous, as their indices are.
    direct: Option<WriteLines>,
    /// How short ones lie, which that loop walks many of.
    many: Option<Lines>,
    write: Write,
    sums: Option<Sums>,
    /// Where all rows share their indices, how those of the most frequent are added up.
    totals: Option<Totals>,
    /// The kernel for indices of which some are frequent, where all lines share them: one whose sums are totals.
    skewed: Option<Box<Scatter>>,
}

/// The loops of a scatter: over indices, source and output.
#[derive(Clone)]
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
    /// The kernel for `places` places along the axis.
    pub fn of(
        op: &'static str,
        ids: Ids,
        loops: Loops,
        places: usize,
        base: &Meta,
        how: Combine,
        output: &Meta,
    ) -> Result<Self> {
        let write = match how {
            Combine::Add => return Self::add(op, ids, loops, places, base, output),
            Combine::Set => Write::setting(base.dtype.size_in_bytes()),
            // Of numbers; NaN counts as the least, and as the greatest.
            Combine::Multiply => by_number!(op, base.dtype, T => Write::combining::<Plain<T>, Multiply>()),
            Combine::Least => by_number!(op, base.dtype, T => Write::combining::<Plain<T>, Smallest>()),
            Combine::Greatest => by_number!(op, base.dtype, T => Write::combining::<Plain<T>, Largest>()),
        };
        Ok(Self::new(ids, loops, base, output, write, None, None))
    }

    /// The kernel that adds to so many places along the axis. Dtypes whose sums are wider than their elements need a contiguous output.
    fn add(op: &'static str, ids: Ids, loops: Loops, places: usize, base: &Meta, output: &Meta) -> Result<Self> {
        /// Elements that are added, and those to a place on average, from which on totals for all places are worth their time.
        const MANY: [usize; 2] = [1 << 14, 64];
        fn floats<T: Operand>(many: bool) -> (Write, Option<Sums>, Option<Totals>) {
            if many {
                return (Write::combining::<Many<T>, Add>(), Some(Sums::of::<Many<T>>()), None);
            }
            (Write::combining::<T, Add>(), (!T::EXACT).then(Sums::of::<T>), Some(Totals::of::<T>()))
        }
        let added = loops.axis.len;
        // Each place is added to once at most, hence rounded once without a wider sum too.
        let once = added <= 1;
        let many = added >= MANY[0] && added / MANY[1] >= places && output.layout.is_contiguous();
        let parts = |many: bool| {
            Ok(match base.dtype {
                DType::Bool => (Write::combining::<Truth, Add>(), None, None),
                DType::U8 | DType::I8 => (Write::combining::<u8, Add>(), None, None),
                DType::U16 | DType::I16 => (Write::combining::<u16, Add>(), None, None),
                DType::U32 | DType::I32 => (Write::combining::<u32, Add>(), None, None),
                DType::U64 | DType::I64 => (Write::combining::<u64, Add>(), None, None),
                DType::F16 if once => (Write::combining::<Plain<f16>, Add>(), None, None),
                DType::BF16 if once => (Write::combining::<Plain<bf16>, Add>(), None, None),
                DType::F16 => floats::<f16>(many),
                DType::BF16 => floats::<bf16>(many),
                DType::F32 => floats::<f32>(many),
                DType::F64 => floats::<f64>(many),
                DType::C64 => (Write::combining::<Complex<f32>, Add>(), None, None),
                DType::C128 => (Write::combining::<Complex<f64>, Add>(), None, None),
                DType::F8E4M3 | DType::F8E5M2 => return Err(Error::UnsupportedDTypeForOp(base.dtype, op)),
            })
        };
        let (write, sums, totals) = parts(many)?;
        if sums.is_some() && !output.layout.is_contiguous() {
            let accepted = format!("a contiguous layout in {}", output.dtype);
            return Err(Error::value(op, "output", format!("{:?}", output.layout), accepted));
        }
        let through_totals = || {
            let (write, sums, totals) = parts(true)?;
            Ok::<_, Error>(Box::new(Self::new(ids.clone(), loops.clone(), base, output, write, sums, totals)))
        };
        let may_be_skewed = base.dtype.is_float() && !many && added >= frequent::LEAST && output.layout.is_contiguous();
        let skewed = may_be_skewed.then(through_totals).transpose()?;
        let scatter = Self::new(ids, loops, base, output, write, sums, totals);
        let skewed = skewed.filter(|_| scatter.totals.is_none() && scatter.shares_ids());
        Ok(Scatter { skewed, ..scatter })
    }

    /// Whether all lines along the axis have the same indices.
    fn shares_ids(&self) -> bool {
        self.row.step[0] == 0 && self.nest.axes.iter().all(|axis| axis.step[0] == 0)
    }

    fn new(
        ids: Ids,
        loops: Loops,
        base: &Meta,
        output: &Meta,
        write: Write,
        sums: Option<Sums>,
        totals: Option<Totals>,
    ) -> Self {
        let widened = sums.map_or(1, |s| s.size / output.dtype.size_in_bytes()) as isize;
        let widen = |axis: &Axis<3>| Axis { step: [axis.step[0], axis.step[1], axis.step[2] * widened], ..*axis };
        let mut nest = Nest::collapse(loops.beside.iter().map(widen));
        let size = output.dtype.size_in_bytes();
        let [id_step, src_step, step] = loops.axis.step;
        let contiguous =
            [id_step, step] == [ids.size() as isize, size as isize] && [0, size as isize].contains(&src_step);
        let direct = ids.direct(write.lines[0], write.lines[1]).filter(|_| contiguous);
        let is_short = |a: &Axis<3>| match a.step[0] {
            0 => loops.axis.len <= SHORT_LINE[1],
            _ => loops.axis.len <= SHORT_LINE[0] && direct.is_none(),
        };
        let is_near = |a: &Axis<3>| a.len >= MIN_ROW && (a.step[2] < loops.stride * widened || is_short(a));
        let beside = nest.axes.last().is_some_and(is_near);
        let row = if beside { nest.axes.pop() } else { None }.unwrap_or(Axis { len: 1, step: [0; 3] });
        // A row that shares one index needs no room for many. Few long ones are divided, for several threads.
        let most = if row.step[0] == 0 { ROW_PART } else { BATCH };
        let divided = nest.count() < 4 && loops.axis.len.saturating_mul(row.len) >= 4 * MIN_SHARED;
        let part = row.len.clamp(1, if divided { row.len.div_ceil(4).clamp(LEAST_PART, most) } else { most });
        let len = output.elem_count();
        let in_lines = base.layout.is_contiguous() && loops.stride == size as isize && row.len == 1 && sums.is_none();
        let dense = loops.axis.len.saturating_mul(SPARSE) >= ids.len();
        let line = (in_lines && dense && len > 0 && nest.count().checked_mul(ids.len()) == Some(len))
            .then(|| ids.len() * size);
        let (base, axis) = (Plan::new(base, output, &[]), widen(&loops.axis));
        let direct = direct.filter(|_| row.len == 1);
        let many = match nest.axes.as_slice() {
            [beside] if direct.is_some() && axis.len <= LONGEST => {
                Some(Lines { n: axis.len, len: ids.len(), step: src_step, apart: beside.step })
            }
            _ => None,
        };
        let mut scatter =
            Scatter { ids, base, len, line, nest, axis, row, part, direct, many, write, sums, totals, skewed: None };
        let through_totals = row.len > 1 && scatter.shares_ids() && axis.len >= frequent::LEAST;
        scatter.totals = totals.filter(|_| through_totals);
        scatter
    }

    /// Writes at the indices; false if one is out of range.
    ///
    /// # Safety
    /// `sums` is laid out as the output, with the size of sums. If there is a base, its lines are copied first.
    unsafe fn scatter(&self, base: Option<*const u8>, ids: *const u8, src: *const u8, sums: *mut u8) -> bool {
        let parts = self.row.len.div_ceil(self.part);
        let count = self.nest.count() * parts;
        let ok = AtomicBool::new(true);
        // SAFETY: the first row's indices are readable, and with totals all rows have them.
        let counted = self.totals.and_then(|totals| unsafe {
            Some((totals, Frequent::count(&self.ids, ids, self.axis.step[0], self.axis.len)?))
        });
        let (base, ids, src, sums) = (base.map(Shared), Shared(ids), Shared(src), Shared(sums));
        let work = |range: Range<usize>| {
            if let (Some(write), Some(lines)) = (self.direct, &self.many) {
                let at = |t: usize| range.start as isize * lines.apart[t];
                // SAFETY: the range's lines, which no other has, are within the tensors; those of a base that is copied lie side by side.
                let fine = unsafe {
                    let sums = sums.get().offset(at(2));
                    if let (Some(base), Some(bytes)) = (&base, self.line) {
                        std::ptr::copy_nonoverlapping(base.get().offset(at(2)), sums, range.len() * bytes);
                    }
                    write(lines, range.len(), ids.get().offset(at(0)), src.get().offset(at(1)), sums)
                };
                if !fine {
                    ok.store(false, Ordering::Relaxed);
                }
                return;
            }
            let mut batch = Batch::new();
            self.nest.for_each_part(parts, range, |offset, part| {
                let at = |t: usize| offset[t] + (part * self.part) as isize * self.row.step[t];
                // SAFETY: offsets are within the tensors; parts write disjoint places.
                let fine = unsafe {
                    let (ids, src) = (ids.get().offset(at(0)), src.get().offset(at(1)));
                    let sums = sums.get().offset(at(2));
                    if let (Some(base), Some(bytes)) = (&base, self.line) {
                        std::ptr::copy_nonoverlapping(base.get().offset(at(2)), sums, bytes);
                    }
                    if let Some(write) = self.direct {
                        self.contiguous_line(write, ids, src, sums)
                    } else if self.row.len > 1 {
                        let n = self.part.min(self.row.len - part * self.part);
                        if self.row.step[0] != 0 {
                            self.rows(ids, src, sums, n, &mut batch)
                        } else if let Some((totals, frequent)) = &counted {
                            let through_totals = |memory| {
                                let rows = frequent::Rows::new(frequent, *totals, n, memory);
                                self.alike_rows(ids, src, sums, n, Some(rows), &mut batch)
                            };
                            // Without memory for totals the sums are less precise, and right.
                            with_scratch(frequent.bytes(*totals, n), through_totals)
                                .unwrap_or_else(|_| self.alike_rows(ids, src, sums, n, None, &mut batch))
                        } else {
                            self.alike_rows(ids, src, sums, n, None, &mut batch)
                        }
                    } else {
                        self.line(ids, src, sums, &mut batch)
                    }
                };
                if !fine {
                    ok.store(false, Ordering::Relaxed);
                }
            });
        };
        let per_part = (self.part * self.axis.len).max(1);
        if count.saturating_mul(per_part) < MIN_SHARED {
            work(0..count);
        } else {
            parallel_for(count, MIN_SHARED.div_ceil(2 * per_part), work);
        }
        ok.into_inner()
    }

    /// Writes a line that is contiguous, as its indices are; false if an index is out of range.
    ///
    /// # Safety
    /// The pointers are to a line's first index, element and sum.
    unsafe fn contiguous_line(&self, write: WriteLines, ids: *const u8, src: *const u8, sums: *mut u8) -> bool {
        (0..self.axis.len).step_by(LOOK).all(|first| {
            checkpoint();
            let (n, at) = (LOOK.min(self.axis.len - first), first as isize);
            let line = Lines { n, len: self.ids.len(), step: self.axis.step[1], apart: [0; 3] };
            // SAFETY: `n` indices and elements are left from `first` on; the line of sums is whole.
            unsafe {
                let (ids, src) = (ids.offset(at * self.axis.step[0]), src.offset(at * self.axis.step[1]));
                write(&line, 1, ids, src, sums)
            }
        })
    }

    /// Writes `n` neighbouring rows, index after index; false if one is out of range.
    ///
    /// # Safety
    /// The pointers are to the first index, element and sum of `n` neighbouring rows of the planned loops.
    #[inline(always)]
    unsafe fn rows(&self, ids: *const u8, src: *const u8, sums: *mut u8, n: usize, batch: &mut Batch) -> bool {
        let ([id_step, src_step, sum_step], axis_step) = (self.row.step, self.axis.step[2]);
        for i in 0..self.axis.len as isize {
            if i % ROWS == ROWS - 1 {
                checkpoint();
            }
            // SAFETY: `i` is below the length along the axis: the pointers have `n` indices, elements and sums there.
            unsafe {
                let src = src.offset(i * self.axis.step[1]);
                match self.ids.read(ids.offset(i * self.axis.step[0]), id_step, n, batch) {
                    None => return false,
                    Some(ids) => (self.write.elements)(ids, src, src_step, sums, sum_step, axis_step),
                }
            }
        }
        true
    }

    /// [`Scatter::rows`], all with the same indices; those of which there are many through totals, if there are any.
    ///
    /// # Safety
    /// As for [`Scatter::rows`].
    unsafe fn alike_rows(
        &self,
        ids: *const u8,
        src: *const u8,
        sums: *mut u8,
        n: usize,
        mut totals: Option<frequent::Rows<'_>>,
        batch: &mut Batch,
    ) -> bool {
        let ([id_step, axis_src_step, axis_step], [_, src_step, sum_step]) = (self.axis.step, self.row.step);
        let place = |id: usize| (sums.wrapping_offset(id as isize * axis_step), sum_step);
        let ahead = (n * sum_step.unsigned_abs()).min(prefetch::RUN);
        let ahead_of_src = (n * src_step.unsigned_abs()).min(prefetch::RUN);
        for first in (0..self.axis.len).step_by(BATCH) {
            checkpoint();
            let many = BATCH.min(self.axis.len - first);
            // SAFETY: `many` indices are left from `first` on.
            let ids = unsafe { self.ids.read(ids.offset(first as isize * id_step), id_step, many, batch) };
            let Some(ids) = ids else { return false };
            for (i, &id) in ids.iter().enumerate() {
                if let Some(&next) = ids.get(i + 1) {
                    prefetch::prefetch(place(next).0, ahead);
                    prefetch::prefetch(src.wrapping_offset((first + i + 1) as isize * axis_src_step), ahead_of_src);
                }
                if id == SKIP {
                    continue;
                }
                // SAFETY: the source has `n` elements for the index, which is within the axis, where `place` has as many.
                unsafe {
                    let src = src.offset((first + i) as isize * axis_src_step);
                    match totals.as_mut().and_then(|rows| Some((rows.frequent.row(id)?, rows))) {
                        Some((row, rows)) => rows.add(row, id, (src, src_step), place),
                        None => (self.write.row)(src, src_step, place(id).0, sum_step, n),
                    }
                }
            }
        }
        // SAFETY: every owner is an index that was read, hence within the axis, where `place` has a row.
        totals.iter().for_each(|rows| unsafe { rows.finish(place) });
        true
    }

    /// Writes one line along the axis; false if an index is out of range.
    ///
    /// # Safety
    /// The pointers are to the first index, element and sum of a line of the planned loops.
    #[inline(always)]
    unsafe fn line(&self, ids: *const u8, src: *const u8, sums: *mut u8, batch: &mut Batch) -> bool {
        let [id_step, src_step, sum_step] = self.axis.step;
        for first in (0..self.axis.len).step_by(BATCH) {
            let n = BATCH.min(self.axis.len - first);
            let first = first as isize;
            checkpoint();
            // SAFETY: `n` of the line's indices and elements are left from `first` on; indices that are read are within the axis.
            unsafe {
                let Some(ids) = self.ids.read(ids.offset(first * id_step), id_step, n, batch) else { return false };
                (self.write.elements)(ids, src.offset(first * src_step), src_step, sums, 0, sum_step);
            }
        }
        true
    }
}

impl HostKernel for Scatter {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let ([base, ids, src], output) = (*inputs.first_chunk().expect("three inputs"), outputs[0]);
        if let Some(skewed) = &self.skewed {
            // SAFETY: the first line's indices are readable, and all lines have them; both kernels are for these tensors.
            unsafe {
                if Frequent::count(&self.ids, ids, self.axis.step[0], self.axis.len).is_some() {
                    return skewed.run(inputs, outputs);
                }
            }
        }
        // SAFETY: base and output have the planned layouts; the buffer has a sum for each of the output's `len` contiguous elements.
        unsafe {
            let apart = base != output.cast_const();
            if !apart || self.nest.count() * self.row.len == 0 {
                // What is changed in place stays as it is if an index is wrong; where nothing is written none would be read.
                self.ids.check(ids)?;
            }
            if apart && self.line.is_none() {
                self.base.run(base, output);
            }
            let fine = if let Some(sums) = self.sums {
                let mut buffer = super::buffer::<u64>((self.len * sums.size).div_ceil(8))?;
                let buffer = buffer.as_mut_ptr().cast::<u8>();
                sums.widen(output, buffer, self.len);
                let fine = self.scatter(None, ids, src, buffer);
                sums.narrow(buffer, output, self.len);
                fine
            } else {
                self.scatter(apart.then_some(base), ids, src, output)
            };
            if fine { Ok(()) } else { Err(self.ids.first_wrong(ids)) }
        }
    }

    fn cost(&self) -> u64 {
        let writes = self.nest.count() * self.row.len * self.axis.len;
        20 + self.base.cost() + 2 * writes as u64 + (self.len * self.sums.map_or(0, |s| s.size) / 8) as u64
    }
}
