//! A call as messages: what a rank sends when it begins, what it waits for, and what it makes of that.

use std::sync::Arc;
use std::time::Instant;

use opforge_core::{DType, Error, Result};

use super::ThreadEngine;
use super::hub::{Hub, Key};
use crate::engine::{Call, Collective, Poll, Progress, reduce};
use crate::{Buffer, Fault, Reduction};

const COLLECTIVES: u32 = 0;

/// A call under way.
pub(super) struct Exchange {
    hub: Arc<Hub>,
    /// This rank in the world, and in the group.
    world_rank: usize,
    rank: usize,
    /// `None` when it is done.
    call: Option<Call>,
    waits: Vec<Wait>,
    /// News that the last look has seen.
    version: u64,
}

/// A message that is waited for.
struct Wait {
    key: Key,
    /// The sender in the world.
    sender: usize,
    message: Option<Vec<u8>>,
}

impl Exchange {
    /// Sends what this rank has to send.
    pub fn start(engine: &ThreadEngine, call: Call) -> Result<Self> {
        post(engine, &call)?;
        let wait = |(from, lane)| Wait { key: engine.expect(from, lane), sender: engine.ranks[from], message: None };
        let waits = senders(engine, &call.collective).into_iter().map(wait).collect();
        let (hub, world_rank) = (engine.member.hub.clone(), engine.member.world_rank);
        Ok(Exchange { hub, world_rank, rank: engine.rank, call: Some(call), waits, version: 0 })
    }

    /// Takes what has arrived; whether that is all.
    fn collect(&mut self) -> Result<bool> {
        let mut complete = true;
        for wait in self.waits.iter_mut().filter(|wait| wait.message.is_none()) {
            // A rank leaves after all that it sends has arrived, so that this order misses nothing.
            let gone = self.hub.is_gone(wait.sender);
            wait.message = self.hub.take(self.world_rank, &wait.key);
            if wait.message.is_none() && gone {
                let call = self.call.as_ref().map(Call::to_string).unwrap_or_default();
                return Err(
                    Fault::Left { rank: self.world_rank, call, other: wait.sender, how: "has left".into() }.into()
                );
            }
            complete &= wait.message.is_some();
        }
        Ok(complete)
    }

    fn finish(&mut self, mut call: Call) -> Result<Buffer> {
        let (rank, size) = (self.rank, call.dtype.size_in_bytes());
        let messages: Vec<(usize, Vec<u8>)> =
            self.waits.drain(..).filter_map(|wait| wait.message.map(|message| (wait.key.from, message))).collect();
        let op = call.collective.name();
        let (send, recv) = (call.send.bytes()?, call.recv.bytes_mut()?);
        match &call.collective {
            Collective::AllReduce(op) => {
                combine(call.dtype, *op, rank, &messages, recv)?;
            }
            Collective::ReduceScatter { op, counts } => {
                recv.copy_from_slice(&send[range(counts, rank, size)]);
                combine(call.dtype, *op, rank, &messages, recv)?;
            }
            Collective::AllGather { counts } => {
                place(op, recv, counts, size, (rank, send), &messages)?;
            }
            Collective::AllToAll { send: sent, recv: received } => {
                place(op, recv, received, size, (rank, &send[range(sent, rank, size)]), &messages)?;
            }
            Collective::Broadcast { .. } | Collective::Receive { .. } => {
                messages.iter().try_for_each(|(_, message)| fill(op, recv, message))?;
            }
            Collective::Send { .. } | Collective::Barrier => {}
        }
        Ok(call.recv)
    }
}

impl Progress for Exchange {
    fn poll(&mut self) -> Result<Poll> {
        self.version = self.hub.version(self.world_rank);
        if !self.collect()? {
            return Ok(Poll::Pending);
        }
        let call = self.call.take().ok_or(Error::UnwrapNone)?;
        self.finish(call).map(Poll::Done)
    }

    fn pause(&self, _round: u32, until: Instant) {
        self.hub.wait(self.world_rank, self.version, until);
    }
}

fn lane(tag: u16) -> u32 {
    u32::from(tag) + 1
}

/// Posts what a call sends.
fn post(engine: &ThreadEngine, call: &Call) -> Result<()> {
    let (send, recv) = (call.send.bytes()?, call.recv.bytes()?);
    let part = |to: usize| match &call.collective {
        Collective::AllReduce(_) | Collective::Broadcast { .. } => recv,
        Collective::AllToAll { send: counts, .. } | Collective::ReduceScatter { counts, .. } => {
            &send[range(counts, to, call.dtype.size_in_bytes())]
        }
        _ => send,
    };
    match &call.collective {
        Collective::Send { to, tag } => engine.post(*to, lane(*tag), send.to_vec()),
        Collective::Receive { .. } => {}
        Collective::Broadcast { root } if *root != engine.rank => {}
        _ => others(engine).for_each(|to| engine.post(to, COLLECTIVES, part(to).to_vec())),
    }
    Ok(())
}

/// From whom messages come, and on which lane.
fn senders(engine: &ThreadEngine, collective: &Collective) -> Vec<(usize, u32)> {
    match collective {
        Collective::Send { .. } => Vec::new(),
        Collective::Receive { from, tag } => vec![(*from, lane(*tag))],
        Collective::Broadcast { root } if *root == engine.rank => Vec::new(),
        Collective::Broadcast { root } => vec![(*root, COLLECTIVES)],
        _ => others(engine).map(|from| (from, COLLECTIVES)).collect(),
    }
}

fn others(engine: &ThreadEngine) -> impl Iterator<Item = usize> + use<> {
    let rank = engine.rank;
    (0..engine.ranks.len()).filter(move |&other| other != rank)
}

/// The bytes of a rank's part.
fn range(counts: &[usize], rank: usize, size: usize) -> std::ops::Range<usize> {
    let start: usize = counts[..rank].iter().sum();
    start * size..(start + counts[rank]) * size
}

fn fill(op: &'static str, to: &mut [u8], message: &[u8]) -> Result<()> {
    if to.len() != message.len() {
        let given = format!("{} bytes", message.len());
        return Err(Error::shape(op, "message", given, format!("{} bytes, as this rank expects", to.len())));
    }
    to.copy_from_slice(message);
    Ok(())
}

/// Puts the ranks' parts one after the other.
fn place(
    op: &'static str,
    recv: &mut [u8],
    counts: &[usize],
    size: usize,
    (rank, mine): (usize, &[u8]),
    messages: &[(usize, Vec<u8>)],
) -> Result<()> {
    fill(op, &mut recv[range(counts, rank, size)], mine)?;
    messages.iter().try_for_each(|(from, message)| fill(op, &mut recv[range(counts, *from, size)], message))
}

/// Reduces the ranks' elements in the order of ranks; this rank's are in `out`.
fn combine(dtype: DType, op: Reduction, rank: usize, messages: &[(usize, Vec<u8>)], out: &mut [u8]) -> Result<()> {
    // Vectors of bytes are not aligned for elements.
    let aligned = |(_, message): &(usize, Vec<u8>)| Buffer::from_bytes(message);
    let copies = messages.iter().map(aligned).collect::<Result<Vec<_>>>()?;
    let mut ranks = copies.iter().map(|copy| Ok(Some(copy.bytes()?))).collect::<Result<Vec<_>>>()?;
    // Messages are in the order of ranks.
    ranks.insert(rank, None);
    reduce(dtype, op, &ranks, out)
}
