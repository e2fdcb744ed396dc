//! Arguments of kernels, and the calls that they are of.

use std::borrow::{Borrow, Cow};
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::failure::Place;
use super::fuse::Part;
use super::state::Running;
use crate::kernel::{Argument, Kernel};
use crate::storage::Storage;

/// A tensor's place in memory.
#[derive(Debug, Clone, Copy)]
pub struct Buffer<S = Held> {
    /// The storage, held or, of a kernel's [`Argument`], borrowed.
    pub storage: S,
    /// The place of the tensor's first element in the storage, in bytes.
    pub byte_offset: usize,
}

/// What a call's outputs held before, and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Nothing: the outputs are new.
    New,
    /// Something that the kernel changes. If it fails they hold what it left, and are unusable only until somebody who reads them has been told.
    Changed,
    /// Something that does not matter: the kernel writes every byte of the storages and reads none, so that an earlier failure is over.
    Replaced,
}

/// A queued instruction's hold on a storage, which [`Storage::is_unshared`] does not count.
#[derive(Debug)]
pub struct Held(Arc<Storage>);

impl Held {
    fn new(storage: Arc<Storage>) -> Self {
        storage.queued.fetch_add(1, Ordering::AcqRel);
        Held(storage)
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        Held::new(self.0.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.queued.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Borrow<Arc<Storage>> for Held {
    fn borrow(&self) -> &Arc<Storage> {
        &self.0
    }
}

impl Deref for Held {
    type Target = Arc<Storage>;
    fn deref(&self) -> &Arc<Storage> {
        &self.0
    }
}

impl<S: Borrow<Arc<Storage>>> Buffer<S> {
    #[inline]
    pub(crate) fn storage(&self) -> &Storage {
        self.storage.borrow()
    }

    pub(crate) fn as_argument(&self) -> Argument<'_> {
        Argument { storage: self.storage.borrow(), byte_offset: self.byte_offset }
    }
}

/// One operator's call, as submitted.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The operator's name, for errors and traces.
    pub op: &'a Cow<'static, str>,
    /// Where the user called it.
    pub at: &'static Location<'static>,
    /// What computes it.
    pub kernel: &'a Arc<dyn Kernel>,
    /// What is computed, for a [`Fuser`](super::Fuser), if the call may become part of a program.
    pub part: Option<&'a Arc<Part>>,
    /// What the kernel reads.
    pub inputs: &'a [Argument<'a>],
    /// What the kernel writes: new storages, or existing ones (in-place, `out=`).
    pub outputs: &'a [Argument<'a>],
    /// What the outputs held before.
    pub content: Content,
}

/// A call that waits in a stream's queue; it keeps alive what it needs.
pub(crate) struct Instruction {
    pub op: Cow<'static, str>,
    pub at: Place,
    pub kernel: Arc<dyn Kernel>,
    pub part: Option<Arc<Part>>,
    pub inputs: SmallVec<[Buffer; 4]>,
    pub outputs: SmallVec<[Buffer; 2]>,
    pub content: Content,
    /// When it was issued, if a trace is being recorded.
    pub issued: super::trace::Moment,
}

impl Call<'_> {
    /// Whether it uses memory that others use too, who do not wait for it.
    pub(crate) fn is_exposed(&self) -> bool {
        self.inputs.iter().chain(self.outputs).any(|buffer| buffer.storage.is_exposed())
    }

    pub(crate) fn to_instruction(self, caller: Option<Arc<str>>) -> Instruction {
        let held = |argument: &Argument<'_>| Buffer {
            storage: Held::new(argument.storage.clone()),
            byte_offset: argument.byte_offset,
        };
        Instruction {
            op: self.op.clone(),
            at: Place { at: self.at, caller },
            kernel: self.kernel.clone(),
            part: self.part.cloned(),
            inputs: self.inputs.iter().map(held).collect(),
            outputs: self.outputs.iter().map(held).collect(),
            content: self.content,
            issued: super::trace::now(),
        }
    }
}

impl Instruction {
    /// What the stream remembers of it while it runs.
    pub(crate) fn as_running(&self) -> Running {
        let outputs = self.outputs.iter().map(|output| (Arc::downgrade(&output.storage), 1)).collect();
        let changes = self.outputs.iter().any(|output| output.storage.is_reserved());
        Running { op: self.op.clone(), at: self.at.clone(), outputs, changes, abandoned: false, calls: 1 }
    }
}
