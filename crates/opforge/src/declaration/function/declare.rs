//! The declaration of functions: an attribute on each, and a list of them for each file of compositions.

/// Declares an ordinary function once: beside it stands its signature as data, `name::FUNCTION`, and its name, `name::NAME`, for this file to use.
///
/// The attribute names the parameters that may be left out, with what they are then; those after a star are given by name:
/// `#[function(dim = None, keepdim = false, *, dtype = None)]`. Three attributes may follow it:
/// - `#[python(torch, method, name = "..")]`: the [faces](crate::declaration::Faces) in Python; without it those of [`Function::faces`](crate::declaration::Function::faces).
/// - `#[view]`: a result may share memory with an argument. Results of all others never do.
/// - `#[operator(DTypes::FLOATS, samples, Softmax, SoftmaxGrad)]`: the function is an operator's, and `DEFINITION` stands beside it, its
///   [`Definition`](crate::declaration::Definition) with these dtypes, this function that gives samples, and the types of the file's operators, or of the
///   functions that families make operators of, so that texts can name them. The operator's name is the function's; an entry `name = "max"` says
///   otherwise; `gradient = false` says that it has none.
///
/// A last entry `out` says that the function can write its result to a destination, which is then there under this name, an
/// [`Out`](crate::dispatch::Out), to be passed on to the operator that computes the whole result. `OP` is the function's name for errors.
///
/// Parameters are of types that implement [`Argument`](crate::declaration::Argument); the result is a `Result`. Errors name the place of the call.
///
/// ```
/// use opforge::{Result, Tensor, function};
///
/// /// Twice the tensor.
/// #[function(times = 1)]
/// pub fn doubled(input: &Tensor, times: i64) -> Result<Tensor> {
///     (0..times).try_fold(input.clone(), |x, _| x.affine(2.0, 0.0))
/// }
///
/// assert_eq!(doubled::FUNCTION.to_string(), "doubled(input: Tensor, times: Int = 1) -> Tensor");
/// ```
pub use opforge_macros::function;

/// Lists the functions of a file of compositions, whose signatures are then `FUNCTIONS`. A function that is left out is one that the compiler
/// finds unused.
macro_rules! functions {
    ($($name:ident),* $(,)?) => {
        /// The signatures of this file's functions as data.
        pub(crate) static FUNCTIONS: &[$crate::declaration::Function] = &[$($name::FUNCTION),*];
    };
}

pub(crate) use functions;
