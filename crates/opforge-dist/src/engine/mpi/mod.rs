//! Ranks as processes that MPI starts and connects, through the standard ABI of MPI 5. The library is found and loaded when a program starts MPI.

mod abi;
mod library;
mod running;
mod start;
mod world;

pub use start::MpiEngine;
pub use world::Mpi;
