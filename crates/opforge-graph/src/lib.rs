//! Graphs: calls that are traced instead of run, and run later, many times, as one kernel.
//!
//! ```
//! use opforge::{Device, Result, Tensor};
//!
//! let scale = Tensor::new(&[2f32, 3.0], &Device::Cpu)?;
//! let graph = opforge_graph::trace(&[&scale], |x| Ok(vec![x[0].mul(&scale)?.exp()?.sum_all()?]))?;
//! assert_eq!(graph.nodes().len(), 3);
//!
//! let program = graph.compile()?;
//! let x = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
//! let results = program.run(&[&x])?;
//! assert_eq!(results[0].to_scalar::<f32>()?, 1.0 + 3f32.exp());
//! # Ok::<(), opforge::Error>(())
//! ```
//!
//! [`trace()`] runs a function with an interpreter of its own ([`mod@trace`]): operators are inferred and written down ([`Graph`]), built-in ones and
//! users', gradients included; views change layouts only, as they do in eager code. What the function reads besides its arguments is
//! captured, not copied: a program sees parameters as they are when it runs, and changes them where the function did.
//!
//! A graph has a text ([`text`]), which [`Graph::parse`] reads, and can be saved with what it captured: [`Graph::save`], [`Graph::load`].
//! A [`DynamicGraph`] has names for lengths that are free.
//!
//! [`Graph::compile`] leaves out what nobody reads ([`passes`]) and what is there already ([`laws`]), makes calls that give the same in each run once (`constants`), joins calls that
//! go together ([`opforge::fusion`]), and lays what passes between them into one piece of memory ([`memory`]). A [`Program`] is one instruction of the
//! VM (`segment`); where it calls functions of tensors, of operators in another language, the kernels before and after are one each (`piece`).
//!
//! A graph is the VM's queue, written down: its values are storages, and its calls read and write layouts of them, as instructions do. So views and
//! changes in place need no representation of their own. In programs that record gradients a traced function is one node ([`Function`]), whose
//! backward is the program of the traced gradient (`recompute` says what it makes again).

mod constants;
mod device;
mod draw;
pub mod dynamic;
pub mod function;
pub mod graph;
pub mod inside;
mod kept;
mod kernel;
pub mod laws;
pub mod memory;
mod owner;
pub mod packed;
pub mod passes;
mod pattern;
mod piece;
pub mod program;
mod recompute;
mod run;
mod save;
mod segment;
pub mod text;
pub mod trace;
mod world;

pub use dynamic::DynamicGraph;
pub use function::Function;
pub use graph::{Graph, Node, Origin, Use, Value};
pub use pattern::Size;
pub use program::{Options, Program};
pub use trace::trace;
