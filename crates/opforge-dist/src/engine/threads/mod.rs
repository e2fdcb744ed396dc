//! Ranks as threads of one process, for tests and for programs on one machine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use opforge_core::{Error, Result};

use super::Engine;
use super::messages::{Inbox, Key, Mailbox, MessageEngine, Piece};
use crate::Fault;

/// Makes groups of ranks that are threads of this process.
#[derive(Debug, Clone, Copy)]
pub struct Threads;

impl Threads {
    /// The engines of a new world of `ranks`, one for each rank, in order. A rank has left when its engine, its subgroups and its requests are dropped: who
    /// waits for it gets an error.
    pub fn group(ranks: usize) -> Vec<Arc<dyn Engine>> {
        let inboxes: Arc<[Inbox]> = (0..ranks).map(|_| Inbox::new(ranks)).collect();
        let engine = |rank| {
            let mailbox = Arc::new(Member { inboxes: inboxes.clone(), rank });
            Arc::new(MessageEngine::world(mailbox, ranks)) as Arc<dyn Engine>
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
        let engines = Self::group(ranks).into_iter();
        run(engines.map(|engine| move || Ok(engine)), program)
    }
}

/// Runs a program on ranks that make their engines in threads of their own.
pub(super) fn run<T: Send, E: FnOnce() -> Result<Arc<dyn Engine>> + Send>(
    engines: impl ExactSizeIterator<Item = E>,
    program: impl Fn(Arc<dyn Engine>) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let program = &program;
    std::thread::scope(|scope| {
        // A thread that cannot be started drops its engine: that rank has left.
        let start = |(rank, engine): (usize, E)| {
            let run = move || caught(rank, || program(engine()?));
            std::thread::Builder::new().name(format!("rank {rank}")).spawn_scoped(scope, run)
        };
        let threads: Vec<_> = engines.enumerate().map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<T>>| {
            thread.join().unwrap_or_else(|_| Err(Error::msg("a rank's thread ended with a panic")))
        };
        threads.into_iter().map(|thread| join(thread?)).collect()
    })
}

fn caught<T>(rank: usize, program: impl FnOnce() -> Result<T>) -> Result<T> {
    let result = catch_unwind(AssertUnwindSafe(program));
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Fault::Panicked { rank, message }.into())
    })
}

/// A rank that is a thread of this process.
struct Member {
    inboxes: Arc<[Inbox]>,
    rank: usize,
}

impl Mailbox for Member {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn inbox(&self) -> &Inbox {
        &self.inboxes[self.rank]
    }

    fn post(&self, to: usize, key: Key, piece: Piece) {
        self.inboxes[to].put(key, piece);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.inboxes.iter().for_each(|inbox| inbox.leave(self.rank, "has left"));
    }
}
