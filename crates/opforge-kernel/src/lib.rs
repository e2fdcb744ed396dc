//! Kernels for opforge in safe Rust.
//!
//! [`kernel`] makes of a function over typed views what a library of operators exports, so that a `cdylib` built by cargo is loaded like any other
//! library:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! opforge-kernel = "0.1"
//! ```
//!
//! ```
//! use opforge_kernel::{Attributes, Infer, Inferred, Result, View, ViewMut, kernel};
//!
//! /// The output is like the input.
//! fn like(infer: &Infer<'_>) -> Result<Inferred> {
//!     infer.input(0)
//! }
//!
//! #[kernel(infer = like)]
//! fn scale(x: View<'_, f32>, mut y: ViewMut<'_, f32>, attributes: &Attributes) -> Result<()> {
//!     let factor: f32 = attributes.get("factor")?;
//!     y.as_mut_slice().iter_mut().zip(x.as_slice()).for_each(|(y, x)| *y = factor * x);
//!     Ok(())
//! }
//! ```
//!
//! In a crate that is called `kernels`, `cargo build --release` makes a library with which `CustomOp::load("target/release/libkernels.so:scale")` is the
//! operator.
//!
//! # Parameters
//!
//! | type | stands for |
//! |---|---|
//! | [`View`], [`AnyView`] | the next input |
//! | [`ViewMut`], [`AnyViewMut`] | the next output |
//! | [`InPlace`] | the next input, which the kernel changes |
//! | [`Workspace`] | the next workspace that the [initialisation function](Init) asked for |
//! | `&`[`Attributes`] | the operator's attributes |
//! | `&mut T` | the value that the [initialisation function](Init) returned |
//!
//! # Errors
//!
//! A kernel returns nothing, or a `Result` whose error can be displayed. Errors and panics reach whoever called the operator, with their text. So do
//! arguments of another number or dtype than the kernel takes; it does not run then. Numbers that functions return to the framework: 1 is the kernel's own
//! error, 2 an argument that it does not take, 3 a panic.
//!
//! # Threads and closing
//!
//! A kernel may run on several threads at once, but not with the same data. Libraries of kernels in Rust are never unmapped, since threads that
//! they start and the destructors of their thread locals may run at any later time; kernel data is dropped with the operator all the same.
//!
//! # Elsewhere
//!
//! Under MindSpore, kernels run that take nothing but views. Attributes, workspaces and data are opforge's.

mod any;
mod argument;
mod attributes;
mod call;
mod dtype;
mod entry;
mod error;
mod infer;
mod init;
mod raw;
mod signature;
mod view;

pub use any::{AnyView, AnyViewMut};
pub use argument::{Argument, InPlace, Parameter, Workspace};
pub use attributes::{AttributeValue, Attributes};
pub use dtype::{DType, Element};
pub use error::{Error, Result};
#[cfg(feature = "half")]
pub use half::{bf16, f16};
pub use infer::{Infer, Inferred};
pub use init::Init;
pub use raw::Info;
pub use view::{View, ViewMut};

/// Exports a function over views as a kernel.
///
/// The library's symbol has the function's name, and so `path:name` loads it. The function itself stays as it is, for tests to call. Options:
///
/// - `init = function`: a `fn(&mut Init<'_>) -> Result<T, impl Display>` that runs once for each signature; `T` is the kernel's data.
/// - `infer = function`: a `fn(&Infer<'_>) -> Result<Inferred, impl Display>`, or of an array or vector of them, that says what the outputs are.
/// - `name = "Name"`: another name for the symbol. Names of the C library's functions are not accepted, for the linker would take one for the other.
///
/// ```
/// use opforge_kernel::{View, ViewMut, kernel};
///
/// #[kernel(name = "Double")]
/// fn double(x: View<'_, i64>, mut y: ViewMut<'_, i64>) -> Result<(), String> {
///     for (y, x) in y.as_mut_slice().iter_mut().zip(x.as_slice()) {
///         *y = x.checked_mul(2).ok_or_else(|| format!("{x} is too large"))?;
///     }
///     Ok(())
/// }
/// # fn main() -> opforge_kernel::Result<()> {
/// let mut y = [0; 2];
/// double(View::new(&[3, 4], &[2])?, ViewMut::new(&mut y, &[2])?)?;
/// assert_eq!(y, [6, 8]);
/// # Ok(())
/// # }
/// ```
///
/// What is refused while it is compiled: parameters of other types than [listed](crate#parameters), and data of another type than `init` returns.
///
/// ```compile_fail
/// # use opforge_kernel::{View, ViewMut, kernel};
/// #[kernel]
/// fn filled(x: View<'_, f32>, y: ViewMut<'_, f32>, value: f32) {}
/// ```
///
/// ```compile_fail
/// # use opforge_kernel::{Init, Result, View, kernel};
/// fn count(_: &mut Init<'_>) -> Result<usize> {
///     Ok(0)
/// }
///
/// #[kernel(init = count)]
/// fn counted(x: View<'_, f32>, count: &mut i64) {}
/// ```
pub use opforge_kernel_macros::kernel;

/// What the attribute's code is made of.
#[doc(hidden)]
pub mod export {
    pub use crate::entry::{InferCall, InitCall, Main, Outcome, no_init};
    pub use crate::signature::Signature;
}

/// The version of the interface in `opforge/kernel.h`.
#[unsafe(no_mangle)]
#[doc(hidden)]
#[allow(non_upper_case_globals)]
pub static opforge_kernel_abi: u32 = 1;

/// Asks the framework to leave the library open: its threads and the destructors of its thread locals may outlive every operator.
#[unsafe(no_mangle)]
#[doc(hidden)]
#[allow(non_upper_case_globals)]
pub static opforge_kernel_resident: u8 = 1;
