//! The engine of a rank that is a process.

use std::ffi::c_int;
use std::fmt;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use opforge_core::Result;

use super::abi::{self, Handle};
use super::calling::Calling;
use super::order::Order;
use super::world::Mpi;
use crate::Fault;
use crate::engine::{Call, Engine, Request, check, position};

/// A rank that is a process, in a communicator of its own.
///
/// Elements are reduced by this crate, from the first rank to the last, f16 and bf16 in f32: a reduction has the same bits on all ranks, under every MPI
/// and with the engine of threads, NaN is kept, and no more than the elements themselves goes over the wire. Communicators live as long as MPI does.
#[derive(Clone)]
pub struct MpiEngine {
    pub(super) mpi: &'static Mpi,
    pub(super) comm: Handle,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// How long the making of a group may take.
    pub(super) limit: Duration,
    pub(super) order: Arc<Order>,
}

impl MpiEngine {
    pub(super) fn new(mpi: &'static Mpi, comm: Handle, limit: Duration) -> Result<Self> {
        let (mut rank, mut size) = (0, 0);
        let entered = mpi.enter()?;
        // SAFETY: the communicator is one of MPI's, the other arguments are addresses of numbers.
        let codes = unsafe { [(mpi.functions.comm_rank)(comm, &mut rank), (mpi.functions.comm_size)(comm, &mut size)] };
        drop(entered);
        codes.into_iter().try_for_each(|code| mpi.check("MPI_Comm_rank", code))?;
        Ok(MpiEngine {
            mpi,
            comm,
            rank: usize::try_from(rank)?,
            size: usize::try_from(size)?,
            limit,
            order: Arc::default(),
        })
    }
}

impl Engine for MpiEngine {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    /// Waits for the other ranks of the subgroup. MPI does that without a limit: another thread calls it, and stays behind where ranks do not come.
    /// Without `MPI_THREAD_MULTIPLE` there is no limit.
    fn subgroup(&self, ranks: &[usize]) -> Result<Arc<dyn Engine>> {
        position(self, ranks)?;
        let numbers = ranks.iter().map(|&rank| c_int::try_from(rank)).collect::<Result<Vec<_>, _>>()?;
        let (mpi, comm) = (self.mpi, self.comm);
        let made = match mpi.is_multiple() {
            false => create_group(mpi, comm, &numbers)?,
            true => {
                let (send, made) = mpsc::channel();
                let create = move || send.send(create_group(mpi, comm, &numbers));
                std::thread::Builder::new().name("MPI_Comm_create_group".into()).spawn(create)?;
                made.recv_timeout(self.limit).unwrap_or_else(|_| {
                    mpi.leave_stuck();
                    Err(Fault::TimedOut { call: format!("subgroup of ranks {ranks:?}"), waited: self.limit }.into())
                })?
            }
        };
        Ok(Arc::new(MpiEngine::new(mpi, made, self.limit)?))
    }

    fn start(&self, call: Call) -> Result<Request> {
        check(self, &call)?;
        if self.mpi.is_finished() {
            return Err(Fault::Unavailable { message: format!("{call}: MPI is finished") }.into());
        }
        if !self.mpi.abandoned.lock().is_ok_and(|calls| calls.is_empty()) {
            self.mpi.bury()?;
        }
        let name = call.to_string();
        Ok(Request::new(name, Calling::start(self, call)?))
    }

    fn takes_any_thread(&self) -> bool {
        self.mpi.takes_any_thread()
    }
}

impl fmt::Debug for MpiEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MpiEngine(rank {} of {})", self.rank, self.size)
    }
}

/// `MPI_Comm_create_group`.
fn create_group(mpi: &'static Mpi, comm: Handle, ranks: &[c_int]) -> Result<Handle> {
    let count = c_int::try_from(ranks.len())?;
    let (mut all, mut some, mut made) = (abi::GROUP_NULL, abi::GROUP_NULL, abi::COMM_NULL);
    let functions = &mpi.functions;
    let _entered = mpi.enter()?;
    // SAFETY: handles are MPI's, `ranks` has `count` numbers, and the other arguments are addresses of handles.
    unsafe {
        mpi.check("MPI_Comm_group", (functions.comm_group)(comm, &mut all))?;
        mpi.check("MPI_Group_incl", (functions.group_incl)(all, count, ranks.as_ptr(), &mut some))?;
        mpi.check("MPI_Comm_create_group", (functions.comm_create_group)(comm, some, 0, &mut made))?;
        mpi.check("MPI_Group_free", (functions.group_free)(&mut all))?;
        mpi.check("MPI_Group_free", (functions.group_free)(&mut some))?;
    }
    Ok(made)
}
