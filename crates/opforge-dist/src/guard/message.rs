//! A guarded message between two ranks: a record of it, and its data where that does not fit into the record.

use std::sync::Arc;
use std::time::Instant;

use opforge_core::{Error, Result};

use super::Guard;
use super::fingerprint::Fingerprint;
use super::record::{Fields, Kind, PAYLOAD, RECORD, Record};
use super::shared::{Shared, end};
use crate::engine::{Call, Collective, Engine, Poll, Progress, Request};
use crate::{Buffer, Fault};

/// A message under way.
pub(super) struct Message {
    shared: Arc<Shared>,
    fingerprint: Fingerprint,
    /// The other rank, in the world.
    peer: usize,
    /// The record: sent, or expected and compared when it comes.
    record: Option<Request>,
    sends: bool,
    /// The data, where it does not fit into the record.
    data: Option<Request>,
    /// The result, and where the record's data goes.
    recv: Option<Buffer>,
    begun: Instant,
    end: Instant,
    seen: u64,
}

impl Message {
    /// `place` and `peer` are the other rank in the group and in the world. Records of all groups go through the world, in the order of calls.
    pub fn start(
        shared: Arc<Shared>,
        engine: Arc<dyn Engine>,
        mut call: Call,
        group: &[usize],
        place: usize,
        tag: u16,
    ) -> Result<Self> {
        let peer = group[place];
        let sends = matches!(call.collective, Collective::Send { .. });
        let bytes = call.send.len() + call.recv.len();
        let fingerprint = Fingerprint::of_message(&call, group, bytes);
        if peer != shared.world.rank() {
            shared.lock().contact(&shared, peer)?;
        }
        let buffers = match sends {
            true => [written(&fingerprint, &call, bytes)?, Buffer::empty()],
            false => [Buffer::empty(), Buffer::zeros(RECORD)?],
        };
        let collective =
            if sends { Collective::Send { to: peer, tag } } else { Collective::Receive { from: peer, tag } };
        let record = shared.record(collective, buffers)?;
        let (data, recv) = if bytes > PAYLOAD {
            let tag = tag + Guard::MAX_TAG + 1;
            call.collective = match sends {
                true => Collective::Send { to: place, tag },
                false => Collective::Receive { from: place, tag },
            };
            (Some(engine.start(call)?), None)
        } else {
            (None, Some(call.recv))
        };
        let (begun, end) = (Instant::now(), end(&shared.settings, bytes));
        Ok(Message { shared, fingerprint, peer, record: Some(record), sends, data, recv, begun, end, seen: 0 })
    }

    /// Compares what was sent with what is expected.
    fn compare(&mut self, record: Record) -> Result<()> {
        let fields = record.fields()?;
        if fields.hash != self.fingerprint.hash {
            return Err(Fault::Diverged {
                rank: self.shared.world.rank(),
                call: self.fingerprint.text.clone(),
                other: self.peer,
                other_call: fields.text.to_owned(),
            }
            .into());
        }
        if let Some(recv) = &mut self.recv {
            recv.bytes_mut()?.copy_from_slice(fields.payload);
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<Poll> {
        if let Some(record) = &mut self.record {
            let Poll::Done(buffer) = record.poll()? else { return self.wait() };
            self.record = None;
            if !self.sends {
                self.compare(Record::of(buffer)?)?;
            }
        }
        let buffer = match &mut self.data {
            None => self.recv.take().unwrap_or_default(),
            Some(data) => match data.poll()? {
                Poll::Done(buffer) => buffer,
                Poll::Pending => return self.wait(),
            },
        };
        Ok(Poll::Done(buffer))
    }

    /// The other rank may have failed, or be late.
    fn wait(&self) -> Result<Poll> {
        let (here, call) = (self.shared.world.rank(), &self.fingerprint.text);
        let mut state = self.shared.lock();
        state.pump(&self.shared);
        if let Some(error) = state.failure(&[self.peer], here, call) {
            return Err(error);
        }
        if Instant::now() < self.end {
            return Ok(Poll::Pending);
        }
        let (call, waited) = (call.clone(), self.begun.elapsed());
        Err(Fault::Missing { rank: here, call, ranks: vec![self.peer], waited }.into())
    }

    fn fail(&self, error: Error) -> Error {
        self.shared.lock().fail(&self.shared, error.clone());
        error
    }
}

/// The record of a message that is sent.
fn written(fingerprint: &Fingerprint, call: &Call, bytes: usize) -> Result<Buffer> {
    let payload = if bytes > PAYLOAD { &[] } else { call.send.bytes()? };
    let Fingerprint { hash, text } = fingerprint;
    Ok(Record::new(&Fields { kind: Kind::Call, hash: *hash, pair: [0, 0], text, payload })?.into_buffer())
}

impl Progress for Message {
    fn poll(&mut self) -> Result<Poll> {
        self.seen = self.shared.world.news();
        self.advance().map_err(|error| self.fail(error))
    }

    fn pause(&self, round: u32, until: Instant) {
        self.shared.world.pause(self.seen, round, until.min(self.end));
    }
}
