//! Where threads leave messages for each other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The name of a message at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub group: u64,
    /// The sender's rank in the group.
    pub from: usize,
    pub lane: u32,
    pub number: u64,
}

/// One world of threads.
pub(super) struct Hub {
    inboxes: Vec<Inbox>,
    gone: Vec<AtomicBool>,
    /// Numbers of groups, by their ranks and how many groups of the same ranks there were before.
    groups: Mutex<HashMap<Made, u64>>,
}

/// A group's ranks, and how many groups of these were made before.
type Made = (Arc<[usize]>, u64);

#[derive(Default)]
struct Inbox {
    mail: Mutex<Mail>,
    news: Condvar,
}

#[derive(Default)]
struct Mail {
    messages: HashMap<Key, Vec<u8>>,
    /// Counts messages and departures.
    version: u64,
}

impl Hub {
    pub fn new(ranks: usize) -> Arc<Self> {
        let inboxes = (0..ranks).map(|_| Inbox::default()).collect();
        let gone = (0..ranks).map(|_| AtomicBool::new(false)).collect();
        Arc::new(Hub { inboxes, gone, groups: Mutex::default() })
    }

    /// The number of a group.
    pub fn group(&self, ranks: &Arc<[usize]>, before: u64) -> u64 {
        let mut groups = lock(&self.groups);
        let next = groups.len() as u64;
        *groups.entry((ranks.clone(), before)).or_insert(next)
    }

    pub fn post(&self, to: usize, key: Key, bytes: Vec<u8>) {
        let mut mail = lock(&self.inboxes[to].mail);
        mail.messages.insert(key, bytes);
        mail.version += 1;
        self.inboxes[to].news.notify_all();
    }

    /// Takes a message that has arrived.
    pub fn take(&self, at: usize, key: &Key) -> Option<Vec<u8>> {
        lock(&self.inboxes[at].mail).messages.remove(key)
    }

    /// Whether a rank has left. What it sent before has arrived.
    pub fn is_gone(&self, rank: usize) -> bool {
        self.gone[rank].load(Ordering::Acquire)
    }

    /// Counts the news of a rank.
    pub fn version(&self, at: usize) -> u64 {
        lock(&self.inboxes[at].mail).version
    }

    /// Waits for news after `version`.
    pub fn wait(&self, at: usize, version: u64, until: Instant) {
        let inbox = &self.inboxes[at];
        let mut mail = lock(&inbox.mail);
        while mail.version == version {
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return;
            }
            mail = inbox.news.wait_timeout(mail, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn leave(&self, rank: usize) {
        self.gone[rank].store(true, Ordering::Release);
        for inbox in &self.inboxes {
            lock(&inbox.mail).version += 1;
            inbox.news.notify_all();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A rank's share of its world. The rank leaves with it.
pub(super) struct Member {
    pub hub: Arc<Hub>,
    pub world_rank: usize,
    /// How many groups of the same ranks this rank has made.
    made: Mutex<HashMap<Arc<[usize]>, u64>>,
}

impl Member {
    pub fn new(hub: Arc<Hub>, world_rank: usize) -> Self {
        Member { hub, world_rank, made: Mutex::default() }
    }

    /// The number of the next group of these ranks: the same at all of them, for all make their groups in the same order.
    pub fn group(&self, ranks: &Arc<[usize]>) -> u64 {
        let mut made = lock(&self.made);
        let count = made.entry(ranks.clone()).or_default();
        *count += 1;
        self.hub.group(ranks, *count)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.hub.leave(self.world_rank);
    }
}
