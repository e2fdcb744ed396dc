//! Ranks as threads of one process, for tests and for programs on one machine.

mod exchange;
mod hub;

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use opforge_core::{Error, Result};

use super::{Call, Engine, Request, check};
use crate::Fault;
use exchange::Exchange;
use hub::{Hub, Key, Member};

/// Makes groups of ranks that are threads of this process.
#[derive(Debug, Clone, Copy)]
pub struct Threads;

impl Threads {
    /// The engines of a new world of `ranks`, one for each rank, in order. A rank has left when its engine and its subgroups are dropped: who waits for
    /// it gets an error.
    pub fn group(ranks: usize) -> Vec<Arc<dyn Engine>> {
        let hub = Hub::new(ranks);
        let world: Arc<[usize]> = (0..ranks).collect();
        let id = hub.group(&world, 0);
        let engine = |rank| {
            let member = Arc::new(Member::new(hub.clone(), rank));
            Arc::new(ThreadEngine { member, id, rank, ranks: world.clone(), lanes: Mutex::default() })
                as Arc<dyn Engine>
        };
        (0..ranks).map(engine).collect()
    }

    /// Runs a program on each rank of a new world and gives their results by rank. A rank that panics has an error, and its peers have one too.
    ///
    /// ```
    /// use opforge_dist::{Collectives, Engine, LIMIT, Threads};
    ///
    /// let ranks = Threads::run(2, |engine| {
    ///     engine.barrier()?.wait(LIMIT)?;
    ///     Ok(engine.rank())
    /// });
    /// assert_eq!(ranks.into_iter().collect::<Result<Vec<_>, _>>()?, [0, 1]);
    /// # Ok::<(), opforge_core::Error>(())
    /// ```
    pub fn run<T: Send>(ranks: usize, program: impl Fn(Arc<dyn Engine>) -> Result<T> + Sync) -> Vec<Result<T>> {
        let program = &program;
        std::thread::scope(|scope| {
            // A thread that cannot be started drops its engine: that rank has left.
            let start = |engine: Arc<dyn Engine>| {
                let name = format!("rank {}", engine.rank());
                std::thread::Builder::new().name(name).spawn_scoped(scope, move || caught(program, engine))
            };
            let threads: Vec<_> = Self::group(ranks).into_iter().map(start).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<T>>| {
                thread.join().unwrap_or_else(|_| Err(Error::msg("a rank's thread ended with a panic")))
            };
            threads.into_iter().map(|thread| join(thread?)).collect()
        })
    }
}

fn caught<T>(program: &(impl Fn(Arc<dyn Engine>) -> Result<T> + Sync), engine: Arc<dyn Engine>) -> Result<T> {
    let rank = engine.rank();
    let result = catch_unwind(AssertUnwindSafe(|| program(engine)));
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Fault::Panicked { rank, message }.into())
    })
}

/// A rank that is a thread of this process.
pub struct ThreadEngine {
    member: Arc<Member>,
    /// The group's number, the same for all its ranks.
    id: u64,
    rank: usize,
    /// The members' ranks in the world.
    ranks: Arc<[usize]>,
    lanes: Mutex<HashMap<Lane, Numbers>>,
}

/// Messages between two ranks are in order within a lane: the peer in the group, and 0 for collectives, 1 + tag for messages.
type Lane = (usize, u32);

/// How many messages have been sent and are expected.
#[derive(Default)]
struct Numbers {
    sent: u64,
    expected: u64,
}

impl ThreadEngine {
    /// Posts a message to a rank of the group.
    fn post(&self, to: usize, lane: u32, bytes: Vec<u8>) {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = lanes.entry((to, lane)).or_default();
        let key = Key { group: self.id, from: self.rank, lane, number: numbers.sent };
        numbers.sent += 1;
        self.member.hub.post(self.ranks[to], key, bytes);
    }

    /// The name of the next message from a rank of the group.
    fn expect(&self, from: usize, lane: u32) -> Key {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = lanes.entry((from, lane)).or_default();
        numbers.expected += 1;
        Key { group: self.id, from, lane, number: numbers.expected - 1 }
    }
}

impl Engine for ThreadEngine {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.ranks.len()
    }

    fn subgroup(&self, ranks: &[usize]) -> Result<Arc<dyn Engine>> {
        let rank = super::position(self, ranks)?;
        let world: Arc<[usize]> = ranks.iter().map(|&rank| self.ranks[rank]).collect();
        let id = self.member.group(&world);
        let member = self.member.clone();
        Ok(Arc::new(ThreadEngine { member, id, rank, ranks: world, lanes: Mutex::default() }))
    }

    fn start(&self, call: Call) -> Result<Request> {
        check(self, &call)?;
        let name = call.to_string();
        Ok(Request::new(name, Exchange::start(self, call)?))
    }

    fn news(&self) -> u64 {
        self.member.hub.version(self.member.world_rank)
    }

    fn pause(&self, seen: u64, _round: u32, until: Instant) {
        self.member.hub.wait(self.member.world_rank, seen, until);
    }
}

impl fmt::Debug for ThreadEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadEngine(rank {} of {:?})", self.rank, self.ranks)
    }
}
