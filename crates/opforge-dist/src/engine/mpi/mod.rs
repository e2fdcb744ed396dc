//! Ranks as processes that MPI starts and connects, through the standard ABI of MPI 5. The library is found and loaded when a program starts MPI.

mod abi;
mod calling;
mod engine;
mod library;
mod operations;
mod order;
mod running;
mod world;

pub use engine::MpiEngine;
pub use world::Mpi;
