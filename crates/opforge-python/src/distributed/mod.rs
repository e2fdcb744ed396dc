//! Groups of processes for the module `opforge.distributed`, which has PyTorch's calls; here are those of the engine, guarded.

mod fault;
mod group;
mod memory;
mod progress;
mod request;
mod world;

pub use group::PyProcessGroup;
pub use request::PyCollectiveRequest;
