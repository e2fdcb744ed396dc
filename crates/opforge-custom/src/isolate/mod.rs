//! Running a library's functions in a process of their own, a worker, where they can do no harm.

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
pub(crate) use runner::{DEFAULT_LIMIT, Isolated};
pub(crate) use worker::{Failure, Found, Observe, Piece, Runs, Signature, Worker};

#[cfg(test)]
mod tests;
