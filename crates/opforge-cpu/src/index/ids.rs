use std::sync::atomic::{AtomicBool, Ordering};

use opforge_core::{DType, Error, IntDType, Meta, Result};
use opforge_runtime::parallel::parallel_for;

use super::OnMax;
use crate::copy::{Axis, Nest, Shared, byte_steps};

/// An index that stands for nothing.
pub(super) const SKIP: usize = usize::MAX;
/// An index below zero; beyond any axis.
const NEGATIVE: usize = usize::MAX - 1;
/// Indices read at a time.
pub(super) const BATCH: usize = 128;

/// Reads some indices, the given bytes apart, as positions, [`SKIP`] or [`NEGATIVE`].
type Read = unsafe fn(*const u8, isize, &mut [usize]);

/// A tensor of indices into an axis.
pub(super) struct Ids {
    op: &'static str,
    /// The axis' length.
    len: usize,
    on_max: OnMax,
    nest: Nest<1>,
    /// The innermost loop.
    row: Axis<1>,
    read: Read,
    show: unsafe fn(*const u8) -> i128,
}

impl Ids {
    pub fn new(op: &'static str, ids: &Meta, len: usize, on_max: OnMax) -> Result<Self> {
        let (read, show) = match ids.dtype {
            DType::U8 => accessors::<u8>(on_max),
            DType::U16 => accessors::<u16>(on_max),
            DType::U32 => accessors::<u32>(on_max),
            DType::U64 => accessors::<u64>(on_max),
            DType::I8 => accessors::<i8>(on_max),
            DType::I16 => accessors::<i16>(on_max),
            DType::I32 => accessors::<i32>(on_max),
            DType::I64 => accessors::<i64>(on_max),
            other => return Err(Error::dtype(op, "indices", other, "an integer dtype")),
        };
        let axes = ids.dims().iter().zip(byte_steps(ids)).map(|(&len, step)| Axis { len, step: [step] });
        let mut nest = Nest::collapse(axes);
        let row = nest.axes.pop().unwrap_or(Axis { len: 1, step: [0] });
        Ok(Ids { op, len, on_max, nest, row, read, show })
    }

    /// Reads the indices at `at`, at most [`BATCH`].
    ///
    /// # Safety
    /// They are readable.
    #[inline(always)]
    pub unsafe fn read(&self, at: *const u8, step: isize, into: &mut [usize]) {
        // SAFETY: by the contract.
        unsafe { (self.read)(at, step, into) }
    }

    /// Reads one index.
    ///
    /// # Safety
    /// It is readable.
    #[inline(always)]
    pub unsafe fn read_one(&self, at: *const u8) -> usize {
        let mut id = [0];
        // SAFETY: by the contract.
        unsafe { (self.read)(at, 0, &mut id) };
        id[0]
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
            let mut batch = [0; BATCH];
            self.nest.for_each_part(parts, range, |[offset], part| {
                let batch = &mut batch[..BATCH.min(self.row.len - part * BATCH)];
                let at = ids.get().wrapping_offset(offset + (part * BATCH) as isize * self.row.step[0]);
                // SAFETY: within the tensor.
                unsafe { self.read(at, self.row.step[0], batch) };
                if batch.iter().any(|id| self.is_wrong(*id)) {
                    ok.store(false, Ordering::Relaxed);
                }
            });
        };
        if count < 64 {
            scan(0..count)
        } else {
            parallel_for(count, 64, scan)
        }
        if ok.into_inner() { Ok(()) } else { Err(self.first_wrong(ids.get())) }
    }

    #[inline(always)]
    fn is_wrong(&self, id: usize) -> bool {
        id >= self.len && !(id == SKIP && self.on_max == OnMax::Skip)
    }

    #[cold]
    fn first_wrong(&self, ids: *const u8) -> Error {
        let mut wrong = None;
        let parts = self.row.len;
        self.nest.for_each_part(parts, 0..self.nest.count() * parts, |[offset], i| {
            let at = ids.wrapping_offset(offset + i as isize * self.row.step[0]);
            // SAFETY: within the tensor, as `check`'s caller promised.
            unsafe {
                if wrong.is_none() && self.is_wrong(self.read_one(at)) {
                    wrong = Some((self.show)(at));
                }
            }
        });
        let accepted = match self.len {
            0 => "none, for the axis is empty".to_string(),
            len => format!("0 to {}", len - 1),
        };
        Error::index(self.op, "index", wrong.unwrap_or_default(), accepted)
    }
}

fn accessors<I: IntDType + Into<i128>>(on_max: OnMax) -> (Read, unsafe fn(*const u8) -> i128) {
    match on_max {
        OnMax::Error => (read::<I, false>, show::<I>),
        OnMax::Skip => (read::<I, true>, show::<I>),
    }
}

/// # Safety
/// The elements are readable.
unsafe fn read<I: IntDType, const SKIP_MAX: bool>(at: *const u8, step: isize, into: &mut [usize]) {
    let position = |id: I| match id {
        id if SKIP_MAX && id == I::max_value() => SKIP,
        id if id < I::zero() => NEGATIVE,
        id => id.as_usize(),
    };
    if step == size_of::<I>() as isize {
        // SAFETY: by the contract; indices are aligned.
        let ids = unsafe { std::slice::from_raw_parts(at.cast::<I>(), into.len()) };
        into.iter_mut().zip(ids).for_each(|(to, id)| *to = position(*id));
        return;
    }
    for (i, to) in into.iter_mut().enumerate() {
        // SAFETY: by the contract.
        *to = position(unsafe { at.offset(i as isize * step).cast::<I>().read() });
    }
}

/// # Safety
/// The element is readable.
unsafe fn show<I: IntDType + Into<i128>>(at: *const u8) -> i128 {
    // SAFETY: by the contract.
    unsafe { at.cast::<I>().read() }.into()
}
