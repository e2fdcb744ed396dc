//! What is asked of the place where a library's functions run.

use std::ffi::c_void;
use std::sync::Arc;

use opforge_core::{DType, Meta, Result};

use crate::abi::{Inferred, Outcome};
use crate::attribute::Attributes;
use crate::isolate::Isolation;
use crate::library::Place;

/// What is asked of a library's inference functions.
pub(crate) struct Query<'a> {
    pub place: &'a Place,
    pub attributes: &'a Arc<Attributes>,
    /// Shapes with -1 for an unknown length and a single -2 for an unknown rank.
    pub shapes: &'a [Vec<i64>],
    pub dtypes: &'a [DType],
    /// Whether several outputs are declared, which tells the functions' types.
    pub several: bool,
    /// What is to be inferred.
    pub want: Infers,
}

impl Query<'_> {
    /// The inputs' shapes and dtypes.
    pub fn inputs(&self) -> impl Iterator<Item = (&[i64], DType)> + Clone {
        self.shapes.iter().map(Vec::as_slice).zip(self.dtypes.iter().copied())
    }
}

/// What a library infers, or is asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Infers {
    pub shape: bool,
    pub dtype: bool,
}

/// The inference functions that a library may have; those of C++'s form give one result or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Infer,
    InferShape { several: bool },
    InferType { several: bool },
}

impl Form {
    /// What the function's name has behind the main function's.
    pub fn suffix(self) -> &'static str {
        match self {
            Form::Infer => "Infer",
            Form::InferShape { .. } => "InferShape",
            Form::InferType { .. } => "InferType",
        }
    }
}

/// Which inference functions a library has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forms {
    pub infer: bool,
    pub infer_shape: bool,
    pub infer_type: bool,
}

impl Forms {
    /// What can be inferred with them.
    pub fn infers(self) -> Infers {
        Infers { shape: self.infer || self.infer_shape, dtype: self.infer || self.infer_type }
    }

    /// What they give, each called by `call` if it is needed.
    pub fn infer(
        self,
        query: &Query<'_>,
        mut call: impl FnMut(Form) -> Result<Vec<Inferred>>,
    ) -> Result<Vec<Inferred>> {
        let (want, several) = (query.want, query.several);
        if self.infer {
            return call(Form::Infer);
        }
        let mut found = Vec::new();
        if want.shape && self.infer_shape {
            found = call(Form::InferShape { several })?;
        }
        if want.dtype && self.infer_type {
            let types = call(Form::InferType { several })?;
            found.resize_with(found.len().max(types.len()), || Inferred { dtype: None, shape: None });
            found.iter_mut().zip(types).for_each(|(output, inferred)| output.dtype = inferred.dtype);
        }
        Ok(found)
    }
}

/// What an operator is prepared for.
pub(crate) struct Setup<'a> {
    pub place: &'a Place,
    pub attributes: &'a Arc<Attributes>,
    pub inputs: &'a [&'a Meta],
    /// Those that the library knows.
    pub outputs: &'a [&'a Meta],
    /// Which input each output is, if it is one; behind the library's outputs, the inputs that are only changed.
    pub aliases: &'a [Option<usize>],
}

/// A place where an operator's functions run.
pub(crate) trait Runner: Send + Sync {
    /// Which inference functions there are.
    fn infers(&self) -> Infers;

    /// What the library infers, an entry for each output; empty if it infers nothing.
    fn infer(&self, query: &Query<'_>) -> Result<Vec<Inferred>>;

    /// Initialises the operator.
    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Prepared>>;

    /// The same operator, isolated: its functions run in a process of their own.
    fn isolate(&self, place: &Place, limits: &Isolation) -> Result<Arc<dyn Runner>>;

    /// For an isolated operator: what its process could do to others nevertheless, and why it could not be prevented.
    fn gaps(&self) -> Option<String> {
        None
    }

    /// Lets go of what it can get again: nobody has the operator any more, save caches.
    fn rest(&self) {}
}

/// Where an operator issues its work on a device.
pub(crate) struct Queue {
    /// CUDA's stream.
    pub stream: *mut c_void,
    /// Memory of the device for all workspaces; null where there are none.
    pub workspace: *mut u8,
}

/// An operator initialised for a signature.
pub(crate) trait Prepared: Send {
    /// Computes the outputs.
    ///
    /// # Safety
    /// As for [`opforge_runtime::HostKernel::run`].
    unsafe fn run(&mut self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()>;

    /// As [`Prepared::run`], issued to a device's queue: addresses and workspace are those of the device.
    ///
    /// # Safety
    /// As [`Prepared::run`]. The workspace has [`Prepared::workspace`] bytes, and nothing that is issued later uses it before what the operator issues has.
    unsafe fn run_on(&mut self, queue: &Queue, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()>;

    /// The bytes of all workspaces.
    fn workspace(&self) -> usize;

    /// Whether it runs on the thread that asks; else that thread only waits.
    fn runs_here(&self) -> bool {
        true
    }
}

/// The error of a function that did not succeed.
pub(crate) fn check(place: &Place, suffix: &str, outcome: Outcome) -> Result<()> {
    match outcome {
        Outcome::Success => Ok(()),
        failed => Err(place.fault(format_args!("{}{suffix} {}", place.function, failed.message()))),
    }
}
