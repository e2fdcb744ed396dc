//! Tensors in files: numpy's `.npy` and `.npz`, `.safetensors`, and PyTorch's checkpoints.
//!
//! A file's sizes are claims, checked against its bytes before anything is allocated. Whatever contradicts the format is an
//! [`Error::Format`](crate::Error::Format). Files are written beside their destination and renamed, so that a failed write loses nothing
//! and tensors that are mapped from the old file stay valid. Small files are copied, large ones mapped, unless [`FileAccess`] says otherwise.

mod access;
mod bytes;
pub mod npy;
mod npz;
pub mod pickle;
mod raw;
mod replace;
pub mod safetensors;

pub use access::{FileAccess, SMALL_FILE};
