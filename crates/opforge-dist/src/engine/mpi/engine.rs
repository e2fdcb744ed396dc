//! A rank that is a process.

use std::ffi::c_int;
use std::fmt;
use std::sync::Arc;

use opforge_core::Result;

use super::abi::{self, Handle};
use super::calling::Calling;
use super::world::Mpi;
use crate::Fault;
use crate::engine::{Call, Engine, Request, check, position};

/// A rank that is a process, in a communicator of its own.
///
/// Elements are reduced by this crate, from the first rank to the last, f16 and bf16 in f32: a reduction has the same bits on all ranks, under every MPI
/// and with the engine of threads, NaN is kept, and no more than the elements themselves goes over the wire. Communicators live as long as MPI does.
pub struct MpiEngine {
    pub(super) mpi: &'static Mpi,
    pub(super) comm: Handle,
    pub(super) rank: usize,
    pub(super) size: usize,
}

impl MpiEngine {
    pub(super) fn new(mpi: &'static Mpi, comm: Handle) -> Result<Self> {
        let (mut rank, mut size) = (0, 0);
        let entered = mpi.enter()?;
        // SAFETY: the communicator is one of MPI's, the other arguments are addresses of numbers.
        let codes = unsafe { [(mpi.functions.comm_rank)(comm, &mut rank), (mpi.functions.comm_size)(comm, &mut size)] };
        drop(entered);
        codes.into_iter().try_for_each(|code| mpi.check("MPI_Comm_rank", code))?;
        Ok(MpiEngine { mpi, comm, rank: usize::try_from(rank)?, size: usize::try_from(size)? })
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

    /// Waits, without a limit, for the other ranks of the subgroup: MPI has no other way. The guard calls it when all have come.
    fn subgroup(&self, ranks: &[usize]) -> Result<Arc<dyn Engine>> {
        position(self, ranks)?;
        let numbers = ranks.iter().map(|&rank| c_int::try_from(rank)).collect::<Result<Vec<_>, _>>()?;
        let count = c_int::try_from(numbers.len())?;
        let (mut all, mut some, mut comm) = (abi::GROUP_NULL, abi::GROUP_NULL, abi::COMM_NULL);
        let functions = &self.mpi.functions;
        let entered = self.mpi.enter()?;
        // SAFETY: handles are MPI's, `numbers` has `count` numbers, and the other arguments are addresses of handles.
        unsafe {
            self.mpi.check("MPI_Comm_group", (functions.comm_group)(self.comm, &mut all))?;
            let code = (functions.group_incl)(all, count, numbers.as_ptr(), &mut some);
            self.mpi.check("MPI_Group_incl", code)?;
            let code = (functions.comm_create_group)(self.comm, some, 0, &mut comm);
            self.mpi.check("MPI_Comm_create_group", code)?;
            self.mpi.check("MPI_Group_free", (functions.group_free)(&mut all))?;
            self.mpi.check("MPI_Group_free", (functions.group_free)(&mut some))?;
        }
        drop(entered);
        Ok(Arc::new(MpiEngine::new(self.mpi, comm)?))
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
}

impl fmt::Debug for MpiEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MpiEngine(rank {} of {})", self.rank, self.size)
    }
}
