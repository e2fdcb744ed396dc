//! The kernels' binary interface, from Rust: what `native/bridge.h` declares, made safe to hold.

mod arrays;
mod bridge;
mod dtype;
mod extra;
mod outcome;

pub(crate) use arrays::{Arrays, UNKNOWN_LENGTH, UNKNOWN_RANK, lengths};
pub(crate) use bridge::{Address, RawAttribute};
pub(crate) use dtype::{TYPE_CAPACITY, dtype_name, type_id};
pub(crate) use extra::{Extra, Inferred, Variant};
pub(crate) use outcome::Outcome;
