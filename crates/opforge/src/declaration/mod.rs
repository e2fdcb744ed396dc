//! What is declared of functions and operators, as data: for bindings, documentation and tests.

mod definition;
mod function;
mod sample;

pub use definition::{DTypes, Definition, included};
pub(crate) use function::functions;
pub use function::{
    Argument, Callable, Default, Faces, Function, Param, Type, Value, Valued, function, shared_results,
};
pub use sample::{Array, Content, Sample, each_index};
