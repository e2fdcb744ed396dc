//! One program over many processes: engines that move bytes between ranks, the guard that keeps ranks from hanging and from diverging, boxing, which
//! brings the parts of a tensor from one distribution to another, and tensors over all that.
//!
//! ```text
//!  planner       the distributions that take a program the least time, found on simulated ranks
//!  global        tensors of all ranks: operators on the parts that each has
//!    boxing      Sbp, Placement -> Plan (pure data) -> its execution on parts
//!      guard     agreement before every collective, limits, who left and who failed
//!        engine  all-reduce, all-gather, .. on buffers:   threads of one process | sockets | MPI | (NCCL is to come)
//! ```
//!
//! # Example
//! ```
//! use opforge_core::DType;
//! use opforge_dist::{Buffer, Collectives, Engine, LIMIT, Reduction, Threads};
//!
//! let sums = Threads::run(3, |engine| {
//!     let mine = Buffer::of(&[engine.rank() as f32, 1.0])?;
//!     engine.all_reduce(mine, DType::F32, Reduction::Sum)?.wait(LIMIT)?.to_vec::<f32>()
//! });
//! for sum in sums {
//!     assert_eq!(sum?, [3.0, 3.0]);
//! }
//! # Ok::<(), opforge_core::Error>(())
//! ```

mod boxing;
mod buffer;
mod distribution;
mod engine;
mod fault;
pub mod global;
mod guard;
mod parts;
mod placement;
pub mod planner;
mod sbp;

pub use boxing::{Change, Costs, Groups, Link, Plan, Step};
pub use buffer::Buffer;
pub use distribution::{Distribution, Region};
pub use engine::{
    Call, Collective, Collectives, Engine, LIMIT, Meeting, MessageEngine, Mpi, MpiEngine, Place, Poll, Progress,
    Reduction, Request, Sockets, Threads,
};
pub use fault::Fault;
pub use guard::{Guard, Settings};
pub use parts::balanced;
pub use placement::{DeviceKind, Placement};
pub use sbp::Sbp;
