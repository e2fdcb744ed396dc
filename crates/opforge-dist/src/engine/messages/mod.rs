//! Engines whose ranks leave messages for each other: calls as messages with names, and where those arrive.
//!
//! Messages travel in pieces, so that what comes from other ranks is reduced or put into its place while it is in a cache, and bounds the memory that it
//! takes. How pieces get to another rank is a [`Mailbox`]: through memory (`threads`) or a connection (`sockets`).

mod exchange;
mod inbox;
mod streams;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use opforge_core::Result;

use super::{Call, Engine, Request, check, position};
use exchange::Exchange;
pub(super) use inbox::{Inbox, Key, Piece, Slice};

/// The most bytes of a piece: a whole number of elements of every dtype. Fewer in debug builds, so that tests have several.
pub(super) const PIECE: usize = if cfg!(debug_assertions) { 32 << 10 } else { 512 << 10 };

/// How a rank reaches the others of its world, and what has come from them. The rank leaves when it is dropped.
pub(super) trait Mailbox: Send + Sync {
    /// The engine's name.
    fn name(&self) -> &'static str;

    /// This rank in the world.
    fn rank(&self) -> usize;

    /// What has arrived.
    fn inbox(&self) -> &Inbox;

    /// Leaves a piece for a rank of the world, without waiting. One that has left gets nothing.
    fn post(&self, to: usize, key: Key, piece: Piece);
}

/// A rank that exchanges messages with the others of its group: of [`Threads`](crate::Threads) or [`Sockets`](crate::Sockets). What has arrived and is not
/// received yet is held in memory.
pub struct MessageEngine {
    member: Arc<Member>,
    /// The group's number, the same for all its ranks.
    id: u64,
    rank: usize,
    /// The members' ranks in the world.
    ranks: Arc<[usize]>,
    lanes: Mutex<HashMap<Lane, Numbers>>,
}

/// What the groups of one rank share.
struct Member {
    mailbox: Arc<dyn Mailbox>,
    /// How many groups of the same ranks this rank has made.
    made: Mutex<HashMap<Arc<[usize]>, u64>>,
}

/// Messages between two ranks are in order within a lane: the peer in the group, and the lane of a [`Key`].
type Lane = (usize, u32);

/// How many messages have been sent and are expected.
#[derive(Default)]
struct Numbers {
    sent: u64,
    expected: u64,
}

impl MessageEngine {
    /// The engine of a world of so many ranks.
    pub(super) fn world(mailbox: Arc<dyn Mailbox>, ranks: usize) -> Self {
        Self::of(Arc::new(Member { mailbox, made: Mutex::default() }), (0..ranks).collect())
    }

    fn of(member: Arc<Member>, ranks: Arc<[usize]>) -> Self {
        let world_rank = member.mailbox.rank();
        let rank = ranks.iter().position(|&rank| rank == world_rank).unwrap_or_default();
        MessageEngine { id: member.group(&ranks), member, rank, ranks, lanes: Mutex::default() }
    }

    fn mailbox(&self) -> &Arc<dyn Mailbox> {
        &self.member.mailbox
    }

    /// The next message to a rank of the group: its receiver in the world, and its name there.
    fn next_to(&self, to: usize, lane: u32) -> (usize, Key) {
        let number = self.count(to, lane, |numbers| &mut numbers.sent);
        (self.ranks[to], Key { group: self.id, from: self.rank as u32, lane, number, piece: 0 })
    }

    /// The next message from a rank of the group: its sender in the world, and its name here.
    fn next_from(&self, from: usize, lane: u32) -> (usize, Key) {
        let number = self.count(from, lane, |numbers| &mut numbers.expected);
        (self.ranks[from], Key { group: self.id, from: from as u32, lane, number, piece: 0 })
    }

    fn count(&self, peer: usize, lane: u32, of: impl FnOnce(&mut Numbers) -> &mut u64) -> u64 {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let count = of(lanes.entry((peer, lane)).or_default());
        *count += 1;
        *count - 1
    }

    /// The other ranks of the group.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let rank = self.rank;
        (0..self.ranks.len()).filter(move |&other| other != rank)
    }
}

impl Member {
    /// The number of the next group of these ranks: the same at all of them, for all make their groups in the same order.
    fn group(&self, ranks: &Arc<[usize]>) -> u64 {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let count = made.entry(ranks.clone()).or_default();
        *count += 1;
        let numbers = ranks.iter().map(|&rank| rank as u64).chain([*count]);
        numbers.fold(0, |hash, number| mixed(hash ^ number))
    }
}

/// The finalizer of SplitMix64: a bijection that spreads changes of one bit over all (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators").
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Engine for MessageEngine {
    fn name(&self) -> &'static str {
        self.mailbox().name()
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.ranks.len()
    }

    fn subgroup(&self, ranks: &[usize]) -> Result<Arc<dyn Engine>> {
        position(self, ranks)?;
        let world = ranks.iter().map(|&rank| self.ranks[rank]).collect();
        Ok(Arc::new(Self::of(self.member.clone(), world)))
    }

    fn start(&self, call: Call) -> Result<Request> {
        check(self, &call)?;
        let name = call.to_string();
        Ok(Request::new(name, Exchange::start(self, call)?))
    }

    fn news(&self) -> u64 {
        self.mailbox().inbox().version()
    }

    fn pause(&self, seen: u64, _round: u32, until: Instant) {
        self.mailbox().inbox().wait(seen, until);
    }
}

impl fmt::Debug for MessageEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageEngine({}, rank {} of {:?})", self.name(), self.rank, self.ranks)
    }
}
