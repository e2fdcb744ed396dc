//! Programs: calls that one kernel carries out, block by block, so that what passes between them never reaches memory.
//!
//! Which calls go together follows from what operators say of themselves. [Axis maps](crate::operator::AxisMap) name the axes that are
//! independent; where a call reads what an earlier one has written, layouts tell which axes are the same (`axes.rs`). An axis that every call has
//! in its outputs, and that is independent in all of them, is a loop around them all; what is left of the tensors is a block (`blocks.rs`).
//! The kernels for blocks are those of [`lower`](crate::operator::Operator::lower), so results have the bits that calls one by one give.
//!
//! A product of matrices, or a convolution, can only begin a program. It makes its output rectangle by rectangle, as its caches want it, and the calls after it run on each
//! (`followed.rs`): the bias, an activation, a residual, or an optimizer's step after a weight's gradient.

mod axes;
mod blocks;
mod chain;
mod followed;
mod known;
mod part;

pub use chain::{Access, Chain, Fused, Obstacle};
pub use part::{Kind, Part};
