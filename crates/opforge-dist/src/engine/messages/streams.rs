//! Messages as pieces: what is sent to a rank, what comes from one, and what several bring to be reduced.

use std::ops::Range;

use opforge_core::{DType, Error, Result};

use super::inbox::Arrival;
use super::{Inbox, Key, Mailbox, MessageEngine, PIECE, Piece, Slice};
use crate::engine::{Call, Reduction, reduce};
use crate::{Buffer, Fault};

/// How many pieces a message of so many bytes has; an empty one has one.
pub(super) fn pieces(len: usize) -> usize {
    len.div_ceil(PIECE).max(1)
}

/// Where a piece lies in the range of the whole.
pub(super) fn nth(range: &Range<usize>, piece: usize) -> Range<usize> {
    range.start + piece * PIECE..(range.start + (piece + 1) * PIECE).min(range.end)
}

/// A message to a rank.
pub(super) struct Sent {
    /// The receiver in the world.
    to: usize,
    key: Key,
    total: usize,
}

impl Sent {
    /// The next message to a rank of the group, of so many bytes.
    pub fn next(engine: &MessageEngine, to: usize, lane: u32, total: usize) -> Self {
        let (to, key) = engine.next_to(to, lane);
        Sent { to, key, total }
    }

    pub fn post(&self, mailbox: &dyn Mailbox, piece: usize, bytes: Slice) {
        let key = Key { piece: piece as u32, ..self.key };
        mailbox.post(self.to, key, Piece { bytes, total: self.total });
    }

    pub fn post_all(&self, mailbox: &dyn Mailbox, bytes: &Slice) {
        for piece in 0..pieces(self.total) {
            self.post(mailbox, piece, bytes.part(nth(&(0..self.total), piece)));
        }
    }
}

/// What is looked into for pieces.
pub(super) struct Looking<'a> {
    pub inbox: &'a Inbox,
    /// This rank in the world.
    pub here: usize,
    pub call: &'a Call,
}

/// A message from a rank, which is to fill a range of the result.
pub(super) struct Stream {
    /// The sender in the world.
    sender: usize,
    key: Key,
    range: Range<usize>,
    /// How many pieces have come.
    came: usize,
}

impl Stream {
    /// The next message from a rank of the group.
    pub fn next(engine: &MessageEngine, from: usize, lane: u32, range: Range<usize>) -> Self {
        let (sender, key) = engine.next_from(from, lane);
        Stream { sender, key, range, came: 0 }
    }

    fn is_complete(&self) -> bool {
        self.came == pieces(self.range.len())
    }

    /// The next piece, and where it belongs, if it has arrived.
    ///
    /// # Errors
    /// The sender has left; the message has another length.
    fn piece(&mut self, looking: &Looking<'_>) -> Result<Option<(Slice, Range<usize>)>> {
        if self.is_complete() {
            return Ok(None);
        }
        let key = Key { piece: self.came as u32, ..self.key };
        match looking.inbox.take(self.sender, &key) {
            Arrival::Awaited => Ok(None),
            Arrival::Gone(how) => {
                let (rank, call) = (looking.here, looking.call.to_string());
                Err(Fault::Left { rank, call, other: self.sender, how: how.as_ref().into() }.into())
            }
            Arrival::Here(piece) => {
                let place = nth(&self.range, self.came);
                if piece.total != self.range.len() || piece.bytes.len() != place.len() {
                    let (given, expected) = (format!("{} bytes", piece.total), self.range.len());
                    let accepted = format!("{expected} bytes, as this rank expects");
                    return Err(Error::shape(looking.call.collective.name(), "message", given, accepted));
                }
                self.came += 1;
                Ok(Some((piece.bytes, place)))
            }
        }
    }

    /// Puts what has arrived into its place; whether that is all.
    pub fn place(&mut self, looking: &Looking<'_>, recv: &mut [u8]) -> Result<bool> {
        while let Some((bytes, place)) = self.piece(looking)? {
            recv[place].copy_from_slice(bytes.bytes()?);
        }
        Ok(self.is_complete())
    }
}

/// Messages from all other ranks, by rank, which are reduced with this rank's elements, in place.
pub(super) struct Reducing {
    op: Reduction,
    dtype: DType,
    /// This rank, in the group.
    rank: usize,
    /// This rank's elements, and the result.
    range: Range<usize>,
    streams: Vec<Stream>,
    /// What has come of the next piece.
    came: Vec<Option<Slice>>,
    done: usize,
}

impl Reducing {
    pub fn new(engine: &MessageEngine, lane: u32, dtype: DType, op: Reduction, range: Range<usize>) -> Self {
        let streams: Vec<_> = engine.others().map(|from| Stream::next(engine, from, lane, range.clone())).collect();
        let came = streams.iter().map(|_| None).collect();
        Reducing { op, dtype, rank: engine.rank, range, streams, came, done: 0 }
    }

    pub fn is_complete(&self) -> bool {
        self.done == pieces(self.range.len())
    }

    /// Reduces the next piece if all ranks' has come: its number, and where it lies.
    pub fn advance(&mut self, looking: &Looking<'_>, recv: &mut [u8]) -> Result<Option<(usize, Range<usize>)>> {
        if self.is_complete() {
            return Ok(None);
        }
        for (stream, came) in self.streams.iter_mut().zip(&mut self.came) {
            if came.is_none() {
                *came = stream.piece(looking)?.map(|(bytes, _)| bytes);
            }
        }
        if self.came.iter().any(Option::is_none) {
            return Ok(None);
        }
        let place = nth(&self.range, self.done);
        let others = self.came.iter().flatten().map(|slice| slice.bytes().map(Some));
        let mut ranks = others.collect::<Result<Vec<_>>>()?;
        ranks.insert(self.rank, None);
        reduce(self.dtype, self.op, &ranks, &mut recv[place.clone()])?;
        self.came.fill_with(|| None);
        self.done += 1;
        Ok(Some((self.done - 1, place)))
    }
}

/// A copy of bytes, to be sent.
pub(super) fn copied(bytes: &[u8]) -> Result<Slice> {
    Buffer::from_bytes(bytes).map(Slice::from)
}
