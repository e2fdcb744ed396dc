//! GPU kernels of what operators compute: [`program_of`] turns an operator's [`Lowering`](opforge::operator::Lowering) into launches of small
//! typed kernels ([`Kernel`]), which print as C, CUDA C and WGSL ([`mod@print`]).
//!
//! Mathematics is not stated here again: tile functions, reducers and functions of rows are traced (`opforge-trace`), forms are read as they are.
//!
//! A form's file writes a kernel with values that record what is done to them (`code.rs`, `value.rs`); the kernel is a value itself (`kernel.rs`).
//! Sizes and strides are parameters, so that equal texts are compiled once. What the lanes of a group do between two barriers is a statement of its
//! own: C, which has one thread, runs a group as loops, and tests run every kernel that way. Sums have one order, and nothing is added up by atomics.
//! Where compilers of WGSL may simplify, as in `(x + c) - c`, the operand is hidden from them ([`Source::Kept`](kernel::Source::Kept)).
//!
//! ```
//! use opforge::{DType, Meta, ops::pointwise::relu::Relu, operator::Operator, family::UnaryOp};
//! use opforge_gpu::{Target, print, program_of};
//!
//! let x = Meta::contiguous(DType::F32, 1000);
//! let lowering = UnaryOp(Relu).lower(&[&x], &[&x])?;
//! let target = Target { device: "cuda:0", fused: true, approximates: true, reorders: false, doubles: true, shared: 48 << 10 };
//! let program = program_of(&target, "relu", &lowering, &[&x], &[&x])?;
//! let [launch] = &program.launches[..] else { panic!("one launch is enough") };
//! assert_eq!(launch.count, 1000);
//! assert!(print::cuda(&launch.kernel, "relu", target.device)?.contains("kernel(const float *b0, float *b1"));
//! # Ok::<(), opforge::Error>(())
//! ```

mod apply;
mod code;
mod division;
mod forms;
pub mod kernel;
mod lower;
mod numbers;
mod pack;
pub mod print;
mod program;
mod rare;
mod team;
mod tensor;
mod value;

pub use kernel::Kernel;
pub use lower::{Target, program_of, program_of_chain, program_of_weights};
pub use numbers::Numbers;
pub use program::{Fault, Launch, Memory, Place, Program};
