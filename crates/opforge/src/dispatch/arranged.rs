//! Inputs that kernels read arranged, as products read packed weights: an arrangement is made when the same elements have been used some times, and
//! stays with their storage until they change. It is a copy, so eager calls make no more while all of them take their share of the memory.

use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use opforge_runtime::vm::Content;
use opforge_runtime::{Argument, Prepack, Storage, alloc};
use smallvec::SmallVec;

use super::Call;
use super::cache::Carrier;
use super::local::{argument, content, submit_arguments, submit_plain};
use crate::operator::Tensors;
use crate::{DType, Device, Layout, Result, Tensor};

/// The use at which an arrangement is made: in memory that is new to the process it costs several times what it saves each use.
const USES: u32 = 5;
/// The part of the memory limit that arrangements may take.
const SHARE: usize = 8;
/// Arrangements of one storage, which may be the memory of many weights.
const MOST: usize = 16;
/// The bytes that they take.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// A kernel's way by an arranged input.
pub(super) struct Arranging {
    prepack: Prepack,
    /// Of the kernel that arranges, and of the one that reads the arrangement.
    pack: Carrier,
    carrier: Carrier,
}

impl Arranging {
    pub(super) fn new(prepack: Prepack) -> Self {
        let pack = Carrier::plain(prepack.pack.clone());
        let carrier = Carrier::plain(prepack.kernel.clone());
        Arranging { prepack, pack, carrier }
    }
}

/// What is kept with a storage.
#[derive(Default)]
struct Kept(Mutex<SmallVec<[Arrangement; 1]>>);

/// Of a storage's elements from a byte on.
struct Arrangement {
    byte_offset: usize,
    kind: [usize; 6],
    /// [`Storage::changes`] when it was last used.
    changes: u64,
    /// How often it was asked for since.
    uses: u32,
    /// `None` until there were [`USES`].
    made: Option<Made>,
}

struct Made {
    tensor: Tensor,
    bytes: usize,
}

impl Drop for Made {
    fn drop(&mut self) {
        IN_USE.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What a look at the kept arrangements finds.
enum Found {
    Made(Tensor),
    /// The same elements have been used in this way often enough.
    Used,
    New,
}

/// Submits a call whose kernel gains from an arranged input, with the arrangement where there is one by now.
#[inline(never)]
pub(super) fn submit(call: &Call<'_>, carrier: &Carrier, way: &Arranging, outputs: &Tensors) -> Result<()> {
    let number = way.prepack.input;
    let Some(arranged) = after_some_uses(call.inputs[number], way, call.at) else {
        return submit_plain(call, carrier, outputs);
    };
    let mut inputs: SmallVec<[Argument<'_>; 4]> = call.inputs.iter().map(|input| argument(input)).collect();
    inputs[number] = argument(&arranged);
    let outputs: SmallVec<[Argument<'_>; 1]> = outputs.iter().map(argument).collect();
    submit_arguments((call.op.name(), call.at), &way.carrier, content(call), &inputs, &outputs)
}

/// The arrangement of an input that was used so before, and has not changed since.
fn after_some_uses(input: &Tensor, way: &Arranging, at: &'static Location<'static>) -> Option<Tensor> {
    let (storage, place) = (input.storage(), argument(input).byte_offset);
    if storage.is_exposed() {
        return None;
    }
    let changes = storage.changes();
    match find(storage, place, &way.prepack, changes) {
        Found::Made(tensor) => Some(tensor),
        Found::New => None,
        Found::Used => {
            let taken = IN_USE.load(Ordering::Relaxed).saturating_add(way.prepack.bytes);
            let has_room = taken <= alloc::limit() / SHARE;
            let made = has_room.then(|| make(input, way.prepack.bytes, &way.pack, at).ok())??;
            keep(storage, place, &way.prepack, changes, &made);
            Some(made)
        }
    }
}

/// The elements of an input as a kernel reads them arranged: as they are kept, else arranged now, and anew each time once others may change them unseen.
///
/// # Errors
/// Where there is no memory for it.
#[track_caller]
pub fn arranged(input: &Tensor, prepack: &Prepack) -> Result<Tensor> {
    let (storage, place) = (input.storage(), argument(input).byte_offset);
    let changes = storage.changes();
    if !storage.is_exposed()
        && let Found::Made(tensor) = find(storage, place, prepack, changes)
    {
        return Ok(tensor);
    }
    let made = make(input, prepack.bytes, &Carrier::plain(prepack.pack.clone()), Location::caller())?;
    if !storage.is_exposed() {
        keep(storage, place, prepack, changes, &made);
    }
    Ok(made)
}

/// Looks an arrangement up, and notes that it was asked for.
fn find(storage: &Arc<Storage>, byte_offset: usize, prepack: &Prepack, changes: u64) -> Found {
    with_kept(storage, |kept| {
        let Some(found) = kept.iter_mut().find(|a| a.is_of(byte_offset, prepack)) else {
            if kept.len() == MOST {
                kept.remove(0);
            }
            kept.push(Arrangement { byte_offset, kind: prepack.arrangement, changes, uses: 1, made: None });
            return Found::New;
        };
        if found.changes != changes {
            (found.changes, found.uses, found.made) = (changes, 0, None);
        }
        found.uses += 1;
        match &found.made {
            Some(made) => Found::Made(made.tensor.clone()),
            None if found.uses >= USES => Found::Used,
            None => Found::New,
        }
    })
    .unwrap_or(Found::New)
}

/// Keeps what was made of a storage after so many changes.
fn keep(storage: &Arc<Storage>, byte_offset: usize, prepack: &Prepack, changes: u64, made: &Tensor) {
    with_kept(storage, |kept| {
        let of = |a: &&mut Arrangement| a.is_of(byte_offset, prepack) && a.changes == changes && a.made.is_none();
        if let Some(arrangement) = kept.iter_mut().find(of) {
            IN_USE.fetch_add(prepack.bytes, Ordering::Relaxed);
            arrangement.made = Some(Made { tensor: made.clone(), bytes: prepack.bytes });
        }
    });
}

impl Arrangement {
    fn is_of(&self, byte_offset: usize, prepack: &Prepack) -> bool {
        self.byte_offset == byte_offset && self.kind == prepack.arrangement
    }
}

/// Gives `f` what is kept with a storage, unless another thread looks at it: none waits here, since a thread of this process' parent may have been the other.
fn with_kept<R>(storage: &Storage, f: impl FnOnce(&mut SmallVec<[Arrangement; 1]>) -> R) -> Option<R> {
    let kept = storage.derived().get_or_init(|| Box::new(Kept::default())).downcast_ref::<Kept>()?;
    match kept.0.try_lock() {
        Ok(mut kept) => Some(f(&mut kept)),
        Err(TryLockError::Poisoned(kept)) => Some(f(&mut kept.into_inner())),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The arrangement as a tensor of bytes, whose memory is there.
fn make(input: &Tensor, bytes: usize, pack: &Carrier, at: &'static Location<'static>) -> Result<Tensor> {
    let storage = Storage::new(Device::Cpu, bytes)?;
    storage.data_for_output()?;
    let made = Tensor::over_storage(storage, DType::U8, Layout::contiguous(bytes))?;
    submit_arguments(("pack", at), pack, Content::New, &[argument(input)], &[argument(&made)])?;
    Ok(made)
}
