//! Calls as operations of MPI.

use std::ffi::c_int;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opforge_core::{DType, Error, Result};

use super::abi::{self, Count, Handle};
use super::running::{Held, Running, at};
use super::world::Mpi;
use crate::engine::{Call, Collective, Engine, Poll, Progress, Reduction, Request, back_off, check, reduce};
use crate::{Buffer, Fault, parts};

/// All-reduces of up to so many bytes gather all ranks' elements, in one operation; larger ones reduce a part on each rank, and gather the parts.
const GATHERED: usize = 8 << 10;

/// Larger all-reduces are made of pieces of so many bytes for each rank, which bounds the memory for what comes from other ranks. Smaller ones in
/// debug builds, so that tests have several.
const PIECE: usize = if cfg!(debug_assertions) { 512 << 10 } else { 8 << 20 };

/// A rank that is a process, in a communicator of its own.
///
/// Elements are reduced by this crate, from the first rank to the last, f16 and bf16 in f32: a reduction has the same bits on all ranks, under every MPI
/// and with the engine of threads, NaN is kept, and no more than the elements themselves goes over the wire. Communicators live as long as MPI does.
pub struct MpiEngine {
    mpi: &'static Mpi,
    comm: Handle,
    rank: usize,
    size: usize,
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
        crate::engine::position(self, ranks)?;
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

/// A call under way: one operation after the other.
struct Calling {
    group: MpiEngine,
    running: Running,
    dtype: DType,
    then: Then,
    begun: Instant,
    /// How long who waits stays awake: MPI moves bytes only while it is asked.
    awake: Duration,
}

/// What follows an operation. Its buffers are the call's `recv` and `send`, and one for what comes from all ranks.
enum Then {
    Done,
    /// The message has so many bytes.
    Received(usize),
    /// Reduce what came from all ranks.
    Reduce(Reduction),
    /// Reduce this rank's part of a piece of `recv`, and gather the parts.
    ReducePiece(Reduction, Range<usize>),
    /// Go on with the next piece, from this element on.
    NextPiece(Reduction, usize),
}

const RECV: usize = 0;
const SEND: usize = 1;
const ALL: usize = 2;

impl Calling {
    fn start(engine: &MpiEngine, call: Call) -> Result<Self> {
        let group = MpiEngine { ..*engine };
        let (dtype, size) = (call.dtype, call.dtype.size_in_bytes());
        let (len, bytes) = (call.recv.len(), call.recv.len() + call.send.len());
        let mut held = Held { buffers: [call.recv, call.send, Buffer::empty()], ..Held::default() };
        let (running, then) = match call.collective {
            Collective::Barrier => (Running::barrier(group.mpi, group.comm, held)?, Then::Done),
            Collective::Broadcast { root } => (group.broadcast(held, root)?, Then::Done),
            Collective::Send { to, tag } => (group.send(held, to, tag)?, Then::Done),
            Collective::Receive { from, tag } => (group.receive(held, from, tag)?, Then::Received(len)),
            Collective::AllGather { counts } => (group.gather(held, &counts, size, SEND, RECV)?, Then::Done),
            Collective::AllToAll { send, recv } => {
                (group.exchange(held, [&send, &recv], size, SEND, RECV)?, Then::Done)
            }
            Collective::ReduceScatter { op, counts } => {
                let mine = vec![counts[group.rank]; group.size];
                held.buffers[ALL] = room(group.size * len)?;
                (group.exchange(held, [&counts, &mine], size, SEND, ALL)?, Then::Reduce(op))
            }
            Collective::AllReduce(op) if len <= GATHERED => {
                let counts = vec![len / size; group.size];
                held.buffers[ALL] = room(group.size * len)?;
                (group.gather(held, &counts, size, RECV, ALL)?, Then::Reduce(op))
            }
            Collective::AllReduce(op) => {
                held.buffers[ALL] = room(group.size * PIECE.min(len))?;
                group.exchange_piece(held, op, 0, size)?
            }
        };
        let awake = Duration::from_micros(50) + Duration::from_nanos(bytes as u64);
        Ok(Calling { group, running, dtype, then, begun: Instant::now(), awake })
    }

    /// What follows the operation that is done.
    fn advance(&mut self) -> Result<Poll> {
        let (mut held, size) = (self.running.take(), self.dtype.size_in_bytes());
        match std::mem::replace(&mut self.then, Then::Done) {
            Then::Done => Ok(Poll::Done(std::mem::take(&mut held.buffers[RECV]))),
            Then::Received(bytes) => {
                self.group.check_length(&self.running, bytes)?;
                Ok(Poll::Done(std::mem::take(&mut held.buffers[RECV])))
            }
            Then::Reduce(op) => {
                let all = std::mem::take(&mut held.buffers[ALL]);
                let mut recv = std::mem::take(&mut held.buffers[RECV]);
                let ranks: Vec<_> = split(all.bytes()?, recv.len()).take(self.group.size).map(Some).collect();
                reduce(self.dtype, op, &ranks, recv.bytes_mut()?)?;
                Ok(Poll::Done(recv))
            }
            Then::ReducePiece(op, piece) => {
                self.running = self.group.gather_piece(held, op, self.dtype, piece.clone())?;
                self.then = Then::NextPiece(op, piece.end);
                Ok(Poll::Pending)
            }
            Then::NextPiece(_, start) if start * size == held.buffers[RECV].len() => {
                Ok(Poll::Done(std::mem::take(&mut held.buffers[RECV])))
            }
            Then::NextPiece(op, start) => {
                (self.running, self.then) = self.group.exchange_piece(held, op, start, size)?;
                Ok(Poll::Pending)
            }
        }
    }
}

impl Progress for Calling {
    fn poll(&mut self) -> Result<Poll> {
        if !self.running.test()? {
            return Ok(Poll::Pending);
        }
        self.advance()
    }

    fn pause(&self, round: u32, until: Instant) {
        if self.begun.elapsed() >= self.awake {
            back_off(round, until);
        }
    }
}

/// Operations; buffers are named by their place in `held`, counts are of elements of `size` bytes.
impl MpiEngine {
    fn broadcast(&self, held: Held, root: usize) -> Result<Running> {
        let (bytes, root) = (Count::try_from(held.buffers[RECV].len())?, c_int::try_from(root)?);
        let call = |held: &mut Held, request: *mut Handle| {
            // SAFETY: the buffer has so many bytes, and `held` keeps it.
            unsafe { (self.mpi.functions.ibcast)(at(&held.buffers[RECV]), bytes, abi::BYTE, root, self.comm, request) }
        };
        // SAFETY: the call uses memory of `held` alone.
        unsafe { Running::begin(self.mpi, "MPI_Ibcast", held, call) }
    }

    fn send(&self, held: Held, to: usize, tag: u16) -> Result<Running> {
        let (bytes, to) = (Count::try_from(held.buffers[SEND].len())?, c_int::try_from(to)?);
        let call = |held: &mut Held, request: *mut Handle| {
            let (buffer, tag) = (at(&held.buffers[SEND]), c_int::from(tag));
            // SAFETY: the buffer has so many bytes, and `held` keeps it.
            unsafe { (self.mpi.functions.isend)(buffer, bytes, abi::BYTE, to, tag, self.comm, request) }
        };
        // SAFETY: the call uses memory of `held` alone.
        unsafe { Running::begin(self.mpi, "MPI_Isend", held, call) }
    }

    fn receive(&self, held: Held, from: usize, tag: u16) -> Result<Running> {
        let (bytes, from) = (Count::try_from(held.buffers[RECV].len())?, c_int::try_from(from)?);
        let call = |held: &mut Held, request: *mut Handle| {
            let (buffer, tag) = (at(&held.buffers[RECV]), c_int::from(tag));
            // SAFETY: the buffer has so many bytes, and `held` keeps it.
            unsafe { (self.mpi.functions.irecv)(buffer, bytes, abi::BYTE, from, tag, self.comm, request) }
        };
        // SAFETY: the call uses memory of `held` alone.
        unsafe { Running::begin(self.mpi, "MPI_Irecv", held, call) }
    }

    /// Begins a piece of an all-reduce, from this element on: each rank gets all ranks' elements of its part, but its own.
    fn exchange_piece(&self, held: Held, op: Reduction, start: usize, size: usize) -> Result<(Running, Then)> {
        let end = (start + self.size * (PIECE / size)).min(held.buffers[RECV].len() / size);
        let mut counts = parts::lengths(end - start, self.size);
        let mut mine = vec![counts[self.rank]; self.size];
        let starts = starts(start, &counts);
        (counts[self.rank], mine[self.rank]) = (0, 0);
        let layout = [(counts, starts), {
            let starts = self::starts(0, &mine);
            (mine, starts)
        }];
        let running = self.exchange_at(held, layout, size, RECV, ALL)?;
        Ok((running, Then::ReducePiece(op, start..end)))
    }

    /// Reduces this rank's part of a piece, and begins to gather the parts.
    fn gather_piece(&self, mut held: Held, op: Reduction, dtype: DType, piece: Range<usize>) -> Result<Running> {
        let size = dtype.size_in_bytes();
        let counts = parts::lengths(piece.len(), self.size);
        let starts = starts(piece.start, &counts);
        let [recv, _, all] = &mut held.buffers;
        let mine = &mut recv.bytes_mut()?[starts[self.rank] * size..][..counts[self.rank] * size];
        let mut ranks: Vec<_> = split(all.bytes()?, mine.len()).take(self.size - 1).map(Some).collect();
        ranks.insert(self.rank, None);
        reduce(dtype, op, &ranks, mine)?;
        self.gather_at(held, (counts, starts), size, RECV, RECV)
    }

    /// All ranks' elements, from one buffer to another.
    fn gather(&self, held: Held, counts: &[usize], size: usize, from: usize, to: usize) -> Result<Running> {
        self.gather_at(held, (counts.to_vec(), starts(0, counts)), size, from, to)
    }

    /// All ranks' elements to given places, from one buffer to another or, where they are the same, in place.
    fn gather_at(&self, mut held: Held, layout: Layout, size: usize, from: usize, to: usize) -> Result<Running> {
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
    fn exchange(&self, held: Held, counts: [&[usize]; 2], size: usize, from: usize, to: usize) -> Result<Running> {
        let layout = counts.map(|counts| (counts.to_vec(), starts(0, counts)));
        self.exchange_at(held, layout, size, from, to)
    }

    fn exchange_at(&self, mut held: Held, layout: [Layout; 2], size: usize, from: usize, to: usize) -> Result<Running> {
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
    fn check_length(&self, running: &Running, bytes: usize) -> Result<()> {
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
type Layout = (Vec<usize>, Vec<usize>);

/// Where parts begin that lie one after the other.
fn starts(first: usize, counts: &[usize]) -> Vec<usize> {
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

/// Parts of one length, as many as there are; empty ones without end.
fn split(bytes: &[u8], each: usize) -> impl Iterator<Item = &[u8]> {
    (0..).map(move |part| &bytes[part * each..][..each])
}

/// Memory that MPI writes.
fn room(bytes: usize) -> Result<Buffer> {
    // SAFETY: it is read when the operation that fills it is done, and as far as that filled it.
    unsafe { Buffer::unwritten(bytes) }
}
