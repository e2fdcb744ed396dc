//! The guard over an engine: ranks agree on every call before they make it, and nobody waits without end.

mod collective;
mod entry;
mod fingerprint;
mod measured;
mod message;
mod record;
mod shared;
mod small;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opforge_core::{DeviceLocation, Error, Result};

use crate::engine::{Call, Collective, Engine, LIMIT, MAX_TAG, Request, check, position};
use collective::Guarded;
use entry::Entry;
use fingerprint::Fingerprint;
use measured::Measure;
use message::Message;
use shared::Shared;

/// What a guard allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long ranks wait for others that do not come. 10 s by default.
    pub limit: Duration,
    /// The least speed of a collective that all have begun, in bytes per second: what a call may take beyond `limit`. 50 MB/s by default.
    pub least_speed: u64,
    /// Whether all ranks must make a call at the same place of the program. Not by default: branches for one rank are usual.
    pub same_place: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { limit: LIMIT, least_speed: 50_000_000, same_place: false }
    }
}

/// An engine whose ranks agree on every call before they make it.
///
/// With every call, each rank sends a record of it (operation, place, dtype, shape, number, group) to each rank of the group, and begins when it has
/// theirs. Two ranks thus see each other's calls in the order in which they are made, those of other groups too. What goes wrong is an error on every
/// rank that waits, which shows both sides, and the rank makes no further calls:
/// - ranks that call different things: [`Fault::Diverged`](crate::Fault::Diverged), on each of them;
/// - ranks that do not come, or stop in the middle, within [`Settings::limit`]: [`Fault::Missing`](crate::Fault::Missing);
/// - ranks that leave the program, panic, or have an error: [`Fault::Left`](crate::Fault::Left), at once.
///
/// Data of up to 512 bytes travels in the records, so that small calls take one exchange of messages; all-to-all never does. Records are 1 KiB for each
/// other rank of the group. Messages between two ranks are compared by their receiver; tags go to 16382.
///
/// ```
/// use opforge_core::DType;
/// use opforge_dist::{Buffer, Collectives, Engine, Fault, Guard, LIMIT, Reduction, Settings, Threads};
///
/// let ranks = Threads::run(2, |engine| {
///     let guard = Guard::new(engine, Settings::default());
///     let buffer = Buffer::of(&vec![1.0f32; 2 + guard.rank()])?; // another length on rank 1
///     guard.all_reduce(buffer, DType::F32, Reduction::Sum)?.wait(LIMIT)
/// });
/// let error = ranks[0].as_ref().unwrap_err();
/// assert!(matches!(Fault::of(error), Some(Fault::Diverged { rank: 0, other: 1, .. })), "{error}");
/// ```
pub struct Guard {
    shared: Arc<Shared>,
    inner: Arc<dyn Engine>,
    /// The members' ranks in the world.
    members: Arc<[usize]>,
    calls: AtomicU64,
}

impl Guard {
    /// A guard over the engine of a world; all its ranks have one, and use the engine only through it. The rank leaves when the guard, its subgroups
    /// and its requests are dropped.
    pub fn new(world: Arc<dyn Engine>, settings: Settings) -> Self {
        Self::over(world.clone(), world, settings)
    }

    /// A guard over an engine whose records another engine exchanges, of the same ranks in the same order: one that takes memory of the host.
    ///
    /// # Errors
    /// Engines of other ranks.
    pub fn with_records(world: Arc<dyn Engine>, records: Arc<dyn Engine>, settings: Settings) -> Result<Self> {
        if (world.rank(), world.size()) != (records.rank(), records.size()) {
            let given = format!("rank {} of {}", records.rank(), records.size());
            let accepted = format!("rank {} of {}", world.rank(), world.size());
            return Err(Error::value("guard", "records", given, accepted));
        }
        Ok(Self::over(world, records, settings))
    }

    fn over(world: Arc<dyn Engine>, records: Arc<dyn Engine>, settings: Settings) -> Self {
        let members = (0..world.size()).collect();
        let shared = Arc::new(Shared::new(records, settings));
        Guard { shared, inner: world, members, calls: AtomicU64::new(0) }
    }

    /// Leaves together with all ranks of the world, so that no message is under way any more.
    ///
    /// # Errors
    /// Ranks that make a call instead, or do not come.
    pub fn close(&self) -> Result<()> {
        self.end(self.leave()?)
    }

    /// Begins to leave, as [`Guard::close`] does: the request is done when all ranks leave.
    ///
    /// # Errors
    /// This rank has failed or left earlier. The request has the errors of [`Guard::close`].
    ///
    /// ```
    /// use opforge_dist::{Engine, Guard, LIMIT, Settings, Threads};
    ///
    /// let ranks = Threads::run(2, |engine| Guard::new(engine, Settings::default()).leave()?.wait(LIMIT));
    /// assert!(ranks.iter().all(Result::is_ok));
    /// ```
    pub fn leave(&self) -> Result<Request> {
        let world: Vec<usize> = (0..self.shared.world.size()).collect();
        self.agree(Entry::leaving(&self.shared, Fingerprint::named("close", &world), world.into()))
    }

    /// Begins to agree with all members of an entry.
    fn agree(&self, entry: Entry) -> Result<Request> {
        Ok(Request::new(entry.text(), Guarded::start(self.shared.clone(), entry)?))
    }

    /// Waits until all members have come. The request ends by itself at the limit, with a better error than that of who waits.
    fn end(&self, agreement: Request) -> Result<()> {
        agreement.wait(self.shared.settings.limit.saturating_mul(2)).map(drop)
    }

    /// The largest tag of a guard's messages; the others are for their data, and for records.
    const MAX_TAG: u16 = MAX_TAG / 2 - 1;

    fn message(&self, call: Call, peer: usize, tag: u16) -> Result<Request> {
        if tag > Self::MAX_TAG {
            let accepted = format!("0 to {}", Self::MAX_TAG);
            return Err(Error::value(call.collective.name(), "tag", tag, accepted));
        }
        let (name, measure) = (call.to_string(), Measure::begin(self, &call));
        let message = Message::start(self.shared.clone(), self.inner.clone(), call, &self.members, peer, tag)?;
        Ok(Request::new(name, measure.of(message)))
    }
}

impl Engine for Guard {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn location(&self) -> DeviceLocation {
        self.inner.location()
    }

    fn subgroup(&self, ranks: &[usize]) -> Result<Arc<dyn Engine>> {
        position(self, ranks)?;
        let members: Arc<[usize]> = ranks.iter().map(|&rank| self.members[rank]).collect();
        self.end(self.agree(Entry::bare(&self.shared, Fingerprint::named("subgroup", &members), members.clone()))?)?;
        let inner = self.inner.subgroup(ranks)?;
        Ok(Arc::new(Guard { shared: self.shared.clone(), inner, members, calls: AtomicU64::new(0) }))
    }

    fn start(&self, call: Call) -> Result<Request> {
        check(self, &call)?;
        self.shared.check(&call)?;
        match call.collective {
            Collective::Send { to, tag } => self.message(call, to, tag),
            Collective::Receive { from, tag } => self.message(call, from, tag),
            _ => {
                let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
                let fingerprint = Fingerprint::of(&call, &self.members, number, self.shared.settings.same_place);
                let measure = Measure::begin(self, &call);
                let entry = Entry::of(call, fingerprint, self.inner.clone(), self.members.clone());
                Ok(Request::new(entry.text(), measure.of(Guarded::start(self.shared.clone(), entry)?)))
            }
        }
    }

    fn abort(&self, error: &Error) {
        self.shared.lock().fail(&self.shared, error.clone());
    }

    fn takes_any_thread(&self) -> bool {
        self.inner.takes_any_thread() && self.shared.world.takes_any_thread()
    }

    fn news(&self) -> u64 {
        self.shared.world.news()
    }

    fn pause(&self, seen: u64, round: u32, until: Instant) {
        self.shared.world.pause(seen, round, until);
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guard({:?}, limit {:?})", self.inner, self.shared.settings.limit)
    }
}
