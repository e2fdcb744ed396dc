//! Operators that users bring: kernels in C, C++, CUDA and Rust, compiled where needed and loaded at run time.

mod abi;
pub mod attribute;
pub mod bench;
pub mod check;
mod elf;
mod in_process;
mod isolate;
mod library;
mod op;
mod runner;
mod schema;
pub mod source;
mod workspaces;

pub use attribute::{Attribute, AttributeType, Attributes};
pub use isolate::Isolation;
pub use op::{CustomOp, DTypeRule, Gradient, GradientContext, Lengths, ShapeRule};
pub use schema::{Param, ParamKind, Schema, collect};
