//! Running a library's functions in a process of their own, a worker, where they can do no harm.

mod death;
mod executable;
mod message;
mod process;
mod worker;

pub(crate) use death::{Access, Death, Fault, Spot};
pub(crate) use process::{REPORT_SIZE, Start};
pub(crate) use worker::{Failure, Form, Found, Piece, Runs, Signature, Worker};

#[cfg(test)]
mod tests;
