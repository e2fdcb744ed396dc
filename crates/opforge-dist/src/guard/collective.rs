//! A guarded collective under way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use opforge_core::Result;

use super::entry::Entry;
use super::shared::{Shared, Started, end};
use crate::Fault;
use crate::engine::{Poll, Progress, Request};

/// A collective: first all ranks come, then it runs.
pub(super) struct Guarded {
    shared: Arc<Shared>,
    id: u64,
    call: String,
    members: Arc<[usize]>,
    bytes: usize,
    begun: Instant,
    /// The call, once all agree, and when it must be done.
    running: Option<(Request, Instant)>,
    /// News that the last look has seen.
    seen: u64,
}

impl Guarded {
    pub fn start(shared: Arc<Shared>, entry: Entry) -> Result<Self> {
        let (call, members, bytes) = (entry.text(), entry.members.clone(), entry.bytes());
        let id = shared.enter(entry)?;
        Ok(Guarded { shared, id, call, members, bytes, begun: Instant::now(), running: None, seen: 0 })
    }

    /// Gives up, for this rank and those that wait for it.
    #[cold]
    fn fail<T>(&self, ranks: Vec<usize>, waited: Duration) -> Result<T> {
        let fault = Fault::Missing { rank: self.shared.world.rank(), call: self.call.clone(), ranks, waited };
        self.shared.lock().fail(&self.shared, fault.clone().into());
        Err(fault.into())
    }

    /// Goes on with a call that all have begun.
    fn run(&mut self) -> Result<Poll> {
        let Some((request, end)) = &mut self.running else { return Ok(Poll::Pending) };
        let end = *end;
        let failed = match request.poll() {
            Ok(Poll::Pending) => None,
            Ok(done) => return Ok(done),
            Err(error) => Some(error),
        };
        let here = self.shared.world.rank();
        let mut state = self.shared.lock();
        state.pump(&self.shared);
        // What another rank says about its failure says more than what the engine saw of it.
        let failure = state.failure(&self.members, here, &self.call).or(failed);
        if let Some(error) = &failure {
            state.fail(&self.shared, error.clone());
        }
        drop(state);
        match failure {
            Some(error) => Err(error),
            None if Instant::now() >= end => {
                let others = self.members.iter().copied().filter(|&rank| rank != here).collect();
                self.fail(others, self.begun.elapsed())
            }
            None => Ok(Poll::Pending),
        }
    }
}

impl Progress for Guarded {
    fn poll(&mut self) -> Result<Poll> {
        self.seen = self.shared.world.news();
        if self.running.is_some() {
            return self.run();
        }
        let mut state = self.shared.lock();
        state.pump(&self.shared);
        match state.outcome(self.id) {
            Some(Ok(Started::Done(buffer))) => Ok(Poll::Done(buffer)),
            Some(Ok(Started::Running(request))) => {
                drop(state);
                self.running = Some((request, end(&self.shared.settings, self.bytes)));
                self.run()
            }
            Some(Err(error)) => Err(error),
            None if self.begun.elapsed() >= self.shared.settings.limit => {
                let missing = state.missing(self.id);
                drop(state);
                self.fail(missing, self.shared.settings.limit)
            }
            None => Ok(Poll::Pending),
        }
    }

    fn pause(&self, round: u32, until: Instant) {
        // No longer than to the limit, which only a look can find.
        match &self.running {
            Some((request, end)) => request.pause(round, until.min(*end)),
            None => {
                let limit = self.begun.checked_add(self.shared.settings.limit).unwrap_or(until);
                self.shared.world.pause(self.seen, round, until.min(limit));
            }
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.shared.lock().forget(self.id);
    }
}
