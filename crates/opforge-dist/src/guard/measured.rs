//! Calls in recordings of what ran when. The VM's recorder (`opforge_runtime::vm::trace`) shows kernels and communication on one clock, so that their
//! overlap can be read off; the guard does the recording, as all calls of all engines go through it.

use std::time::Instant;

use opforge_core::Result;
use opforge_runtime::vm::trace::Communication;

use crate::engine::{Call, Engine, Poll, Progress};

/// A call that a recording shows from its beginning until somebody sees its end.
pub(super) struct Measured<P> {
    progress: P,
    measure: Measure,
}

/// What a recording shows of a call.
pub(super) struct Measure {
    span: Communication,
    engine: &'static str,
    call: &'static str,
    received: usize,
}

impl Measure {
    /// Begins to measure a call of an engine.
    pub fn begin(engine: &dyn Engine, call: &Call) -> Self {
        let received = call.received(engine.rank(), engine.size());
        Measure { span: Communication::begin(), engine: engine.name(), call: call.collective.name(), received }
    }

    /// Measures until it is done.
    pub fn of<P>(self, progress: P) -> Measured<P> {
        Measured { progress, measure: self }
    }
}

impl<P: Progress> Progress for Measured<P> {
    fn poll(&mut self) -> Result<Poll> {
        let poll = self.progress.poll();
        if !matches!(poll, Ok(Poll::Pending)) {
            let Measure { span, engine, call, received } = &self.measure;
            span.end(|| (format!("{engine}:{call}"), *received));
        }
        poll
    }

    fn pause(&self, round: u32, until: Instant) {
        self.progress.pause(round, until);
    }
}
