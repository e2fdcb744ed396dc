//! Indexing of several neighbouring axes at once: the place of an element is a tuple of indices, one from each index tensor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge_core::{DType, Error, IntDType, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Room;
use opforge_runtime::parallel::parallel_for;
use smallvec::SmallVec;

use super::ids::{BATCH, Ids, out_of_range};
use super::scatter::Loops;
use super::{Combine, Gather, Scatter, Special, buffer, check_output, index_select, steps};
use crate::copy::{Axis, Shared};

/// Tuples that a thread reads at a time.
const CHUNK: usize = 8 * BATCH;

/// The kernel for `output[.., j, ..] = input[.., ids0[j], ids1[j], .., ..]`: its inputs are `input` and vectors of indices into the axes from
/// `axis` on, which the output has as one. Negative indices count from an axis' end.
///
/// # Errors
/// Shape or dtype mismatch; more indices than axes; indices that are not integers. Running it: an index out of range.
pub fn get(op: &'static str, input: &Meta, ids: &[&Meta], axis: usize, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    check_output(op, input, output)?;
    let tuples = Tuples::new(op, input, axis, ids)?;
    tuples.check_shape(op, input, axis, output)?;
    if let [ids] = ids {
        return index_select(op, input, ids, axis, Special::NegativeFromEnd, output);
    }
    let (mut input_steps, end) = (steps(input), axis + ids.len());
    input_steps.drain(axis..end);
    input_steps.insert(axis, 0);
    let mut id_steps: super::Steps = SmallVec::from_elem(0, output.rank());
    id_steps[axis] = size_of::<i64>() as isize;
    let gather = Gather::new(tuples.places(op)?, &id_steps, 1, &input_steps, output);
    Ok(Arc::new(Get { tuples, gather }))
}

/// The kernel that copies `base` to the output and then writes `src[.., j, ..]`, or adds it, to `output[.., ids0[j], ids1[j], .., ..]`. Its
/// inputs are `base`, the vectors of indices and `src`; see [`get`]. Of several writes to one place the last stays; additions happen in order.
///
/// # Errors
/// As [`get`]. Additions of `f16` and `bf16` need a contiguous output.
pub fn put(
    op: &'static str,
    base: &Meta,
    ids: &[&Meta],
    src: &Meta,
    axis: usize,
    accumulate: bool,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    check_output(op, base, output)?;
    check_output(op, src, output)?;
    if base.shape() != output.shape() {
        return Err(Error::shapes(op, base.shape(), output.shape(), "an output of the base's shape"));
    }
    let tuples = Tuples::new(op, output, axis, ids)?;
    tuples.check_shape(op, base, axis, src)?;
    let (mut out_steps, src_steps, end) = (steps(output), steps(src), axis + ids.len());
    let stride = out_steps.drain(axis..end).min().unwrap_or(0);
    let along = Axis { len: tuples.len, step: [size_of::<i64>() as isize, src_steps[axis], 1] };
    out_steps.insert(axis, 0);
    let beside = (0..src.rank()).filter(|&d| d != axis);
    let beside = beside.map(|d| Axis { len: src.dims()[d], step: [0, src_steps[d], out_steps[d]] }).collect();
    let loops = Loops { axis: along, beside, stride };
    let places = tuples.places(op)?;
    let cells = tuples.axes.iter().fold(1usize, |cells, axis| cells.saturating_mul(axis.len));
    let how = if accumulate { Combine::Add } else { Combine::Set };
    let scatter = Scatter::of(op, places, loops, cells, base, how, output)?;
    Ok(Arc::new(Put { tuples, scatter }))
}

struct Get {
    tuples: Tuples,
    gather: Gather,
}

struct Put {
    tuples: Tuples,
    scatter: Scatter,
}

impl HostKernel for Get {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: the inputs after the first are the indices; `read` has checked them: each place is an element of the tensor.
        unsafe {
            let places = self.tuples.read(&inputs[1..])?;
            self.gather.run(&[inputs[0], places.as_ptr().cast()], outputs)
        }
    }

    fn cost(&self) -> u64 {
        self.tuples.cost() + self.gather.cost()
    }
}

impl HostKernel for Put {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (last, before) = inputs.split_last().expect("a base, indices and a source");
        // SAFETY: the inputs between base and source are the indices; `read` has checked them: each place is an element of the base.
        unsafe {
            let places = self.tuples.read(&before[1..])?;
            self.scatter.run(&[before[0], places.as_ptr().cast(), *last], outputs)
        }
    }

    fn cost(&self) -> u64 {
        self.tuples.cost() + self.scatter.cost()
    }
}

/// Reads some indices, the given bytes apart.
type Read = unsafe fn(*const u8, isize, &mut [i64]);

/// Vectors of indices into neighbouring axes.
struct Tuples {
    op: &'static str,
    len: usize,
    axes: SmallVec<[IndexedAxis; 4]>,
}

struct IndexedAxis {
    len: usize,
    /// What a step along the axis is in the tensor, in bytes.
    step: isize,
    /// What a step along the indices is, in bytes.
    id_step: isize,
    read: Read,
}

impl Tuples {
    fn new(op: &'static str, tensor: &Meta, axis: usize, ids: &[&Meta]) -> Result<Self> {
        let Some(first) = ids.first().filter(|first| ids.iter().all(|m| m.rank() == 1 && m.dims() == first.dims()))
        else {
            return Err(Error::shape(op, "indices", format!("{} tensors", ids.len()), "vectors of equal length"));
        };
        if axis + ids.len() > tensor.rank() {
            let given = format!("{} from dim {axis} on", ids.len());
            return Err(Error::index(op, "indices", given, format!("dimensions of {:?}", tensor.shape())));
        }
        let steps = steps(tensor);
        let indexed = |(k, ids): (usize, &&Meta)| {
            let (len, step) = (tensor.dims()[axis + k], steps[axis + k]);
            Ok(IndexedAxis { len, step, id_step: super::steps(ids)[0], read: reader(op, ids.dtype)? })
        };
        let axes = ids.iter().enumerate().map(indexed).collect::<Result<_>>()?;
        Ok(Tuples { op, len: first.dims()[0], axes })
    }

    /// Refuses a `part` that is not the tensor with the indexed axes replaced by one of the indices' length.
    fn check_shape(&self, op: &'static str, tensor: &Meta, axis: usize, part: &Meta) -> Result<()> {
        let (before, after) = (&tensor.dims()[..axis], &tensor.dims()[axis + self.axes.len()..]);
        let expected = before.iter().chain([&self.len]).chain(after);
        if part.dims().iter().eq(expected) {
            return Ok(());
        }
        let accepted = format!("the shape {:?} with {} for the indexed dimensions", tensor.shape(), self.len);
        Err(Error::shape(op, "values", format!("{:?}", part.shape()), accepted))
    }

    /// The places that [`Tuples::read`] gives, as indices.
    fn places(&self, op: &'static str) -> Result<Ids> {
        Ids::new(op, &Meta::contiguous(DType::I64, self.len), usize::MAX, Special::None)
    }

    /// The place of each tuple, in bytes from the tensor's first element.
    ///
    /// # Safety
    /// There is an address for each axis, from which on its `len` indices are readable.
    unsafe fn read(&self, ids: &[*const u8]) -> Result<Room<i64>> {
        let mut places = buffer::<i64>(self.len)?;
        let (ok, into) = (AtomicBool::new(true), Shared(places.as_mut_ptr()));
        let ids: SmallVec<[Shared<*const u8>; 4]> = ids.iter().map(|&p| Shared(p)).collect();
        let work = |range: std::ops::Range<usize>| {
            for start in range.clone().step_by(BATCH) {
                let n = BATCH.min(range.end - start);
                // SAFETY: ranges are disjoint and within the vector's room.
                let places = unsafe {
                    let places = into.get().add(start);
                    places.write_bytes(0, n);
                    std::slice::from_raw_parts_mut(places, n)
                };
                for (axis, ids) in self.axes.iter().zip(&ids) {
                    // SAFETY: the axis has `len` readable indices, and `start..start + n` is within; `n` is at most BATCH.
                    if unsafe { axis.add(ids.get(), start, places) } {
                        ok.store(false, Ordering::Relaxed);
                    }
                }
            }
        };
        if self.len <= CHUNK {
            work(0..self.len)
        } else {
            parallel_for(self.len, CHUNK, work)
        }
        if !ok.into_inner() {
            // SAFETY: the indices are those of this call, still readable.
            return Err(unsafe { self.first_wrong(&ids) });
        }
        // SAFETY: all have been written.
        unsafe { places.set_len(self.len) };
        Ok(places)
    }

    /// # Safety
    /// As [`Tuples::read`].
    #[cold]
    unsafe fn first_wrong(&self, ids: &[Shared<*const u8>]) -> Error {
        let mut id = [0];
        for (axis, ids) in self.axes.iter().zip(ids) {
            for i in 0..self.len {
                // SAFETY: `i` is below `len`, the number of indices of each axis.
                unsafe { (axis.read)(ids.get().offset(i as isize * axis.id_step), 0, &mut id) };
                if !axis.position(id[0]).1 {
                    return out_of_range(self.op, id[0].into(), axis.len);
                }
            }
        }
        Error::index(self.op, "index", "changing while it was read", "constant indices")
    }

    fn cost(&self) -> u64 {
        10 + (self.len * self.axes.len()) as u64
    }
}

impl IndexedAxis {
    /// The position that an index means, and whether it is within the axis. Without a choice, so that random signs cost nothing.
    #[inline(always)]
    fn position(&self, id: i64) -> (i64, bool) {
        let len = self.len as i64;
        let position = id.wrapping_add(len & (id >> 63));
        (position, (position as u64) < len as u64)
    }

    /// Adds to `places` what the indices from `start` on come to; true if one is out of range.
    ///
    /// # Safety
    /// The indices are readable, and no more than [`BATCH`].
    unsafe fn add(&self, ids: *const u8, start: usize, places: &mut [i64]) -> bool {
        let mut batch = [0; BATCH];
        let batch = &mut batch[..places.len()];
        // SAFETY: as many indices as places are readable from `start` on.
        unsafe { (self.read)(ids.offset(start as isize * self.id_step), self.id_step, batch) };
        let mut wrong = false;
        for (place, id) in places.iter_mut().zip(batch) {
            let (position, fine) = self.position(*id);
            wrong |= !fine;
            *place = place.wrapping_add(position.wrapping_mul(self.step as i64));
        }
        wrong
    }
}

fn reader(op: &'static str, dtype: DType) -> Result<Read> {
    Ok(match dtype {
        DType::U8 => read::<u8>,
        DType::U16 => read::<u16>,
        DType::U32 => read::<u32>,
        DType::U64 => read::<u64>,
        DType::I8 => read::<i8>,
        DType::I16 => read::<i16>,
        DType::I32 => read::<i32>,
        DType::I64 => read::<i64>,
        other => return Err(Error::dtype(op, "indices", other, "an integer dtype")),
    })
}

/// Indices beyond i64 become its largest value, which is beyond any axis.
///
/// # Safety
/// As many integers of type `I` as `into` takes are readable from `at` on, `step` bytes apart, aligned.
unsafe fn read<I: IntDType + TryInto<i64>>(at: *const u8, step: isize, into: &mut [i64]) {
    for (i, to) in into.iter_mut().enumerate() {
        // SAFETY: `i` is below the length of `into`; as many integers of type `I` are readable, aligned, at the step.
        let id = unsafe { at.offset(i as isize * step).cast::<I>().read() };
        *to = id.try_into().unwrap_or(i64::MAX);
    }
}
