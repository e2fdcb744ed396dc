//! Ranks as processes that are connected by TCP, without a library or a launcher of its own.
//!
//! Each rank has two connections to each other one, which are used in one direction each: so a rank can end what it sends and still hear what others have
//! to say, and what is written at once does not wait while what is read does. A thread for each reads, and one writes what the system does not take at once.

mod address;
mod frame;
mod greeting;
mod incoming;
mod meeting;
mod outgoing;
mod patience;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opforge_core::Result;

use super::messages::{Inbox, Key, Mailbox, Piece};
use super::{Engine, threads};
use crate::LIMIT;
use frame::Header;
use incoming::Incoming;
pub use meeting::Meeting;
use outgoing::Outgoing;

/// How long a rank that leaves waits until others have taken what it has sent.
const FAREWELL: Duration = Duration::from_secs(5);

/// Worlds of processes that are connected by TCP, on one machine or several.
///
/// What connects and is no rank of this version of opforge's, or of another world, is refused. Connections are not encrypted, and ranks trust each other:
/// whoever can reach rank 0's port before its own ranks do can take the place of one. Of names of the machine itself (`127.0.0.1`, `localhost`) ranks
/// listen to that machine alone.
#[derive(Debug, Clone, Copy)]
pub struct Sockets;

impl Sockets {
    /// This process's engine in a world of so many ranks. Rank 0 listens at `address`, and others look for it there until `limit`.
    ///
    /// # Errors
    /// As [`Meeting::host`] and [`Meeting::join`]; [`Fault::Network`](crate::Fault::Network) where rank 0 cannot listen.
    ///
    /// ```
    /// use opforge_dist::{Collectives, Engine, LIMIT, Sockets};
    ///
    /// let engine = Sockets::world("127.0.0.1:0", 0, 1, LIMIT)?; // alone; `rank` and `ranks` are usually the launcher's RANK and WORLD_SIZE
    /// engine.barrier()?.wait(LIMIT)?;
    /// # Ok::<(), opforge_core::Error>(())
    /// ```
    pub fn world(address: &str, rank: usize, ranks: usize, limit: Duration) -> Result<Arc<dyn Engine>> {
        let meeting = Meeting { rank, ranks, limit, go_on: &|| true };
        match rank {
            0 => meeting.host(Self::listen(address)?),
            _ => meeting.join(&|| Ok(Some(address.to_owned()))),
        }
    }

    /// A listener for rank 0, at an address like `"node0:29500"`; of port 0 any that is free.
    ///
    /// # Errors
    /// [`Fault::Network`](crate::Fault::Network): the port is taken, the address is not one of this machine.
    pub fn listen(address: &str) -> Result<TcpListener> {
        address::listen(address)
    }

    /// Runs a program on each rank of a new world whose ranks are threads of this process, connected by TCP all the same: for tests.
    ///
    /// ```
    /// use opforge_core::DType;
    /// use opforge_dist::{Buffer, Collectives, Engine, LIMIT, Reduction, Sockets};
    ///
    /// let ranks = Sockets::run(2, |engine| {
    ///     let mine = Buffer::of(&[engine.rank() as f32])?;
    ///     engine.all_reduce(mine, DType::F32, Reduction::Sum)?.wait(LIMIT)?.to_vec::<f32>()
    /// });
    /// for sum in ranks {
    ///     assert_eq!(sum?, [1.0]);
    /// }
    /// # Ok::<(), opforge_core::Error>(())
    /// ```
    pub fn run<T: Send>(ranks: usize, program: impl Fn(Arc<dyn Engine>) -> Result<T> + Sync) -> Vec<Result<T>> {
        let begun = Self::listen("127.0.0.1:0").and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = match begun {
            Ok(begun) => begun,
            Err(error) => return (0..ranks).map(|_| Err(error.clone())).collect(),
        };
        let mut listener = Some(listener);
        let engines = (0..ranks).map(|rank| {
            let listener = listener.take();
            move || {
                let meeting = Meeting { rank, ranks, limit: LIMIT, go_on: &|| true };
                match listener {
                    Some(listener) => meeting.host(listener),
                    None => meeting.join(&|| Ok(Some(address.to_string()))),
                }
            }
        });
        threads::run(engines, program)
    }
}

/// A rank's connections to all others.
struct Connections {
    rank: usize,
    inbox: Arc<Inbox>,
    /// None for this rank itself.
    outgoing: Vec<Option<Outgoing>>,
    incoming: Vec<Option<Incoming>>,
    /// The process that made them: those that it forks share them, and leave them alone.
    process: u32,
}

impl Connections {
    fn new(rank: usize, ranks: usize, inbox: Arc<Inbox>) -> Self {
        let (outgoing, incoming) = ((0..ranks).map(|_| None).collect(), (0..ranks).map(|_| None).collect());
        Connections { rank, inbox, outgoing, incoming, process: std::process::id() }
    }

    /// Whether a rank is not connected in both directions.
    fn lacks(&self, rank: usize) -> bool {
        self.outgoing[rank].is_none() || self.incoming[rank].is_none()
    }

    fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }
}

impl Mailbox for Connections {
    fn name(&self) -> &'static str {
        "sockets"
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    fn post(&self, to: usize, key: Key, piece: Piece) {
        match &self.outgoing[to] {
            None => self.inbox.put(key, piece),
            Some(_) if self.is_forked() => {}
            Some(outgoing) => {
                let header = Header::Piece { key, len: piece.bytes.len(), total: piece.total };
                outgoing.post(header, piece.bytes);
            }
        }
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        if self.is_forked() {
            std::mem::forget((std::mem::take(&mut self.outgoing), std::mem::take(&mut self.incoming)));
            return;
        }
        let until = Instant::now() + FAREWELL;
        self.outgoing.iter_mut().flatten().for_each(|outgoing| outgoing.close(until));
    }
}
