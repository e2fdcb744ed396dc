//! Where messages wait for those who want them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use opforge_core::Result;
use rustc_hash::FxHashMap;

use crate::Buffer;

/// How long a rank stays awake before it sleeps until there is news: answers of neighbours take less.
const AWAKE: Duration = Duration::from_micros(20);

/// The name of a piece of a message at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub group: u64,
    /// The sender's rank in the group.
    pub from: u32,
    /// 0 for collectives, 1 + tag for messages.
    pub lane: u32,
    /// Counts the messages of a sender in a lane.
    pub number: u64,
    pub piece: u32,
}

/// A piece of a message.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub bytes: Slice,
    /// How many bytes all pieces of the message have.
    pub total: usize,
}

/// Some bytes of a buffer, which messages share.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    buffer: Arc<Buffer>,
    range: Range<usize>,
}

impl Slice {
    pub fn part(&self, range: Range<usize>) -> Slice {
        let start = self.range.start;
        Slice { buffer: self.buffer.clone(), range: start + range.start..start + range.end }
    }

    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// # Errors
    /// The memory is not the host's.
    pub fn bytes(&self) -> Result<&[u8]> {
        Ok(&self.buffer.bytes()?[self.range.clone()])
    }
}

impl From<Buffer> for Slice {
    fn from(buffer: Buffer) -> Self {
        let range = 0..buffer.len();
        Slice { buffer: Arc::new(buffer), range }
    }
}

/// What has arrived at a rank, and who has left.
pub(crate) struct Inbox {
    mail: Mutex<Mail>,
    news: Condvar,
    /// Counts pieces and departures.
    version: AtomicU64,
}

struct Mail {
    pieces: FxHashMap<Key, Piece>,
    /// How ranks of the world have left; after all that they have sent.
    gone: Vec<Option<Arc<str>>>,
    /// Threads that sleep until there is news.
    sleepers: usize,
}

/// What there is of a piece.
pub(crate) enum Arrival {
    Here(Piece),
    /// It may come.
    Awaited,
    /// It does not come: its sender has left, so.
    Gone(Arc<str>),
}

impl Inbox {
    pub fn new(ranks: usize) -> Self {
        let mail = Mail { pieces: FxHashMap::default(), gone: vec![None; ranks], sleepers: 0 };
        Inbox { mail: Mutex::new(mail), news: Condvar::new(), version: AtomicU64::new(1) }
    }

    pub fn put(&self, key: Key, piece: Piece) {
        self.change(|mail| drop(mail.pieces.insert(key, piece)));
    }

    /// Marks a rank of the world as one that has left. What comes first stays.
    pub fn leave(&self, rank: usize, how: &str) {
        self.change(|mail| {
            mail.gone[rank].get_or_insert_with(|| how.into());
        });
    }

    /// Takes a piece that a rank of the world sends.
    pub fn take(&self, sender: usize, key: &Key) -> Arrival {
        let mut mail = self.lock();
        match (mail.pieces.remove(key), &mail.gone[sender]) {
            (Some(piece), _) => Arrival::Here(piece),
            (None, None) => Arrival::Awaited,
            (None, Some(how)) => Arrival::Gone(how.clone()),
        }
    }

    /// Counts the news.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Waits for news after `seen`, at most until `until`.
    pub fn wait(&self, seen: u64, until: Instant) {
        let asleep = (Instant::now() + AWAKE).min(until);
        while self.version() == seen && Instant::now() < asleep {
            std::thread::yield_now();
        }
        let mut mail = self.lock();
        mail.sleepers += 1;
        while self.version() == seen {
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                break;
            }
            mail = self.news.wait_timeout(mail, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        mail.sleepers -= 1;
    }

    fn change(&self, change: impl FnOnce(&mut Mail)) {
        let mut mail = self.lock();
        change(&mut mail);
        self.version.fetch_add(1, Ordering::Release);
        if mail.sleepers > 0 {
            self.news.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
