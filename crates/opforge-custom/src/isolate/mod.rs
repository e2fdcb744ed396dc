//! Running a library's functions in a process of their own, a worker, where they can do no harm by accident, and little on purpose.
//!
//! The worker is a small program, part of this crate and started from memory (`native/worker/`). It opens the library, and maps arguments out of one
//! file in memory, each between guard pages, inputs read-only. A socket carries one request at a time (`protocol.h`); the worker ends with it, and
//! with its parent, so that no endless loop outlives the parent. This process reads and writes the file and maps none of it, so that nothing a kernel
//! does to its memory reaches memory here. The checker runs its probes in workers too.
//!
//! The worker gives up, before it opens the library (`native/worker/confine.h`): signals to other processes, their memory and descriptors, its limits and
//! its group. It may allocate so much memory and take so much time. It remains a process of this user's: it can write files, use the network, start further
//! processes (which inherit what it gave up, and end with it), print to this process's standard error, take all processors and, through files and shared
//! memory, more memory than its limit.

mod death;
mod executable;
mod instance;
mod layout;
mod message;
mod process;
mod runner;
mod worker;

pub(crate) use death::{Access, Death, Fault, Spot};
pub(crate) use process::{REPORT_SIZE, Start};
pub(crate) use runner::Isolated;
pub use runner::Isolation;
pub(crate) use worker::{Failure, Found, Observe, Piece, Runs, Signature, Worker};

#[cfg(test)]
mod tests;
