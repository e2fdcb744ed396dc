//! What the guards of one rank share: the calls that wait for agreement, and the records of other ranks.

use std::collections::{HashMap, HashSet, VecDeque, hash_map};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use opforge_core::{DType, Error, Result, Shape};

use super::Settings;
use super::entry::{Entry, how};
use super::fingerprint::Fingerprint;
use super::record::{Fields, Kind, RECORD, Record};
use super::small;
use crate::engine::{Call, Collective, Engine, MAX_TAG, Place, Poll, Progress, Request, deadline};
use crate::{Buffer, Fault};

/// What the guards of one rank share.
pub(super) struct Shared {
    pub world: Arc<dyn Engine>,
    pub settings: Settings,
    state: Mutex<State>,
}

/// The calls and records of one rank. Ranks are those of the world.
#[derive(Default)]
pub(super) struct State {
    /// Calls that ranks have not agreed on yet, in the order in which they were made.
    queue: VecDeque<Entry>,
    /// What became of calls, until who made them asks.
    outcomes: HashMap<u64, Result<Started>>,
    /// Calls whose requests were dropped.
    dropped: HashSet<u64>,
    peers: HashMap<usize, Peer>,
    /// Records on their way.
    sends: Vec<Request>,
    next: u64,
    failed: Option<Error>,
    closed: bool,
}

/// Another rank's records.
struct Peer {
    /// The next one, as long as there are more to come.
    receive: Option<Request>,
    arrived: VecDeque<Record>,
    /// How the rank has left or failed.
    over: Option<(Kind, String)>,
}

/// What became of a call that ranks agreed on.
pub(super) enum Started {
    Running(Request),
    Done(Buffer),
}

impl Shared {
    pub fn new(world: Arc<dyn Engine>, settings: Settings) -> Self {
        Shared { world, settings, state: Mutex::default() }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this rank may still call something.
    pub fn check(&self, call: &dyn std::fmt::Display) -> Result<()> {
        let state = self.lock();
        let earlier = match &state.failed {
            Some(error) => error.to_string(),
            None if state.closed => "it was closed".to_owned(),
            None => return Ok(()),
        };
        Err(Fault::Failed { rank: self.world.rank(), call: call.to_string(), earlier }.into())
    }

    /// Tells the members of a call about it, and puts it into the queue; its number.
    pub fn enter(&self, mut entry: Entry) -> Result<u64> {
        self.check(&entry.fingerprint.text)?;
        let mut state = self.lock();
        let payload = match &entry.call {
            Some((call, _)) => small::payload(call, entry.rank)?,
            None => None,
        };
        entry.small = payload.is_some();
        for (place, rank) in entry.others() {
            let Fingerprint { hash, text } = &entry.fingerprint;
            let (pair, payload) = (entry.pair(place), payload.unwrap_or_default());
            state.send(self, rank, &Fields { kind: entry.kind, hash: *hash, pair, text, payload })?;
            state.contact(self, rank)?;
        }
        state.closed |= entry.kind == Kind::Left;
        entry.id = state.next;
        state.next += 1;
        state.queue.push_back(entry);
        Ok(state.next - 1)
    }

    /// A record's message, outside of what ranks themselves send.
    pub fn record(&self, collective: Collective, buffers: [Buffer; 2]) -> Result<Request> {
        let [send, recv] = buffers;
        let shape = Shape::from_dims(&[RECORD]);
        self.world.start(Call { collective, dtype: DType::U8, shape, send, recv, place: Place::here() })
    }
}

impl State {
    fn send(&mut self, shared: &Shared, to: usize, fields: &Fields<'_>) -> Result<()> {
        let record = Record::new(fields)?.into_buffer();
        let mut request = shared.record(Collective::Send { to, tag: MAX_TAG }, [record, Buffer::empty()])?;
        if !request.test()? {
            self.sends.push(request);
        }
        Ok(())
    }

    /// Expects records of a rank from now on.
    pub fn contact(&mut self, shared: &Shared, rank: usize) -> Result<()> {
        if let hash_map::Entry::Vacant(place) = self.peers.entry(rank) {
            let receive = Some(receive(shared, rank)?);
            place.insert(Peer { receive, arrived: VecDeque::new(), over: None });
        }
        Ok(())
    }

    /// Takes what has arrived and begins what is agreed on. A failure is this rank's last: its calls and its peers learn of it.
    pub fn pump(&mut self, shared: &Shared) {
        if self.failed.is_none()
            && let Err(error) = self.advance(shared)
        {
            self.fail(shared, error);
        }
    }

    fn advance(&mut self, shared: &Shared) -> Result<()> {
        let sends = std::mem::take(&mut self.sends);
        for mut send in sends {
            if !send.test()? {
                self.sends.push(send);
            }
        }
        for (&rank, peer) in &mut self.peers {
            peer.take(shared, rank)?;
        }
        self.match_records(shared.world.rank())?;
        while self.queue.front().is_some_and(|entry| entry.missing().is_empty()) {
            let Some(entry) = self.queue.pop_front() else { break };
            let id = entry.id;
            if let Some(error) = self.failure(&entry.members, shared.world.rank(), &entry.fingerprint.text) {
                self.outcomes.insert(id, Err(error.clone()));
                return Err(error);
            }
            let started = begin(entry)?;
            if !self.dropped.remove(&id) {
                self.outcomes.insert(id, Ok(started));
            }
        }
        Ok(())
    }

    /// Gives each call the next records of its members.
    fn match_records(&mut self, here: usize) -> Result<()> {
        for entry in &mut self.queue {
            for place in (0..entry.members.len()).filter(|&place| place != entry.rank) {
                let Some(peer) = self.peers.get_mut(&entry.members[place]) else { continue };
                if entry.records[place].is_some() {
                    continue;
                }
                if let Some(record) = peer.arrived.pop_front() {
                    entry.compare(here, place, &record.fields()?)?;
                    entry.records[place] = Some(record);
                } else if let Some((_, how)) = &peer.over {
                    let (call, other, how) = (entry.text(), entry.members[place], how.clone());
                    return Err(Fault::Left { rank: here, call, other, how }.into());
                }
            }
        }
        Ok(())
    }

    /// This rank makes no further calls, and says so to all others.
    pub fn fail(&mut self, shared: &Shared, error: Error) {
        let text = error.to_string();
        for entry in std::mem::take(&mut self.queue) {
            self.outcomes.insert(entry.id, Err(error.clone()));
        }
        if self.failed.is_none() {
            self.failed = Some(error);
            self.tell_all(shared, Kind::Failed, &text);
        }
    }

    /// Ranks that cannot be told find out by their limit.
    fn tell_all(&mut self, shared: &Shared, kind: Kind, text: &str) {
        // Those that have failed or left too still expect a last record.
        for rank in (0..shared.world.size()).filter(|&rank| rank != shared.world.rank()) {
            let _ = self.send(shared, rank, &Fields { kind, hash: 0, pair: [0, 0], text, payload: &[] });
        }
    }

    /// What became of a call.
    pub fn outcome(&mut self, id: u64) -> Option<Result<Started>> {
        self.outcomes.remove(&id)
    }

    /// Nobody asks for a call any more. It still begins when all have come: others count on it.
    pub fn forget(&mut self, id: u64) {
        if self.outcomes.remove(&id).is_none() && self.queue.iter().any(|entry| entry.id == id) {
            self.dropped.insert(id);
        }
    }

    /// Whom a call waits for: its own members, or those of calls before it.
    pub fn missing(&self, id: u64) -> Vec<usize> {
        let before = self.queue.iter().take_while(|entry| entry.id <= id);
        let mut ranks: Vec<usize> = before.flat_map(Entry::missing).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// This rank's failure, or that of a member that has failed.
    pub fn failure(&self, members: &[usize], here: usize, call: &str) -> Option<Error> {
        let of = |&rank: &usize| match &self.peers.get(&rank)?.over {
            Some((Kind::Failed, how)) => {
                Some(Fault::Left { rank: here, call: call.to_owned(), other: rank, how: how.clone() }.into())
            }
            _ => None,
        };
        self.failed.clone().or_else(|| members.iter().find_map(of))
    }
}

/// Begins a call that all agree on.
fn begin(entry: Entry) -> Result<Started> {
    match entry.call {
        None => Ok(Started::Done(Buffer::empty())),
        Some((call, _)) if entry.small => small::finish(call, entry.rank, &entry.records).map(Started::Done),
        Some((call, engine)) => engine.start(call).map(Started::Running),
    }
}

impl Peer {
    /// Takes records that have arrived.
    fn take(&mut self, shared: &Shared, rank: usize) -> Result<()> {
        while let Some(request) = &mut self.receive {
            let record = match request.poll() {
                Ok(Poll::Pending) => return Ok(()),
                Ok(Poll::Done(buffer)) => Record::of(buffer)?,
                Err(error) => {
                    self.receive = None;
                    self.over = Some((Kind::Left, lost(&error)));
                    return Ok(());
                }
            };
            let fields = record.fields()?;
            let last = fields.kind != Kind::Call;
            if last {
                self.over = Some((fields.kind, how(&fields)));
            }
            self.receive = if last { None } else { Some(receive(shared, rank)?) };
            self.arrived.push_back(record);
        }
        Ok(())
    }
}

/// What an engine says about a rank that it cannot reach.
fn lost(error: &Error) -> String {
    match Fault::of(error) {
        Some(Fault::Left { how, .. }) => how.clone(),
        _ => format!("is lost: {error}"),
    }
}

fn receive(shared: &Shared, from: usize) -> Result<Request> {
    shared.record(Collective::Receive { from, tag: MAX_TAG }, [Buffer::empty(), Buffer::zeros(RECORD)?])
}

impl Drop for Shared {
    fn drop(&mut self) {
        let panicking = std::thread::panicking();
        let mut state = std::mem::take(&mut *self.lock());
        if !state.closed && state.failed.is_none() {
            let how = if panicking { "panicked" } else { "has left the program" };
            state.tell_all(self, Kind::Left, how);
        }
    }
}

/// Until when a call that all have begun may take.
pub(super) fn end(settings: &Settings, bytes: usize) -> Instant {
    let transfer = Duration::try_from_secs_f64(bytes as f64 / settings.least_speed.max(1) as f64);
    deadline(settings.limit.saturating_add(transfer.unwrap_or(Duration::MAX)))
}
