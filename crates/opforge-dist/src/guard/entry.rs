//! Calls that wait for agreement.

use std::sync::Arc;

use opforge_core::Result;

use super::fingerprint::Fingerprint;
use super::record::{Fields, Kind, Record};
use super::shared::Shared;
use crate::Fault;
use crate::engine::{Call, Collective, Engine};

/// A call that waits for agreement.
pub(super) struct Entry {
    pub kind: Kind,
    pub fingerprint: Fingerprint,
    /// The call and the engine that makes it; none for what is only agreed on.
    pub call: Option<(Call, Arc<dyn Engine>)>,
    /// The group's ranks in the world, with this one's place.
    pub members: Arc<[usize]>,
    pub rank: usize,
    /// What members said, by place; nothing for this rank.
    pub records: Vec<Option<Record>>,
    /// Whether the data travels in the records.
    pub small: bool,
    pub id: u64,
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

    /// The other members: their places in the group and their ranks in the world.
    pub fn others(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.members.iter().copied().enumerate().filter(|&(place, _)| place != self.rank)
    }

    /// Members that have not come.
    pub fn missing(&self) -> Vec<usize> {
        self.others().filter(|&(place, _)| self.records[place].is_none()).map(|(_, rank)| rank).collect()
    }

    /// How many elements go to a member, and come from it, where that is for each pair.
    pub fn pair(&self, place: usize) -> [u64; 2] {
        match self.call.as_ref().map(|(call, _)| &call.collective) {
            Some(Collective::AllToAll { send, recv }) => [send[place] as u64, recv[place] as u64],
            _ => [0, 0],
        }
    }

    /// Whether a member called the same.
    pub fn compare(&self, here: usize, place: usize, fields: &Fields<'_>) -> Result<()> {
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

/// How a rank has left or failed.
pub(super) fn how(fields: &Fields<'_>) -> String {
    match fields.kind {
        Kind::Failed => format!("stopped after an error: {}", fields.text),
        _ => fields.text.to_owned(),
    }
}
