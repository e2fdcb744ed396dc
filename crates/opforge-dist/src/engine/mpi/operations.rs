//! Operations of MPI: what calls are made of.

use std::ffi::c_int;

use opforge_core::{Error, Result};

use super::abi::{self, Count, Handle};
use super::engine::MpiEngine;
use super::running::{Held, Running, at};
use crate::Buffer;

/// Buffers of an operation, by their place in [`Held`]: the call's two, and one for what comes from all ranks.
pub(super) const RECV: usize = 0;
pub(super) const SEND: usize = 1;
pub(super) const ALL: usize = 2;

/// Operations; buffers are named by their place in `held`, counts are of elements of `size` bytes.
impl MpiEngine {
    pub(super) fn broadcast(&self, held: Held, root: usize) -> Result<Running> {
        let (bytes, root) = (Count::try_from(held.buffers[RECV].len())?, c_int::try_from(root)?);
        let call = |held: &mut Held, request: *mut Handle| {
            // SAFETY: the buffer has so many bytes, and `held` keeps it.
            unsafe { (self.mpi.functions.ibcast)(at(&held.buffers[RECV]), bytes, abi::BYTE, root, self.comm, request) }
        };
        // SAFETY: the call uses memory of `held` alone.
        unsafe { Running::begin(self.mpi, "MPI_Ibcast", held, call) }
    }

    pub(super) fn send(&self, held: Held, to: usize, tag: u16) -> Result<Running> {
        let (bytes, to) = (Count::try_from(held.buffers[SEND].len())?, c_int::try_from(to)?);
        let call = |held: &mut Held, request: *mut Handle| {
            let (buffer, tag) = (at(&held.buffers[SEND]), c_int::from(tag));
            // SAFETY: the buffer has so many bytes, and `held` keeps it.
            unsafe { (self.mpi.functions.isend)(buffer, bytes, abi::BYTE, to, tag, self.comm, request) }
        };
        // SAFETY: the call uses memory of `held` alone.
        unsafe { Running::begin(self.mpi, "MPI_Isend", held, call) }
    }

    pub(super) fn receive(&self, held: Held, from: usize, tag: u16) -> Result<Running> {
        let (bytes, from) = (Count::try_from(held.buffers[RECV].len())?, c_int::try_from(from)?);
        let call = |held: &mut Held, request: *mut Handle| {
            let (buffer, tag) = (at(&held.buffers[RECV]), c_int::from(tag));
            // SAFETY: the buffer has so many bytes, and `held` keeps it.
            unsafe { (self.mpi.functions.irecv)(buffer, bytes, abi::BYTE, from, tag, self.comm, request) }
        };
        // SAFETY: the call uses memory of `held` alone.
        unsafe { Running::begin(self.mpi, "MPI_Irecv", held, call) }
    }

    /// All ranks' elements, from one buffer to another.
    pub(super) fn gather(&self, held: Held, counts: &[usize], size: usize, from: usize, to: usize) -> Result<Running> {
        self.gather_at(held, (counts.to_vec(), starts(0, counts)), size, from, to)
    }

    /// All ranks' elements to given places, from one buffer to another or, where they are the same, in place.
    pub(super) fn gather_at(
        &self,
        mut held: Held,
        layout: Layout,
        size: usize,
        from: usize,
        to: usize,
    ) -> Result<Running> {
        let (counts, starts) = (in_bytes(&layout.0, size)?, in_bytes(&layout.1, size)?);
        let sent = counts[self.rank];
        held.counts = vec![counts, starts];
        let call = |held: &mut Held, request: *mut Handle| {
            let send = if from == to { abi::in_place() } else { at(&held.buffers[from]).cast_const() };
            let (recv, counts, starts) = (at(&held.buffers[to]), held.counts[0].as_ptr(), held.counts[1].as_ptr());
            // SAFETY: one buffer has this rank's count of bytes, the other all of them; `held` keeps them and the counts.
            unsafe {
                (self.mpi.functions.iallgatherv)(
                    send,
                    sent,
                    abi::BYTE,
                    recv,
                    counts,
                    starts,
                    abi::BYTE,
                    self.comm,
                    request,
                )
            }
        };
        // SAFETY: the call uses memory of `held` alone.
        unsafe { Running::begin(self.mpi, "MPI_Iallgatherv", held, call) }
    }

    /// A part to each rank and one from each; `counts` are those sent and those received.
    pub(super) fn exchange(
        &self,
        held: Held,
        counts: [&[usize]; 2],
        size: usize,
        from: usize,
        to: usize,
    ) -> Result<Running> {
        let layout = counts.map(|counts| (counts.to_vec(), starts(0, counts)));
        self.exchange_at(held, layout, size, from, to)
    }

    pub(super) fn exchange_at(
        &self,
        mut held: Held,
        layout: [Layout; 2],
        size: usize,
        from: usize,
        to: usize,
    ) -> Result<Running> {
        held.counts.clear();
        for (counts, starts) in &layout {
            held.counts.extend([in_bytes(counts, size)?, in_bytes(starts, size)?]);
        }
        let call = |held: &mut Held, request: *mut Handle| {
            let [sent, sent_at, received, received_at] = [0, 1, 2, 3].map(|i| held.counts[i].as_ptr());
            let (send, recv) = (at(&held.buffers[from]), at(&held.buffers[to]));
            // SAFETY: the buffers have as many bytes as their counts add up to; `held` keeps them and the counts.
            unsafe {
                (self.mpi.functions.ialltoallv)(
                    send,
                    sent,
                    sent_at,
                    abi::BYTE,
                    recv,
                    received,
                    received_at,
                    abi::BYTE,
                    self.comm,
                    request,
                )
            }
        };
        // SAFETY: the call uses memory of `held` alone.
        unsafe { Running::begin(self.mpi, "MPI_Ialltoallv", held, call) }
    }

    /// Whether a message was as long as expected; MPI itself refuses longer ones.
    pub(super) fn check_length(&self, running: &Running, bytes: usize) -> Result<()> {
        let mut count: Count = 0;
        let entered = self.mpi.enter()?;
        // SAFETY: the status is one that MPI filled in.
        let code = unsafe { (self.mpi.functions.get_count)(&running.status, abi::BYTE, &mut count) };
        drop(entered);
        self.mpi.check("MPI_Get_count", code)?;
        if usize::try_from(count) == Ok(bytes) {
            return Ok(());
        }
        Err(Error::shape(
            "receive",
            "message",
            format!("{count} bytes"),
            format!("{bytes} bytes, as this rank expects"),
        ))
    }
}

/// Counts, and where each begins.
pub(super) type Layout = (Vec<usize>, Vec<usize>);

/// Where parts begin that lie one after the other.
pub(super) fn starts(first: usize, counts: &[usize]) -> Vec<usize> {
    let mut next = first;
    let starts = counts.iter().map(|&count| {
        next += count;
        next - count
    });
    starts.collect()
}

fn in_bytes(counts: &[usize], size: usize) -> Result<Vec<Count>> {
    counts.iter().map(|&count| Ok(Count::try_from(count * size)?)).collect()
}

/// Memory that MPI writes.
pub(super) fn room(bytes: usize) -> Result<Buffer> {
    // SAFETY: it is read when the operation that fills it is done, and as far as that filled it.
    unsafe { Buffer::unwritten(bytes) }
}
