//! A call as messages: what a rank sends when it begins, what it waits for, and what it makes of that.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use opforge_core::{Error, Result};

use super::streams::{Looking, Reducing, Sent, Stream, copied, nth, pieces};
use super::{Mailbox, MessageEngine, Slice};
use crate::engine::{Call, Collective, Poll, Progress, Reduction};
use crate::{Buffer, balanced};

const COLLECTIVES: u32 = 0;

/// All-reduces of up to so many bytes send all elements to all ranks; in larger ones each rank reduces a part, and sends that.
const WHOLE: usize = 8 << 10;

/// How many pieces of such a part are sent before the first has been reduced.
const AHEAD: usize = 8;

/// A call under way.
pub(super) struct Exchange {
    mailbox: Arc<dyn Mailbox>,
    /// `None` when it is over.
    call: Option<Call>,
    /// What is to be reduced.
    reducing: Option<Reducing>,
    /// What others send to be reduced by this rank is sent on as parts.
    sharing: Option<Sharing>,
    /// What goes into its place as it is.
    placing: Vec<Stream>,
    /// News that the last look has seen.
    version: u64,
}

/// What a rank sends in an all-reduce of parts.
struct Sharing {
    /// The elements of the other ranks' parts, and where they lie.
    parts: Vec<(Sent, Range<usize>)>,
    /// How many pieces of each have been sent.
    sent: usize,
    /// This rank's part, once it is reduced.
    results: Vec<Sent>,
}

impl Exchange {
    /// Sends what this rank has to send.
    pub fn start(engine: &MessageEngine, mut call: Call) -> Result<Self> {
        let mut exchange = Exchange {
            mailbox: engine.mailbox().clone(),
            call: None,
            reducing: None,
            sharing: None,
            placing: Vec::new(),
            version: 0,
        };
        exchange.begin(engine, &mut call)?;
        exchange.call = Some(call);
        Ok(exchange)
    }

    fn begin(&mut self, engine: &MessageEngine, call: &mut Call) -> Result<()> {
        let (rank, size, len) = (engine.rank, call.dtype.size_in_bytes(), call.recv.len());
        let send = outlasting(std::mem::take(&mut call.send))?;
        match &call.collective {
            Collective::Send { to, tag } => self.send(engine, *to, lane(*tag), &send),
            Collective::Receive { from, tag } => self.expect(engine, *from, lane(*tag), 0..len),
            Collective::Barrier => {
                self.send_others(engine, |_| send.clone());
                self.expect_others(engine, |_| 0..0);
            }
            Collective::Broadcast { root } if *root != rank => self.expect(engine, *root, COLLECTIVES, 0..len),
            Collective::Broadcast { .. } => {
                let all = self.copy_for_others(engine, &call.recv)?;
                self.send_others(engine, |_| all.clone());
            }
            Collective::AllGather { counts } => {
                self.send_others(engine, |_| send.clone());
                call.recv.bytes_mut()?[range(counts, rank, size)].copy_from_slice(send.bytes()?);
                self.expect_others(engine, |from| range(counts, from, size));
            }
            Collective::AllToAll { send: sent, recv: received } => {
                self.send_others(engine, |to| send.part(range(sent, to, size)));
                let own = send.part(range(sent, rank, size));
                call.recv.bytes_mut()?[range(received, rank, size)].copy_from_slice(own.bytes()?);
                self.expect_others(engine, |from| range(received, from, size));
            }
            Collective::ReduceScatter { op, counts } => {
                self.send_others(engine, |to| send.part(range(counts, to, size)));
                call.recv.bytes_mut()?.copy_from_slice(send.part(range(counts, rank, size)).bytes()?);
                self.reducing = Some(Reducing::new(engine, COLLECTIVES, call.dtype, *op, 0..len));
            }
            Collective::AllReduce(op) if len <= WHOLE || engine.ranks.len() == 1 => {
                let all = self.copy_for_others(engine, &call.recv)?;
                self.send_others(engine, |_| all.clone());
                self.reducing = Some(Reducing::new(engine, COLLECTIVES, call.dtype, *op, 0..len));
            }
            Collective::AllReduce(op) => self.begin_in_parts(engine, call, *op)?,
        }
        Ok(())
    }

    /// An all-reduce in which each rank reduces a part, as much as it can of all: no rank's traffic grows with their number.
    fn begin_in_parts(&mut self, engine: &MessageEngine, call: &Call, op: Reduction) -> Result<()> {
        let (ranks, size) = (engine.ranks.len(), call.dtype.size_in_bytes());
        let count = call.recv.len() / size;
        let part = |rank: usize| {
            let elements = balanced(count, ranks, rank);
            elements.start * size..elements.end * size
        };
        let mine = part(engine.rank);
        let sent = |to: usize, len: usize| Sent::next(engine, to, COLLECTIVES, len);
        let mut sharing = Sharing {
            parts: engine.others().map(|to| (sent(to, part(to).len()), part(to))).collect(),
            sent: 0,
            results: Vec::new(),
        };
        sharing.results = engine.others().map(|to| sent(to, mine.len())).collect();
        self.reducing = Some(Reducing::new(engine, COLLECTIVES, call.dtype, op, mine));
        self.expect_others(engine, part);
        sharing.send_up_to(&*self.mailbox, AHEAD, call.recv.bytes()?)?;
        self.sharing = Some(sharing);
        Ok(())
    }

    /// A copy of what is sent from where the result will be; nothing without other ranks.
    fn copy_for_others(&self, engine: &MessageEngine, recv: &Buffer) -> Result<Slice> {
        if engine.ranks.len() > 1 { copied(recv.bytes()?) } else { Ok(Buffer::empty().into()) }
    }

    fn send(&self, engine: &MessageEngine, to: usize, lane: u32, bytes: &Slice) {
        Sent::next(engine, to, lane, bytes.len()).post_all(&*self.mailbox, bytes);
    }

    fn send_others(&self, engine: &MessageEngine, bytes: impl Fn(usize) -> Slice) {
        engine.others().for_each(|to| self.send(engine, to, COLLECTIVES, &bytes(to)));
    }

    fn expect(&mut self, engine: &MessageEngine, from: usize, lane: u32, range: Range<usize>) {
        self.placing.push(Stream::next(engine, from, lane, range));
    }

    fn expect_others(&mut self, engine: &MessageEngine, range: impl Fn(usize) -> Range<usize>) {
        engine.others().for_each(|from| self.expect(engine, from, COLLECTIVES, range(from)));
    }

    /// Takes what has arrived; whether that is all.
    fn advance(&mut self, call: &Call, recv: &mut [u8]) -> Result<bool> {
        let mailbox = &*self.mailbox;
        let looking = Looking { inbox: mailbox.inbox(), here: mailbox.rank(), call };
        let mut is_complete = true;
        if let Some(reducing) = &mut self.reducing {
            while let Some((piece, place)) = reducing.advance(&looking, recv)? {
                if let Some(sharing) = &mut self.sharing {
                    sharing.send_result(mailbox, piece, &recv[place])?;
                    let next = if reducing.is_complete() { usize::MAX } else { piece + 1 + AHEAD };
                    sharing.send_up_to(mailbox, next, recv)?;
                }
            }
            is_complete = reducing.is_complete();
        }
        for stream in &mut self.placing {
            is_complete &= stream.place(&looking, recv)?;
        }
        Ok(is_complete)
    }
}

impl Sharing {
    /// Sends the other ranks' parts up to a piece.
    fn send_up_to(&mut self, mailbox: &dyn Mailbox, end: usize, recv: &[u8]) -> Result<()> {
        let most = self.parts.iter().map(|(_, range)| pieces(range.len())).max().unwrap_or_default();
        for piece in self.sent..end.min(most) {
            for (sent, range) in self.parts.iter().filter(|(_, range)| piece < pieces(range.len())) {
                sent.post(mailbox, piece, copied(&recv[nth(range, piece)])?);
            }
            self.sent = piece + 1;
        }
        Ok(())
    }

    /// Sends a piece of this rank's part to all others.
    fn send_result(&self, mailbox: &dyn Mailbox, piece: usize, bytes: &[u8]) -> Result<()> {
        let bytes = copied(bytes)?;
        self.results.iter().for_each(|sent| sent.post(mailbox, piece, bytes.clone()));
        Ok(())
    }
}

impl Progress for Exchange {
    fn poll(&mut self) -> Result<Poll> {
        self.version = self.mailbox.inbox().version();
        let mut call = self.call.take().ok_or(Error::UnwrapNone)?;
        let mut recv = std::mem::take(&mut call.recv);
        if self.advance(&call, recv.bytes_mut()?)? {
            return Ok(Poll::Done(recv));
        }
        call.recv = recv;
        self.call = Some(call);
        Ok(Poll::Pending)
    }

    fn pause(&self, _round: u32, until: Instant) {
        self.mailbox.inbox().wait(self.version, until);
    }
}

/// What is sent, which is read until all have got it, maybe after the call is done.
fn outlasting(send: Buffer) -> Result<Slice> {
    if send.is_lent() { copied(send.bytes()?) } else { Ok(send.into()) }
}

fn lane(tag: u16) -> u32 {
    u32::from(tag) + 1
}

/// The bytes of a rank's part.
fn range(counts: &[usize], rank: usize, size: usize) -> Range<usize> {
    let start: usize = counts[..rank].iter().sum();
    start * size..(start + counts[rank]) * size
}
