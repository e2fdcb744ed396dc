//! What a case is, and how two libraries' versions of it are timed against each other.

use std::error::Error;
use std::time::{Duration, Instant};

/// What bounds a case: the bytes that it has to move, or the operations that it has to do.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    /// Nothing but the call itself.
    Call,
    /// Bytes read and written.
    Copy(usize),
    /// Bytes read; what is written is negligible.
    Read(usize),
    /// Floating-point operations.
    Flops(usize),
}

pub type Outcome<T> = Result<T, Box<dyn Error>>;
/// One timed call.
pub type Call = Box<dyn FnMut() -> Outcome<()>>;

/// A case: its inputs are made when it is prepared.
pub struct Case {
    pub name: String,
    pub work: Work,
    pub prepare: Box<dyn FnOnce() -> Outcome<Call>>,
}

impl Case {
    pub fn new<F>(name: impl Into<String>, work: Work, prepare: F) -> Self
    where
        F: FnOnce() -> Outcome<Call> + 'static,
    {
        Case { name: name.into(), work, prepare: Box::new(prepare) }
    }
}

/// The medians of a case's interleaved samples, in seconds a call; `None` for a side that refuses the case.
pub struct Timing {
    pub ours: f64,
    pub peer: Option<f64>,
}

/// How long a sample takes at least, and all samples of a case together about.
const SAMPLE: Duration = Duration::from_millis(4);
const CASE: Duration = Duration::from_millis(1500);
const ROUNDS: std::ops::RangeInclusive<usize> = 9..=61;

/// Times both sides in turn, so that whatever else the machine does meets both alike.
pub fn measure(ours: Case, peer: Case) -> Outcome<Timing> {
    let mut ours = Timed::new((ours.prepare)()?)?;
    let mut peer = (peer.prepare)().and_then(Timed::new).ok();
    let round = ours.sample_time() + peer.as_ref().map_or(0.0, Timed::sample_time);
    let rounds = ((CASE.as_secs_f64() / round) as usize).clamp(*ROUNDS.start(), *ROUNDS.end());
    for _ in 0..rounds {
        ours.sample()?;
        if let Some(peer) = &mut peer {
            peer.sample()?;
        }
    }
    Ok(Timing { ours: median(ours.samples), peer: peer.map(|peer| median(peer.samples)) })
}

/// A call with its samples so far.
struct Timed {
    call: Call,
    calls_per_sample: usize,
    warm: f64,
    samples: Vec<f64>,
}

impl Timed {
    /// Warms up, and finds how many calls make a sample.
    fn new(call: Call) -> Outcome<Self> {
        let mut timed = Timed { call, calls_per_sample: 1, warm: 0.0, samples: Vec::new() };
        timed.time()?;
        loop {
            timed.warm = timed.time()?;
            if timed.sample_time() >= SAMPLE.as_secs_f64() {
                return Ok(timed);
            }
            timed.calls_per_sample *= 2;
        }
    }

    fn sample_time(&self) -> f64 {
        self.warm * self.calls_per_sample as f64
    }

    /// Seconds a call, over one sample.
    fn time(&mut self) -> Outcome<f64> {
        let start = Instant::now();
        for _ in 0..self.calls_per_sample {
            (self.call)()?;
        }
        Ok(start.elapsed().as_secs_f64() / self.calls_per_sample as f64)
    }

    fn sample(&mut self) -> Outcome<()> {
        let time = self.time()?;
        self.samples.push(time);
        Ok(())
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
