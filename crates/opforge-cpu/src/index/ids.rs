//! Indices as kernels read them: once, checked, and as positions.
//!
//! Memory of numpy may change while a kernel runs. So what decides where is read or written is read once, into a copy, then checked, then used, and
//! what is written is bounded by what was counted. For the same reason a byte of a bool is true unless it is 0, and is never a Rust `bool`.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge_core::{DType, Error, IntDType, Meta, Result};
use opforge_runtime::parallel::parallel_for;

use super::{Indices, Special};
use crate::copy::{Axis, Nest, Shared, byte_steps};
use crate::simd::{Entry, Isa, Routine, Simd, resolve};

/// An index that stands for nothing.
pub(super) const SKIP: usize = usize::MAX;
/// Indices read at a time.
pub(super) const BATCH: usize = 512;

/// Room for the positions that some indices mean.
pub(super) struct Batch([MaybeUninit<usize>; BATCH]);

impl Batch {
    pub fn new() -> Self {
        Batch([const { MaybeUninit::uninit() }; BATCH])
    }
}

/// A tensor of indices into an axis.
#[derive(Clone)]
pub(super) struct Ids {
    op: &'static str,
    /// The loops over all of them, and the innermost of them.
    nest: Nest<1>,
    row: Axis<1>,
    reader: Reader,
    read: Entry<Reader>,
}

impl Ids {
    /// Indices into an axis of so many places, or into that part of a longer one.
    pub fn new(op: &'static str, ids: &Meta, len: usize, indices: impl Into<Indices>) -> Result<Self> {
        if !ids.dtype.is_int() {
            return Err(Error::dtype(op, "indices", ids.dtype, "an integer dtype"));
        }
        let axes = ids.dims().iter().zip(byte_steps(ids)).map(|(&len, step)| Axis { len, step: [step] });
        let mut nest = Nest::collapse(axes);
        let row = nest.axes.pop().unwrap_or(Axis { len: 1, step: [0] });
        let Indices { special, part } = indices.into();
        let (start, whole) = part.map_or((0, len), |part| (part.start, part.whole));
        if start.checked_add(len).is_none_or(|end| end > whole) {
            return Err(Error::index(op, "part", format!("{len} from {start} on"), format!("within {whole}")));
        }
        let reader = Reader { dtype: ids.dtype, start, len, whole, special };
        Ok(Ids { op, nest, row, reader, read: resolve(Isa::current()) })
    }

    /// The axis' length.
    pub fn len(&self) -> usize {
        self.reader.len
    }

    /// One of two loops that read contiguous indices themselves, `i64` or `u32`, the dtypes that programs use.
    pub fn direct<F>(&self, long: F, short: F) -> Option<F> {
        match self.reader {
            Reader { len, whole, .. } if len != whole => None,
            Reader { dtype: DType::I64, special: Special::None, .. } => Some(long),
            Reader { dtype: DType::U32, special: Special::None, .. } => Some(short),
            _ => None,
        }
    }

    /// The bytes of an index.
    pub fn size(&self) -> usize {
        self.reader.dtype.size_in_bytes()
    }

    /// What the `n` indices from `at` on, `step` bytes apart and at most [`BATCH`], mean: positions, or [`SKIP`] where those are accepted.
    /// `None` if any is out of range.
    ///
    /// Others may write to the indices meanwhile, as threads of numpy can: each is read once, and what is checked is the copy.
    ///
    /// # Safety
    /// `n` indices, at most [`BATCH`], are readable from `at` on, `step` bytes apart.
    #[inline(always)]
    pub unsafe fn read<'a>(&self, at: *const u8, step: isize, n: usize, room: &'a mut Batch) -> Option<&'a [usize]> {
        let into = room.0.as_mut_ptr().cast::<usize>();
        // SAFETY: the indices are readable; the reader was resolved for this processor, and there is room for a batch, which it has written.
        unsafe { (self.read)(&self.reader, (at, step, n, into)).then(|| std::slice::from_raw_parts(into, n)) }
    }

    /// Errors if any index is out of range.
    ///
    /// # Safety
    /// `ids` points to the tensor's first element, and all are readable.
    pub unsafe fn check(&self, ids: *const u8) -> Result<()> {
        let parts = self.row.len.div_ceil(BATCH);
        let count = self.nest.count() * parts;
        let ok = AtomicBool::new(true);
        let ids = Shared(ids);
        let scan = |range| {
            let mut batch = Batch::new();
            self.nest.for_each_part(parts, range, |[offset], part| {
                let first = part * BATCH;
                let at = ids.get().wrapping_offset(offset + first as isize * self.row.step[0]);
                // SAFETY: the offset is the nest's, from which the row has so many indices left, at most a batch.
                let read = unsafe { self.read(at, self.row.step[0], BATCH.min(self.row.len - first), &mut batch) };
                if read.is_none() {
                    ok.store(false, Ordering::Relaxed);
                }
            });
        };
        /// Batches that are worth another thread.
        const SHARED: usize = 32;
        if count < SHARED {
            scan(0..count)
        } else {
            parallel_for(count, SHARED, scan)
        }
        // SAFETY: `ids` is the tensor's first element still, and all are readable.
        if ok.into_inner() { Ok(()) } else { Err(unsafe { self.first_wrong(ids.get()) }) }
    }

    /// The error that names the first index out of range.
    ///
    /// # Safety
    /// As [`Ids::check`].
    #[cold]
    pub unsafe fn first_wrong(&self, ids: *const u8) -> Error {
        let (mut wrong, mut batch) = (None, Batch::new());
        let parts = self.row.len;
        self.nest.for_each_part(parts, 0..self.nest.count() * parts, |[offset], i| {
            let at = ids.wrapping_offset(offset + i as isize * self.row.step[0]);
            // SAFETY: the offset is that of one of the tensor's indices, all of which are readable.
            unsafe {
                if wrong.is_none() && self.read(at, 0, 1, &mut batch).is_none() {
                    wrong = Some(show(self.reader.dtype, at));
                }
            }
        });
        let Some(wrong) = wrong else {
            return Error::value(self.op, "index", "changed while it was read", "indices that stay as they are");
        };
        let (op, size) = (self.op, self.reader.whole);
        match (self.reader.special, usize::try_from(wrong)) {
            (Special::NegativeFromEnd, _) => out_of_range(op, wrong, size),
            (_, Ok(index)) => Error::InvalidIndex { op, index, size },
            (_, Err(_)) if size == 0 => Error::index(op, "index", wrong, "none, for the axis is empty"),
            (_, Err(_)) => Error::index(op, "index", wrong, format!("0 to {}", size - 1)),
        }
    }
}

/// The error of an index into an axis of `len` places, where negative ones count from the end.
pub(super) fn out_of_range(op: &'static str, index: i128, len: usize) -> Error {
    let accepted = match len {
        0 => "none, for the dimension is empty".to_string(),
        n => format!("-{n} to {}", n - 1),
    };
    Error::index(op, "index", index, accepted)
}

/// Calls `body` with the number and the position of each of `n` contiguous indices; false at the first beyond `len`.
///
/// # Safety
/// `n` contiguous indices are readable.
#[inline(always)]
pub(super) unsafe fn each_position<I: IntDType>(
    ids: *const u8,
    n: usize,
    len: usize,
    mut body: impl FnMut(usize, usize),
) -> bool {
    /// Indices that are checked before the first of them is used.
    const TOGETHER: usize = 4;
    let ids = ids.cast::<I>();
    // Volatile: others may write to it meanwhile, and what is checked must be what is used. Below zero it is larger than any length.
    // SAFETY: called with numbers below `n`, of readable indices, which are aligned.
    let position = |i: usize| unsafe { ids.add(i).read_volatile() }.as_usize();
    let whole = n / TOGETHER * TOGETHER;
    for first in (0..whole).step_by(TOGETHER) {
        let positions: [usize; TOGETHER] = std::array::from_fn(|i| position(first + i));
        if positions.iter().any(|&position| position >= len) {
            return false;
        }
        for (i, position) in (first..).zip(positions) {
            body(i, position);
        }
    }
    for i in whole..n {
        let position = position(i);
        if position >= len {
            return false;
        }
        body(i, position);
    }
    true
}

/// Reads indices of a dtype into an axis of `whole` places, of which this one has the `len` from `start` on.
#[derive(Clone)]
struct Reader {
    dtype: DType,
    start: usize,
    len: usize,
    whole: usize,
    special: Special,
}

impl Reader {
    /// Whether some may be [`SKIP`].
    fn may_skip(&self) -> bool {
        self.special == Special::LargestSkips || self.len != self.whole
    }

    /// Whether all are in range.
    ///
    /// # Safety
    /// `n` indices are readable, and so many positions can be written.
    #[inline(always)]
    unsafe fn convert<I: IntDType>(&self, at: *const u8, step: isize, n: usize, into: *mut usize) -> bool {
        let &Reader { start, len, whole, special, .. } = self;
        let from_end = if special == Special::NegativeFromEnd { whole } else { 0 };
        // Without a choice inside, so that it is compiled to vectors. What stays below zero is larger than any length.
        let place = |id: I| id.as_usize().wrapping_add(if id < I::zero() { from_end } else { 0 });
        if !self.may_skip() {
            // SAFETY: `n` indices are readable from `at` on, and `into` has room for as many positions, as this function demands.
            return unsafe { each(at, step, n, into, |id| (place(id), place(id) < len)) };
        }
        let position = |id: I| {
            let is_skip = (special == Special::LargestSkips) & (id == I::max_value());
            // Before the part it is larger than any length.
            let here = place(id).wrapping_sub(start);
            (if is_skip | (here >= len) { SKIP } else { here }, (place(id) < whole) | is_skip)
        };
        // SAFETY: `n` indices are readable from `at` on, and `into` has room for as many positions, as this function demands.
        unsafe { each(at, step, n, into, position) }
    }
}

/// Writes the position of each of `n` indices, `step` bytes apart; whether all are in range.
///
/// # Safety
/// `n` indices are readable, and so many positions can be written.
#[inline(always)]
unsafe fn each<I: IntDType>(
    at: *const u8,
    step: isize,
    n: usize,
    into: *mut usize,
    position: impl Fn(I) -> (usize, bool),
) -> bool {
    let mut ok = true;
    // SAFETY: `i` is below `n`, the number of readable indices, which are aligned.
    unsafe {
        if step == size_of::<I>() as isize {
            for i in 0..n {
                let (place, fine) = position(at.cast::<I>().add(i).read());
                into.add(i).write(place);
                ok &= fine;
            }
            return ok;
        }
        for i in 0..n {
            let (place, fine) = position(at.offset(i as isize * step).cast::<I>().read());
            into.add(i).write(place);
            ok &= fine;
        }
    }
    ok
}

impl Routine for Reader {
    /// Indices, the bytes between them, their number, and where positions are written to.
    type Args = (*const u8, isize, usize, *mut usize);
    /// Whether all are in range.
    type Output = bool;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (at, step, n, into): Self::Args) -> bool {
        // SAFETY: `i` is below `n`, the number of readable indices, which are aligned.
        unsafe {
            match self.dtype {
                DType::U8 => self.convert::<u8>(at, step, n, into),
                DType::U16 => self.convert::<u16>(at, step, n, into),
                DType::U32 => self.convert::<u32>(at, step, n, into),
                DType::U64 => self.convert::<u64>(at, step, n, into),
                DType::I8 => self.convert::<i8>(at, step, n, into),
                DType::I16 => self.convert::<i16>(at, step, n, into),
                DType::I32 => self.convert::<i32>(at, step, n, into),
                _ => self.convert::<i64>(at, step, n, into),
            }
        }
    }
}

/// # Safety
/// An integer of the dtype is readable.
unsafe fn show(dtype: DType, at: *const u8) -> i128 {
    // SAFETY: `at` points to an aligned integer of the dtype, whose arm this is.
    unsafe {
        match dtype {
            DType::U8 => at.read().into(),
            DType::U16 => at.cast::<u16>().read().into(),
            DType::U32 => at.cast::<u32>().read().into(),
            DType::U64 => at.cast::<u64>().read().into(),
            DType::I8 => at.cast::<i8>().read().into(),
            DType::I16 => at.cast::<i16>().read().into(),
            DType::I32 => at.cast::<i32>().read().into(),
            _ => at.cast::<i64>().read().into(),
        }
    }
}
