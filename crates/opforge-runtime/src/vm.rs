//! The virtual machine: it runs kernels in order on streams, and keeps track of who may touch which storage when.
//!
//! [`submit`] is the way in, [`read`] and [`write()`] are the way out; the crate's page draws what happens between.

mod abandon;
mod buffer;
mod deps;
mod failure;
#[cfg(unix)]
mod fork;
mod fuse;
mod host;
mod interrupt;
mod machine;
#[cfg(loom)]
pub mod model;
mod patience;
mod run;
mod state;
mod stream;
mod submit;
pub mod trace;
mod worker;

pub use abandon::abandon_unwanted;
pub use buffer::{Buffer, Call, Content, Held};
pub use fuse::{Fused, Fuser, Part, Place, Waiting, Window, is_fusing, set_fuser, set_fusing};
pub use host::{ReadGuard, WriteGuard, read, read_all, wait_for_read, wait_for_write, write};
pub use machine::{
    RunAhead, hand_over, inline_cost, is_sync, run_ahead, set_inline_cost, set_run_ahead, set_sync, synchronize,
};
pub use patience::{FrontEnd, Step, caller, look_up, set_front_end, wait};
pub use stream::{Stream, with_stream};
pub use submit::{clear_poison, set_unusable, submit};

pub(crate) use deps::{Deps, Guarded};
#[cfg(unix)]
pub(crate) use fork::{ForkGuard, after_fork, before_fork};
