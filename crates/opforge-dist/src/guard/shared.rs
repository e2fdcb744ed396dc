//! What the guards of one rank share: the calls that wait for agreement, and the records of other ranks.

use std::collections::{HashMap, HashSet, VecDeque, hash_map};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use opforge_core::{DType, Error, Result, Shape};

use super::Settings;
use super::fingerprint::Fingerprint;
use super::record::{Fields, Kind, RECORD, Record};
use super::small;
use crate::engine::{Call, Collective, Engine, MAX_TAG, Place, Poll, Progress, Request};
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

/// A call that waits for agreement.
pub(super) struct Entry {
    kind: Kind,
    fingerprint: Fingerprint,
    /// The call and the engine that makes it; none for what is only agreed on.
    call: Option<(Call, Arc<dyn Engine>)>,
    /// The group's ranks in the world, with this one's place.
    pub members: Arc<[usize]>,
    rank: usize,
    /// What members said, by place; nothing for this rank.
    records: Vec<Option<Record>>,
    small: bool,
    id: u64,
}

impl Entry {
    /// A call.
    pub fn of(call: Call, fingerprint: Fingerprint, engine: Arc<dyn Engine>, members: Arc<[usize]>) -> Self {
        let rank = engine.rank();
        Self::new(Kind::Call, fingerprint, Some((call, engine)), members, rank)
    }

    /// What is only agreed on.
    pub fn bare(shared: &Shared, fingerprint: Fingerprint, members: Arc<[usize]>) -> Self {
        let rank = members.iter().position(|&member| member == shared.world.rank()).unwrap_or_default();
        Self::new(Kind::Call, fingerprint, None, members, rank)
    }

    /// The end.
    pub fn leaving(shared: &Shared, fingerprint: Fingerprint, members: Arc<[usize]>) -> Self {
        Entry { kind: Kind::Left, ..Self::bare(shared, fingerprint, members) }
    }

    fn new(
        kind: Kind,
        fingerprint: Fingerprint,
        call: Option<(Call, Arc<dyn Engine>)>,
        members: Arc<[usize]>,
        rank: usize,
    ) -> Self {
        let records = members.iter().map(|_| None).collect();
        Entry { kind, fingerprint, call, members, rank, records, small: false, id: 0 }
    }

    pub fn text(&self) -> String {
        self.fingerprint.text.clone()
    }

    /// Bytes of the call's buffers.
    pub fn bytes(&self) -> usize {
        self.call.as_ref().map_or(0, |(call, _)| call.send.len() + call.recv.len())
    }

    fn others(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.members.iter().copied().enumerate().filter(|&(place, _)| place != self.rank)
    }

    fn missing(&self) -> Vec<usize> {
        self.others().filter(|&(place, _)| self.records[place].is_none()).map(|(_, rank)| rank).collect()
    }

    /// How many elements go to a member, and come from it, where that is for each pair.
    fn pair(&self, place: usize) -> [u64; 2] {
        match self.call.as_ref().map(|(call, _)| &call.collective) {
            Some(Collective::AllToAll { send, recv }) => [send[place] as u64, recv[place] as u64],
            _ => [0, 0],
        }
    }

    /// Whether a member called the same.
    fn compare(&self, here: usize, place: usize, fields: &Fields<'_>) -> Result<()> {
        let [sent, received] = self.pair(place);
        if (fields.kind, fields.hash, fields.pair) == (self.kind, self.fingerprint.hash, [received, sent]) {
            return Ok(());
        }
        let (mut call, mut other_call) = (self.text(), fields.text.to_owned());
        if fields.hash == self.fingerprint.hash {
            let [theirs, expected] = fields.pair;
            call += &format!(", sending {sent} and expecting {received}");
            other_call += &format!(", sending {theirs} and expecting {expected}");
        }
        let other = self.members[place];
        Err(match fields.kind {
            Kind::Failed => Fault::Left { rank: here, call, other, how: how(fields) },
            // A rank that closes says what it calls; one that is dropped does not.
            Kind::Left if fields.hash == 0 => Fault::Left { rank: here, call, other, how: how(fields) },
            _ => Fault::Diverged { rank: here, call, other, other_call },
        }
        .into())
    }
}

fn how(fields: &Fields<'_>) -> String {
    match fields.kind {
        Kind::Failed => format!("stopped after an error: {}", fields.text),
        _ => fields.text.to_owned(),
    }
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

/// How long a call that all have begun may take.
pub(super) fn end(settings: &Settings, bytes: usize) -> Instant {
    let transfer = std::time::Duration::from_secs_f64(bytes as f64 / settings.least_speed.max(1) as f64);
    Instant::now() + settings.limit + transfer
}
