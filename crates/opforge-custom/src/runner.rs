//! Where a library's functions run: in this process, or in another.

use std::ffi::c_void;
use std::path::Path;
use std::sync::Arc;

use opforge_core::{DType, Meta, Result};
use opforge_runtime::alloc::Workspace;
use smallvec::SmallVec;

use crate::abi::{Arrays, Extra, Inferred, Outcome, lengths};
use crate::attribute::Attributes;
use crate::library::{Library, Place};

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

/// What a library infers, or is asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Infers {
    pub shape: bool,
    pub dtype: bool,
}

/// A place where an operator's functions run.
pub(crate) trait Runner: Send + Sync {
    /// Which inference functions there are.
    fn infers(&self) -> Infers;

    /// What the library infers, an entry for each output; empty if it infers nothing.
    fn infer(&self, query: &Query<'_>) -> Result<Vec<Inferred>>;

    /// Prepares runs with these arguments: inputs, then outputs.
    fn prepare(
        &self,
        place: &Place,
        attributes: &Arc<Attributes>,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Result<Box<dyn Prepared>>;
}

/// An operator initialised for a signature.
pub(crate) trait Prepared: Send {
    /// Computes the outputs.
    ///
    /// # Safety
    /// As for [`opforge_runtime::Kernel::run`].
    unsafe fn run(&mut self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()>;

    /// Whether it runs on the thread that asks; else that thread only waits.
    fn runs_here(&self) -> bool {
        true
    }
}

/// Runs an operator's functions where they are called.
pub(crate) struct InProcess {
    library: Arc<Library>,
}

impl InProcess {
    /// The operator in a library.
    pub fn open(file: &Path, place: &Place) -> Result<Self> {
        Ok(InProcess { library: Arc::new(Library::open(file, place)?) })
    }

    fn extra(&self, place: &Place, attributes: &Arc<Attributes>) -> Result<Extra> {
        Extra::new(self.library.variant, attributes).ok_or_else(|| place.fault("memory is exhausted"))
    }
}

/// The error of a function that did not succeed.
fn check(place: &Place, suffix: &str, outcome: Outcome) -> Result<()> {
    match outcome {
        Outcome::Success => Ok(()),
        failed => Err(place.fault(format_args!("{}{suffix} {}", place.function, failed.message()))),
    }
}

impl Runner for InProcess {
    fn infers(&self) -> Infers {
        let symbols = &self.library.symbols;
        let all = !symbols.infer.is_null();
        Infers { shape: all || !symbols.infer_shape.is_null(), dtype: all || !symbols.infer_type.is_null() }
    }

    fn infer(&self, query: &Query<'_>) -> Result<Vec<Inferred>> {
        let symbols = self.library.symbols;
        let mut extra = self.extra(query.place, query.attributes)?;
        extra.set_counts(query.shapes.len(), None);
        let shapes = query.shapes.iter().map(Vec::as_slice);
        let mut arrays = Arrays::new(shapes.zip(query.dtypes.iter().copied()));
        let mut found = Vec::new();
        // SAFETY: the library is open, and its functions have the types that their names tell.
        unsafe {
            if !symbols.infer.is_null() {
                let (outcome, found) = extra.call_infer(symbols.infer, symbols.last_error, &mut arrays);
                return check(query.place, "Infer", outcome).map(|()| found);
            }
            if query.want.shape && !symbols.infer_shape.is_null() {
                let (outcome, shapes) = extra.call_infer_shape(symbols.infer_shape, query.several, &mut arrays);
                check(query.place, "InferShape", outcome)?;
                found = shapes;
            }
            if query.want.dtype && !symbols.infer_type.is_null() {
                let (outcome, types) = extra.call_infer_type(symbols.infer_type, query.several, query.dtypes);
                check(query.place, "InferType", outcome)?;
                let unknown = || Inferred { dtype: None, shape: None };
                found.resize_with(found.len().max(types.len()), unknown);
                found.iter_mut().zip(types).for_each(|(output, dtype)| output.dtype = Some(dtype));
            }
        }
        Ok(found)
    }

    fn prepare(
        &self,
        place: &Place,
        attributes: &Arc<Attributes>,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Result<Box<dyn Prepared>> {
        let symbols = &self.library.symbols;
        let metas: Vec<&Meta> = inputs.iter().chain(outputs).copied().collect();
        let mut extra = self.extra(place, attributes)?;
        extra.set_counts(inputs.len(), Some(outputs.len()));
        if !symbols.init.is_null() {
            let shapes: Vec<Vec<i64>> = metas.iter().map(|meta| lengths(meta)).collect();
            let mut arrays = Arrays::new(shapes.iter().map(Vec::as_slice).zip(metas.iter().map(|meta| meta.dtype)));
            // SAFETY: the library is open, and its functions have the types that their names tell.
            let outcome = unsafe { extra.call_init(symbols.init, symbols.last_error, &mut arrays) };
            check(place, "Init", outcome)?;
        }
        let sizes = extra.workspaces();
        let workspaces = Workspaces::new(place, &sizes)?;
        let arrays = Arrays::with_workspaces(&metas, &sizes);
        Ok(Box::new(Instance { extra, arrays, workspaces, place: place.clone(), library: self.library.clone() }))
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
        let mut params: SmallVec<[*mut c_void; 8]> = inputs.iter().map(|input| input.cast_mut().cast()).collect();
        params.extend(outputs.iter().map(|output| output.cast()));
        params.extend(self.workspaces.addresses(workspaces.as_ref()));
        let symbols = &self.library.symbols;
        // SAFETY: the library is open; addresses are valid by the caller's promise, for the arguments that the arrays were made for.
        let outcome = unsafe { self.extra.call_main(symbols.main, symbols.last_error, &mut params, &mut self.arrays) };
        check(&self.place, "", outcome)
    }
}

/// Where workspaces lie in one block of memory.
pub(crate) struct Workspaces {
    starts: SmallVec<[usize; 4]>,
    total: usize,
}

impl Workspaces {
    /// What each size is rounded up to: kernels written for MindSpore, whose pool does the same, sometimes ask for too little.
    pub const GRAIN: usize = 512;
    /// What no workspace can sensibly be beyond, in bytes; a negative size is beyond it too.
    const LIMIT: usize = 1 << 46;

    /// Places workspaces of these sizes, in bytes.
    ///
    /// # Errors
    /// For a size that can only be a mistake.
    pub fn new(place: &Place, sizes: &[usize]) -> Result<Self> {
        let (mut starts, mut total) = (SmallVec::new(), 0usize);
        for (i, &size) in sizes.iter().enumerate() {
            let end =
                size.checked_next_multiple_of(Self::GRAIN).and_then(|size| size.max(Self::GRAIN).checked_add(total));
            let end = end.filter(|&end| end <= Self::LIMIT).ok_or_else(|| {
                let given = format!("{} bytes", size.cast_signed());
                place.fault(format_args!("{}Init asked for {given} as workspace {i}", place.function))
            })?;
            starts.push(total);
            total = end;
        }
        Ok(Workspaces { starts, total })
    }

    /// Memory for all of them, if there are any.
    #[inline]
    pub fn allocate(&self) -> Result<Option<Workspace>> {
        if self.total == 0 { Ok(None) } else { Workspace::new(self.total).map(Some) }
    }

    /// Their addresses in a block of memory.
    #[inline]
    pub fn addresses<'a>(&'a self, block: Option<&Workspace>) -> impl Iterator<Item = *mut c_void> + 'a {
        let first = block.map_or(std::ptr::null_mut(), Workspace::as_ptr);
        self.starts.iter().map(move |&start| first.wrapping_add(start).cast())
    }
}
