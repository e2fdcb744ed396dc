//! One operation of MPI under way, with the memory that it uses.
//!
//! A request owns its buffers. Where somebody gives up waiting, MPI may still write to them: they are left to the engine, which keeps them until MPI
//! is done.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use opforge_core::Result;

use super::abi::{self, Count, Handle, Status};
use super::world::Mpi;
use crate::Buffer;
use crate::engine::{Poll, Progress};

/// What an operation reads and writes until it is done.
#[derive(Default)]
pub(super) struct Held {
    pub buffers: [Buffer; 3],
    /// Counts and displacements, in bytes.
    pub counts: Vec<Vec<Count>>,
    /// Where a new communicator is written.
    pub comm: Option<Arc<Mutex<Handle>>>,
}

/// An operation under way. What it uses lives until it is done, also when it is dropped before.
pub(super) struct Running {
    mpi: &'static Mpi,
    function: &'static str,
    request: Handle,
    /// `None` when it is done.
    held: Option<Held>,
    /// Set when it is done.
    pub status: Status,
}

/// An operation that nobody waits for any more.
pub(super) struct Abandoned {
    request: Handle,
    _held: Held,
}

impl Running {
    /// Begins an operation.
    ///
    /// # Errors
    /// What MPI says; the thread may not call it.
    ///
    /// # Safety
    /// `begin` calls MPI with addresses of memory in `held`, as large as the operation needs, and of nothing else that does not live forever.
    pub unsafe fn begin(
        mpi: &'static Mpi,
        function: &'static str,
        mut held: Held,
        begin: impl FnOnce(&mut Held, *mut Handle) -> c_int,
    ) -> Result<Self> {
        let mut request = abi::REQUEST_NULL;
        let entered = mpi.enter()?;
        let code = begin(&mut held, &mut request);
        drop(entered);
        mpi.check(function, code)?;
        Ok(Running { mpi, function, request, held: Some(held), status: [0; 8] })
    }

    /// `MPI_Ibarrier`.
    pub fn barrier(mpi: &'static Mpi, comm: Handle, held: Held) -> Result<Self> {
        // SAFETY: a barrier uses no memory.
        unsafe { Self::begin(mpi, "MPI_Ibarrier", held, |_, request| (mpi.functions.ibarrier)(comm, request)) }
    }

    /// `MPI_Comm_idup`; the communicator is in [`Running::comm`] when it is done.
    pub fn duplicate(mpi: &'static Mpi, comm: Handle) -> Result<Self> {
        let held = Held { comm: Some(Arc::new(Mutex::new(abi::COMM_NULL))), ..Held::default() };
        // SAFETY: the new communicator is written into a mutex's content that `held` keeps; nobody locks it before the operation is done.
        unsafe {
            Self::begin(mpi, "MPI_Comm_idup", held, |held, request| {
                let cell = held.comm.as_ref().map(|cell| std::ptr::from_mut(&mut *lock(cell)));
                (mpi.functions.comm_idup)(comm, cell.unwrap_or(std::ptr::null_mut()), request)
            })
        }
    }

    /// Where a new communicator appears.
    pub fn comm(&self) -> Arc<Mutex<Handle>> {
        let cell = self.held.as_ref().and_then(|held| held.comm.clone());
        cell.unwrap_or_else(|| Arc::new(Mutex::new(abi::COMM_NULL)))
    }

    /// Whether the operation is done.
    ///
    /// # Errors
    /// What MPI says; the operation is given up.
    pub fn test(&mut self) -> Result<bool> {
        let mut flag = 0;
        let entered = self.mpi.enter()?;
        // SAFETY: the request is one that MPI made, or null when it is done; the other arguments are addresses of a number and of a status.
        let code = unsafe { (self.mpi.functions.test)(&mut self.request, &mut flag, &mut self.status) };
        drop(entered);
        self.mpi.check(self.function, code)?;
        Ok(flag != 0)
    }

    /// The memory of an operation that is done.
    pub fn take(&mut self) -> Held {
        self.held.take().unwrap_or_default()
    }
}

fn lock(cell: &Mutex<Handle>) -> std::sync::MutexGuard<'_, Handle> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress for Running {
    fn poll(&mut self) -> Result<Poll> {
        let done = self.test()?;
        if done {
            self.take();
        }
        Ok(if done { Poll::Done(Buffer::empty()) } else { Poll::Pending })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            let abandoned = Abandoned { request: self.request, _held: held };
            self.mpi.abandoned.lock().unwrap_or_else(PoisonError::into_inner).push(abandoned);
        }
    }
}

impl Abandoned {
    /// Whether MPI is done with it. One that fails is never done: what MPI still does with its memory is unknown.
    pub fn is_done(&mut self, mpi: &Mpi) -> bool {
        let mut flag = 0;
        let mut status: Status = [0; 8];
        // SAFETY: the request and the places for results are this call's own, and `_held` keeps the operation's memory; the caller has entered MPI.
        let code = unsafe { (mpi.functions.test)(&mut self.request, &mut flag, &mut status) };
        code == abi::SUCCESS && flag != 0
    }
}

/// A buffer's address for MPI. Those of empty buffers point nowhere, and small numbers mean something to MPI: 1 is `MPI_IN_PLACE`.
pub(super) fn at(buffer: &Buffer) -> *mut c_void {
    static NOTHING: u8 = 0;
    match buffer.is_empty() {
        true => std::ptr::from_ref(&NOTHING).cast_mut().cast(),
        false => buffer.address().as_ptr().cast(),
    }
}
