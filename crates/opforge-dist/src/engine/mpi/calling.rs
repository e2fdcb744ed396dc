//! Calls as one operation of MPI after the other.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use opforge_core::{DType, Result};

use super::engine::MpiEngine;
use super::operations::{ALL, RECV, SEND, room, starts};
use super::order::{Order, Turn};
use super::running::{Held, Running};
use crate::engine::{Call, Collective, Poll, Progress, Reduction, back_off, reduce};
use crate::{Buffer, parts};

/// All-reduces of up to so many bytes gather all ranks' elements, in one operation; larger ones reduce a part on each rank, and gather the parts.
const GATHERED: usize = 8 << 10;

/// Larger all-reduces are made of pieces of so many bytes for each rank, which bounds the memory for what comes from other ranks. Smaller ones in
/// debug builds, so that tests have several.
const PIECE: usize = if cfg!(debug_assertions) { 512 << 10 } else { 8 << 20 };

/// A call under way. MPI matches operations of a communicator by their order, so those of a collective all begin before those of the next; who waits
/// for a call whose turn has not come lets the one before it go on.
pub(super) struct Calling {
    steps: Arc<Mutex<Steps>>,
    order: Arc<Order>,
    begun: Instant,
    /// How long who waits stays awake: MPI moves bytes only while it is asked.
    awake: Duration,
}

/// A call as one operation after the other.
pub(super) struct Steps {
    group: MpiEngine,
    /// Held until the call's last operation has begun; messages have none.
    turn: Option<Turn>,
    /// The call, until its turn comes.
    waiting: Option<Call>,
    running: Option<Running>,
    dtype: DType,
    then: Then,
    /// What became of the call, where another found out.
    end: Option<Result<Poll>>,
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

impl Calling {
    pub fn start(engine: &MpiEngine, call: Call) -> Result<Self> {
        let is_message = matches!(call.collective, Collective::Send { .. } | Collective::Receive { .. });
        let bytes = call.recv.len() + call.send.len();
        let mut steps = Steps {
            group: engine.clone(),
            turn: if is_message { None } else { Some(Turn::next(&engine.order)) },
            dtype: call.dtype,
            waiting: Some(call),
            running: None,
            then: Then::Done,
            end: None,
        };
        steps.begin_in_turn()?;
        let number = steps.turn.as_ref().map(Turn::number);
        let steps = Arc::new(Mutex::new(steps));
        if let Some(number) = number {
            engine.order.enter(number, &steps);
        }
        let awake = Duration::from_micros(50) + Duration::from_nanos(bytes as u64);
        Ok(Calling { steps, order: engine.order.clone(), begun: Instant::now(), awake })
    }
}

impl Steps {
    /// Begins the call if its turn has come; whether it has begun.
    fn begin_in_turn(&mut self) -> Result<bool> {
        if self.turn.as_ref().is_some_and(|turn| !turn.has_come()) {
            return Ok(self.waiting.is_none());
        }
        if let Some(call) = self.waiting.take() {
            let (running, then) = begin(&self.group, call)?;
            self.running = Some(running);
            if !matches!(then, Then::ReducePiece(..)) {
                self.turn = None;
            }
            self.then = then;
        }
        Ok(true)
    }

    /// What follows the operation that is done.
    fn advance(&mut self) -> Result<Poll> {
        let Some(mut running) = self.running.take() else { return Ok(Poll::Pending) };
        let (mut held, size) = (running.take(), self.dtype.size_in_bytes());
        match std::mem::replace(&mut self.then, Then::Done) {
            Then::Done => Ok(Poll::Done(std::mem::take(&mut held.buffers[RECV]))),
            Then::Received(bytes) => {
                self.group.check_length(&running, bytes)?;
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
                let is_last = piece.end * size == held.buffers[RECV].len();
                self.running = Some(self.group.gather_piece(held, op, self.dtype, piece.clone())?);
                if is_last {
                    self.turn = None;
                }
                self.then = Then::NextPiece(op, piece.end);
                Ok(Poll::Pending)
            }
            Then::NextPiece(_, start) if start * size == held.buffers[RECV].len() => {
                Ok(Poll::Done(std::mem::take(&mut held.buffers[RECV])))
            }
            Then::NextPiece(op, start) => {
                let (running, then) = self.group.exchange_piece(held, op, start, size)?;
                (self.running, self.then) = (Some(running), then);
                Ok(Poll::Pending)
            }
        }
    }
}

impl Steps {
    fn poll(&mut self) -> Result<Poll> {
        if let Some(end) = self.end.take() {
            return end;
        }
        if !self.begin_in_turn()? {
            return Ok(Poll::Pending);
        }
        match self.running.as_mut().map(Running::test).transpose()? {
            Some(true) => self.advance(),
            _ => Ok(Poll::Pending),
        }
    }

    /// Goes on for another call; the end is kept for who waits for this one.
    pub fn drive(&mut self) {
        if self.end.is_some() {
            return;
        }
        match self.poll() {
            Ok(Poll::Pending) => {}
            end => self.end = Some(end),
        }
    }
}

impl Progress for Calling {
    fn poll(&mut self) -> Result<Poll> {
        let lock = || self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if lock().waiting.is_some() {
            self.order.drive();
        }
        lock().poll()
    }

    fn pause(&self, round: u32, until: Instant) {
        if self.begun.elapsed() >= self.awake {
            back_off(round, until);
        }
    }
}

/// A call's first operation, and what follows it.
fn begin(group: &MpiEngine, call: Call) -> Result<(Running, Then)> {
    let (len, size) = (call.recv.len(), call.dtype.size_in_bytes());
    let mut held = Held { buffers: [call.recv, call.send, Buffer::empty()], ..Held::default() };
    Ok(match call.collective {
        Collective::Barrier => (Running::barrier(group.mpi, group.comm, held)?, Then::Done),
        Collective::Broadcast { root } => (group.broadcast(held, root)?, Then::Done),
        Collective::Send { to, tag } => (group.send(held, to, tag)?, Then::Done),
        Collective::Receive { from, tag } => (group.receive(held, from, tag)?, Then::Received(len)),
        Collective::AllGather { counts } => (group.gather(held, &counts, size, SEND, RECV)?, Then::Done),
        Collective::AllToAll { send, recv } => (group.exchange(held, [&send, &recv], size, SEND, RECV)?, Then::Done),
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
    })
}

/// The pieces of an all-reduce.
impl MpiEngine {
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
}

/// Parts of one length, as many as there are; empty ones without end.
fn split(bytes: &[u8], each: usize) -> impl Iterator<Item = &[u8]> {
    (0..).map(move |part| &bytes[part * each..][..each])
}
