//! Groups of processes for the module `opforge.distributed`, which has PyTorch's calls; here are those of the engine, guarded.

mod fault;
mod global;
mod group;
mod memory;
mod planner;
mod progress;
mod request;
mod signals;
mod world;

pub use fault::class_of_fault;
pub use global::{
    _distribute, _distribution, _from_part, _is_global, _lay, _make_in, _own_part, _placement_device, _redistribute,
};
pub use group::PyProcessGroup;
pub use planner::_Planner;
pub use request::PyCollectiveRequest;
