//! Global tensors: one tensor of all ranks, of which each has a part.
//!
//! A global tensor is a [`Tensor`](opforge::Tensor) whose device is a [placement](device_of) and whose storage knows its parts. Its shape and layout are those of the
//! whole, so that operators, views and autograd take it like any other; only the interpreter differs:
//!
//! ```text
//! dispatch -> autograd -> interpreter   signature   which Sbp the operator's axes allow, and which is cheapest
//!                                       boxing      inputs are brought there
//!                                       compute     the operator runs on parts, as a local call
//! ```
//! All ranks of a world run the same program and make the same calls, those that are not in a tensor's placement too; reading elements is for the placement's
//! ranks alone.

mod allowed;
mod beside;
mod boxing;
mod choice;
mod compute;
mod content;
mod convert;
mod device;
mod interpreter;
mod operators;
mod queued;
mod read;
mod signature;
mod view;
mod world;

pub use allowed::{Choice, choices};
pub use beside::make_in;
pub(crate) use convert::unfilled;
pub use convert::{distribute, distribution_of, from_part, is_global, part_of, redistribute, whole_over};
pub use device::{device_of, placement_of};
pub use world::World;
