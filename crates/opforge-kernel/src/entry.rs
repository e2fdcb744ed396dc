//! What the functions that a library exports do: the attribute writes one call of each into the user's crate.

use std::any::Any;
use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::call::Call;
use crate::raw::{Arrays, Extra, list};
use crate::signature::Signature;
use crate::{Attributes, Error, Infer, Inferred, Init, Result};

/// What functions return besides 0: the kernel's own error; arguments that the kernel does not take; a panic.
const FAILED: c_int = 1;
const REFUSED: c_int = 2;
const PANICKED: c_int = 3;

/// An error as the framework gets it.
type Failure = (c_int, String);

/// What a kernel returns: nothing, or a result.
#[diagnostic::on_unimplemented(message = "kernels return nothing or `Result<(), impl Display>`, not `{Self}`")]
pub trait Outcome {
    /// The text of an error.
    fn result(self) -> Result<(), String>;
}

impl Outcome for () {
    fn result(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Display> Outcome for Result<(), E> {
    fn result(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// The data of a kernel without an initialisation function.
pub enum NoInit {}

/// Stands in for an initialisation function.
pub fn no_init(_: &mut Init<'_>) -> Result<NoInit> {
    Err(Error::new("there is no initialisation function"))
}

/// What `F` gets.
#[allow(missing_docs)]
pub struct Main {
    pub nparam: c_int,
    pub params: *mut *mut c_void,
    pub ndims: *mut c_int,
    pub shapes: *mut *mut i64,
    pub dtypes: *mut *const c_char,
    pub stream: *mut c_void,
    pub extra: *mut c_void,
}

impl Main {
    /// Runs a kernel. `init` only tells of which type its data is.
    ///
    /// # Safety
    /// The values are those of a call by a framework, and kernel data was set by [`InitCall::run`] with `init`, if at all.
    pub unsafe fn run<D, E>(
        self,
        signature: Signature,
        _init: fn(&mut Init<'_>) -> Result<D, E>,
        kernel: impl FnOnce(&mut Call<'_, D>) -> Result<Result<(), String>>,
    ) -> c_int {
        // SAFETY: `self.extra` is null or what a framework passed.
        let extra = unsafe { Extra::new(self.extra) };
        guard(extra, || {
            let attributes = extra.map(Attributes::new);
            // SAFETY: the values are a framework's, and `init` gave data of type `D` if there is any.
            let call = unsafe { self.call(signature, extra, attributes.as_ref()) };
            let outcome = call.and_then(|mut call| kernel(&mut call)).map_err(refused)?;
            outcome.map_err(|text| (FAILED, text))
        })
    }

    /// # Safety
    /// As for [`Main::run`], with data of type `D`.
    unsafe fn call<'a, D>(
        &'a self,
        signature: Signature,
        extra: Option<Extra>,
        attributes: Option<&'a Attributes>,
    ) -> Result<Call<'a, D>> {
        if !self.stream.is_null() {
            return Err(Error::new("kernels in Rust run on the CPU"));
        }
        let given = usize::try_from(self.nparam).map_err(Error::new)?;
        let counts = match extra.map(Extra::counts) {
            Some((Some(inputs), Some(outputs))) => (inputs, outputs),
            _ if signature.has_workspaces() => {
                return Err(Error::new("there are no workspaces: opforge alone passes them to kernels in Rust"));
            }
            _ => signature.tensors(),
        };
        // SAFETY: the arrays are as long as the header says, elsewhere as there are inputs and outputs, which are all arguments.
        unsafe {
            let data = extra.and_then(|extra| (extra.api.kernel_data)(extra.at).cast::<D>().as_mut());
            let arrays = Arrays::new(given, self.ndims, self.shapes.cast(), self.dtypes);
            Call::new(signature, counts, arrays, list(self.params, given), attributes, data)
        }
    }
}

/// What `FInit` gets.
#[allow(missing_docs)]
pub struct InitCall {
    pub ndims: *mut c_int,
    pub shapes: *mut *mut i64,
    pub dtypes: *mut *const c_char,
    pub extra: *mut c_void,
}

impl InitCall {
    /// Runs an initialisation function and gives the framework what it returns.
    ///
    /// # Safety
    /// The values are those of a call by a framework.
    pub unsafe fn run<D: Send + 'static, E: Display>(
        self,
        signature: Signature,
        init: fn(&mut Init<'_>) -> Result<D, E>,
    ) -> c_int {
        // SAFETY: a framework passed `self.extra`, or null.
        let extra = unsafe { Extra::new(self.extra) };
        guard(extra, || {
            let unknown = || refused("opforge alone initialises kernels in Rust");
            let extra = extra.ok_or_else(unknown)?;
            let (Some(inputs), Some(outputs)) = extra.counts() else { return Err(unknown()) };
            signature.check_inputs(inputs).map_err(refused)?;
            signature.check_outputs(outputs).map_err(refused)?;
            let attributes = Attributes::new(extra);
            // SAFETY: the framework describes all inputs and outputs, of which it told how many there are.
            let arrays = unsafe { Arrays::new(inputs + outputs, self.ndims, self.shapes.cast(), self.dtypes) };
            let mut scope = Init::new(arrays, inputs, &attributes);
            let data = init(&mut scope).map_err(|error| (FAILED, error.to_string()))?;
            keep(extra, &scope.workspaces, data);
            Ok(())
        })
    }
}

/// Gives the framework workspaces' sizes and a kernel's data.
fn keep<D: Send + 'static>(extra: Extra, workspaces: &[usize], data: D) {
    let data = Box::into_raw(Box::new(data)).cast();
    // SAFETY: the framework copies the sizes, and destroys the data once.
    unsafe {
        (extra.api.set_workspaces)(extra.at, workspaces.as_ptr(), workspaces.len());
        (extra.api.set_kernel_data)(extra.at, data, destroy::<D>);
    }
}

/// # Safety
/// `data` was made of a `Box<D>`, and is not used again.
unsafe extern "C" fn destroy<D>(data: *mut c_void) {
    guard(None, || {
        // SAFETY: `data` was made of a `Box<D>` in `keep`, and the framework destroys it once.
        drop(unsafe { Box::from_raw(data.cast::<D>()) });
        Ok(())
    });
}

/// What `FInfer` gets.
#[allow(missing_docs)]
pub struct InferCall {
    pub ninput: c_int,
    pub ndims: *const c_int,
    pub shapes: *const *const i64,
    pub dtypes: *const *const c_char,
    pub extra: *mut c_void,
    pub outputs: *mut c_void,
}

impl InferCall {
    /// Runs an inference function and declares the outputs that it returns.
    ///
    /// # Safety
    /// The values are those of a call by a framework.
    pub unsafe fn run<O: Into<Vec<Inferred>>, E: Display>(
        self,
        signature: Signature,
        infer: fn(&Infer<'_>) -> Result<O, E>,
    ) -> c_int {
        // SAFETY: what a framework passes as `extra` is its object, or null.
        let extra = unsafe { Extra::new(self.extra) };
        guard(extra, || {
            let extra = extra.ok_or_else(|| refused("opforge alone asks kernels in Rust for shapes"))?;
            let inputs = usize::try_from(self.ninput).map_err(refused)?;
            signature.check_inputs(inputs).map_err(refused)?;
            // SAFETY: the framework describes `ninput` inputs, for as long as the call lasts.
            let arrays = unsafe { Arrays::new(inputs, self.ndims, self.shapes, self.dtypes) };
            let attributes = Attributes::new(extra);
            let outputs = infer(&Infer::new(arrays, &attributes)).map_err(|error| (FAILED, error.to_string()))?;
            outputs.into().iter().try_for_each(|output| self.declare(extra, output)).map_err(refused)
        })
    }

    fn declare(&self, extra: Extra, output: &Inferred) -> Result<()> {
        let lengths = output.lengths()?;
        let dtype = CString::new(output.dtype.name()).map_err(Error::new)?;
        let rank = c_int::try_from(lengths.len()).map_err(Error::new)?;
        // SAFETY: the text ends with a zero; there are as many lengths as the rank says; both are copied.
        unsafe { (extra.api.add_output)(self.outputs, dtype.as_ptr(), rank, lengths.as_ptr()) };
        Ok(())
    }
}

fn refused(error: impl Display) -> Failure {
    (REFUSED, error.to_string())
}

/// Runs what a library's function does; neither an error nor a panic gets past this.
fn guard(extra: Option<Extra>, run: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Err((PANICKED, panic_text(payload))));
    let Err((code, text)) = result else { return 0 };
    if let (Some(extra), Ok(text)) = (extra, CString::new(text.replace('\0', "\\0"))) {
        // SAFETY: the text ends with a zero, and is copied.
        unsafe { (extra.api.set_error)(extra.at, text.as_ptr()) };
    }
    code
}

fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = format!("panicked: {}", text.unwrap_or("with a value that is no text"));
    // Other values may panic again when they are dropped.
    std::mem::forget(payload);
    text
}
