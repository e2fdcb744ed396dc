//! Programs: calls that one kernel carries out, block by block, so that what passes between them never reaches memory.
//!
//! Which calls go together follows from what operators say of themselves. [Axis maps](crate::operator::AxisMap) name the axes that are
//! independent; where a call reads what an earlier one has written, layouts tell which axes are the same (`axes.rs`). An axis that every call has
//! in its outputs, and that is independent in all of them, is a loop around them all; what is left of the tensors is a block (`blocks.rs`).
//! The kernels for blocks are those of [`lower`](crate::operator::Operator::lower), so results have the bits that calls one by one give.

mod axes;
mod blocks;
mod chain;
mod part;

pub use chain::{Access, Chain, Fused, Obstacle};
pub use part::{Kind, Part};
