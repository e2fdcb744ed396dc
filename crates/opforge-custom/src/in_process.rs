//! Running a library's functions in this process.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use opforge_core::{Meta, Result};
use opforge_runtime::alloc::Workspace;
use smallvec::SmallVec;

use crate::abi::{Arrays, Extra, Inferred};
use crate::attribute::Attributes;
use crate::isolate::{Isolated, Isolation};
use crate::library::{Library, Place};
use crate::runner::{Form, Forms, Infers, Prepared, Query, Queue, Runner, Setup, check};
use crate::workspaces::Workspaces;

/// Runs an operator's functions where they are called.
pub(crate) struct InProcess {
    file: PathBuf,
    library: Arc<Library>,
}

impl InProcess {
    /// The operator in a library.
    pub fn open(file: &Path, place: &Place) -> Result<Self> {
        Ok(InProcess { file: file.to_owned(), library: Arc::new(Library::open(file, place)?) })
    }

    fn extra(&self, place: &Place, attributes: &Arc<Attributes>) -> Result<Extra> {
        Extra::new(self.library.variant, attributes).ok_or_else(|| place.fault("memory is exhausted"))
    }

    fn forms(&self) -> Forms {
        let symbols = &self.library.symbols;
        let (infer, infer_shape) = (!symbols.infer.is_null(), !symbols.infer_shape.is_null());
        Forms { infer, infer_shape, infer_type: !symbols.infer_type.is_null() }
    }
}

impl Runner for InProcess {
    fn infers(&self) -> Infers {
        self.forms().infers()
    }

    fn infer(&self, query: &Query<'_>) -> Result<Vec<Inferred>> {
        let symbols = self.library.symbols;
        let mut extra = self.extra(query.place, query.attributes)?;
        extra.set_counts(query.shapes.len(), None);
        let mut arrays = Arrays::new(query.inputs());
        self.forms().infer(query, |form| {
            // SAFETY: the library is open, and its functions have the types that their names tell.
            let (outcome, found) = unsafe {
                match form {
                    Form::Infer => extra.call_infer(symbols.infer, symbols.last_error, &mut arrays),
                    Form::InferShape { several } => extra.call_infer_shape(symbols.infer_shape, several, &mut arrays),
                    Form::InferType { several } => extra.call_infer_type(symbols.infer_type, several, query.dtypes),
                }
            };
            check(query.place, form.suffix(), outcome).map(|()| found)
        })
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Prepared>> {
        let Setup { place, attributes, inputs, outputs, .. } = *setup;
        let symbols = &self.library.symbols;
        let metas: Vec<&Meta> = inputs.iter().chain(outputs).copied().collect();
        let mut extra = self.extra(place, attributes)?;
        extra.set_counts(inputs.len(), Some(outputs.len()));
        if !symbols.init.is_null() {
            let mut arrays = Arrays::with_workspaces(&metas, &[]);
            // SAFETY: the library is open, and its functions have the types that their names tell.
            let outcome = unsafe { extra.call_init(symbols.init, symbols.last_error, &mut arrays) };
            check(place, "Init", outcome)?;
        }
        let sizes = extra.workspaces();
        let workspaces = Workspaces::new(place, &sizes)?;
        let arrays = Arrays::with_workspaces(&metas, &sizes);
        Ok(Box::new(Instance { extra, arrays, workspaces, place: place.clone(), library: self.library.clone() }))
    }

    fn isolate(&self, place: &Place, limits: &Isolation) -> Result<Arc<dyn Runner>> {
        Ok(Arc::new(Isolated::open(&self.file, place, limits)?))
    }
}

/// An operator initialised in this process. Fields are dropped in order: the kernel's data goes before its library.
struct Instance {
    extra: Extra,
    arrays: Arrays,
    workspaces: Workspaces,
    place: Place,
    library: Arc<Library>,
}

impl Prepared for Instance {
    #[inline]
    unsafe fn run(&mut self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let workspaces = self.workspaces.allocate()?;
        let workspace = workspaces.as_ref().map_or(ptr::null_mut(), Workspace::as_ptr);
        // SAFETY: the caller's promise; the workspace is there until the call has ended.
        unsafe { self.run_on(&Queue { stream: ptr::null_mut(), workspace }, inputs, outputs) }
    }

    #[inline]
    unsafe fn run_on(&mut self, queue: &Queue, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let mut params: SmallVec<[*mut c_void; 8]> = inputs.iter().map(|input| input.cast_mut().cast()).collect();
        params.extend(outputs.iter().map(|output| output.cast()));
        params.extend(self.workspaces.addresses(queue.workspace));
        let symbols = &self.library.symbols;
        // SAFETY: the library is open; addresses are valid by the caller's promise, for the arguments that the arrays were made for.
        let outcome = unsafe {
            let (main, last_error) = (symbols.main, symbols.last_error);
            self.extra.call_main(main, last_error, &mut params, &mut self.arrays, queue.stream)
        };
        check(&self.place, "", outcome)
    }

    fn workspace(&self) -> usize {
        self.workspaces.bytes()
    }
}
