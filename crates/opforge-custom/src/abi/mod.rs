//! The kernels' binary interface, from Rust: what `native/bridge.h` declares, made safe to hold.
//!
//! MindSpore's kernels take a C++ object and throw exceptions. So a small bridge in C++ (`native/`) makes the object, in both ABIs of `std::string`,
//! and turns what is thrown into errors. Kernels in C and Rust reach the same object through a table of C functions behind its compatible part
//! (`include/opforge/kernel.h`).

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
