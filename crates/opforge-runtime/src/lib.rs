//! The runtime of opforge: devices, storage, the caching allocator, threads, streams and the virtual machine. It knows no operator.
//!
//! # The journey of an instruction
//! ```text
//!  vm::submit(Call { op, at, kernel, part, inputs, outputs })                on the caller's thread
//!      |
//!      |  lock: what do these storages wait for?      Deps of a storage: last writer, readers since, host accesses, poison
//!      |
//!      +-- cheap, stream idle, nothing to wait for --> issue -> reserve outputs -> kernel -> end: `Ok` or the error
//!      |                                              (inline: no allocation, no hand-over; about 30 ns)
//!      |
//!      +-- else: issue, queue on the stream           a ticket (stream, number); the caller goes on
//!               |                                     (at most so many instructions and bytes ahead: `RunAhead`)
//!               v
//!          head of the queue, its waits done          run by the stream's worker, or by a host thread that waits for it
//!               |
//!          reserve outputs -> kernel -> free what nobody needs any more -> end
//!                               |                                          |
//!                               | Err or panic                             v
//!                               v                                     wake who waits
//!                     poison the outputs ...................> whoever reads them gets `Error::Deferred { op, at, inner }`
//!
//!  vm::read(storage) / vm::write(storage)              waits for that storage only; helps meanwhile; guards hold kernels off
//! ```
//!
//! # Rules
//! - **Order.** Instructions of one [`vm::Stream`] run in the order of their submission. Between streams, an instruction waits for the last
//!   writers of what it reads, and for the last writer and all readers of what it writes. All submissions have one total order, so
//!   nothing ever waits in a circle.
//! - **Memory.** [`Storage::new`] reserves nothing. Memory is reserved right before the first kernel that needs it runs, and freed when the
//!   last handle or instruction lets go: running ahead needs no more memory than running step by step, and freed blocks are reused while
//!   they are in the cache.
//! - **Failure.** A kernel that fails or panics makes its outputs unusable ("poison"). What would read them does not run, and passes the
//!   failure on. Poison of new memory ends when an instruction [replaces](vm::Content::Replaced) the whole content or with
//!   [`vm::clear_poison`]; a merely in-place or partial write neither runs nor ends it. Memory that is [changed](vm::Content::Changed) is unusable only
//!   until who submitted the call, or reads the memory, has been given the failure: then it holds what the kernel has left, so that nothing is
//!   lost by a call that was refused.
//!   Failures that nobody has seen are reported by [`vm::Stream::synchronize`] and [`vm::synchronize`].
//! - **Interrupts.** Where a front end waits, it may give up ([`vm::FrontEnd::wait`]); long kernels therefore run on the stream's thread, never on
//!   one that waits. What was being waited for is interrupted: the running kernel is told to stop ([`checkpoint`]), what is queued behind
//!   it does not run, and readers of their outputs get [`opforge_core::Error::Interrupted`] at once. Nothing is interrupted that changes memory
//!   with content, so that nothing is lost, unless a second interrupt meets the same kernel. A kernel that does not stop goes on in the
//!   background, with storages of its own, while its thread's calls go to a new stream.
//! - **Host.** [`vm::read`] and [`vm::write`] give guards to bytes. Waiting for anything else while holding one may wait forever.
//! - **Forks.** A fork waits for running instructions (at most a second). In the child, helpers and workers start anew when they are
//!   needed; an instruction that was cut off has failed there.
//!
//! # Environment
//! | variable | meaning |
//! |---|---|
//! | `OPFORGE_NUM_THREADS` | threads of [`parallel::parallel_for`], the caller included; else all cores that the process may use |
//! | `OPFORGE_SYNC` | anything but 0: every call returns when its kernel has run ([`vm::set_sync`]) |
//! | `OPFORGE_FUSE` | 0: calls that wait in a queue are never run as one kernel ([`vm::set_fusing`]) |

pub mod alloc;
mod device;
mod file;
mod fork;
pub mod generator;
mod interrupt;
mod kernel;
mod memory;
mod on_host;
pub mod parallel;
pub mod sequence;
mod spin;
mod storage;
mod sync;
mod transfer;
pub mod vm;

pub use device::{CudaDevice, Device, MetalDevice};
pub use file::MappedFile;
pub use fork::forks;
pub use generator::Generator;
pub use interrupt::checkpoint;
pub use kernel::{Argument, Context, HostKernel, Kernel, NoKernel, Prepack, Rectangles, Strips, Then};
pub use memory::{HostMemory, Memory};
pub use on_host::OnHost;
pub use opforge_core::DeviceLocation;
pub use storage::Storage;
pub use transfer::Transfer;
