//! Engines: what moves bytes between ranks.

mod call;
mod check;
mod collectives;
mod messages;
mod mpi;
mod reduce;
mod request;
mod sockets;
mod threads;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use opforge_core::{DeviceLocation, Error, Result};

pub use call::{Call, Collective, Place, Reduction};
pub(crate) use check::{MAX_TAG, check, position};
pub use collectives::Collectives;
pub use messages::MessageEngine;
pub use mpi::{Mpi, MpiEngine};
pub(crate) use reduce::reduce;
pub use request::{LIMIT, Poll, Progress, Request};
pub(crate) use request::{back_off, deadline};
pub use sockets::{Meeting, Sockets};
pub use threads::Threads;

/// What moves bytes between the ranks of a group. All ranks of a group make the same collective calls in the same order; an engine by itself does
/// not check that ([`crate::Guard`] does).
///
/// An engine of devices (NCCL is to come) says so by [`Engine::location`]; its buffers are lent by [`Buffer::from_raw`](crate::Buffer::from_raw), and its guard
/// exchanges records by another engine ([`crate::Guard::with_records`]).
///
/// Reductions go by rank, first to last, f16 and bf16 in f32: their results are equal on all ranks, whatever the timing.
pub trait Engine: Send + Sync + Debug {
    /// The engine's name, as errors show it.
    fn name(&self) -> &'static str;

    /// This rank's number within the group.
    fn rank(&self) -> usize;

    /// How many ranks the group has.
    fn size(&self) -> usize;

    /// Where the buffers are that this engine takes.
    fn location(&self) -> DeviceLocation {
        DeviceLocation::Cpu
    }

    /// A group of some of this group's ranks, in this order. Those ranks call it, and no others.
    ///
    /// # Errors
    /// Ranks that are no distinct ranks of this group, or without this one; failures of the engine.
    fn subgroup(&self, ranks: &[usize]) -> Result<Arc<dyn Engine>>;

    /// Begins a call. The request owns its buffers, and gives the result back ([`Call::recv`]).
    ///
    /// # Errors
    /// Buffers that do not go with the counts, a dtype that the reduction does not take, ranks that the group does not have; failures of the engine.
    fn start(&self, call: Call) -> Result<Request>;

    /// Tells all ranks that this one stops after an error of its own, where the engine can: of a [`crate::Guard`], who waits for it gets an error that
    /// shows it, and it makes no further calls.
    ///
    /// ```
    /// use opforge_dist::{Collectives, Engine, Fault, Guard, LIMIT, Settings, Threads};
    ///
    /// let ranks = Threads::run(2, |engine| {
    ///     let guard = Guard::new(engine, Settings::default());
    ///     if guard.rank() == 1 {
    ///         guard.abort(&opforge_core::Error::msg("no such file: weights"));
    ///         return Ok(());
    ///     }
    ///     guard.barrier()?.wait(LIMIT).map(drop)
    /// });
    /// assert!(ranks[0].as_ref().unwrap_err().to_string().contains("no such file: weights"));
    /// ```
    fn abort(&self, error: &Error) {
        let _ = error;
    }

    /// Whether any thread may make calls, or only the one that started the engine.
    fn takes_any_thread(&self) -> bool {
        true
    }

    /// Counts what has arrived at this rank, where the engine knows it.
    fn news(&self) -> u64 {
        0
    }

    /// Waits a little for more than `seen` of [`Engine::news`], at most until `until`. `round` counts the waits.
    fn pause(&self, seen: u64, round: u32, until: Instant) {
        let _ = seen;
        back_off(round, until);
    }
}
