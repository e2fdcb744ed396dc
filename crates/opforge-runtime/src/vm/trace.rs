//! A recorder of what ran when and where. While it is off it costs one relaxed load per instruction.

use std::borrow::Borrow;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::buffer::Buffer;
use super::deps::Ticket;
use super::state::Queued;
use crate::storage::Storage;

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An instruction of the VM.
    Kernel,
    /// A call between processes ([`Communication`]).
    Communication,
}

/// One instruction's way through the VM, or a call between processes. Times are in nanoseconds since an arbitrary moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Which of the two.
    pub kind: Kind,
    /// The operator, or the call.
    pub op: String,
    /// The stream's [id](super::Stream::id); 0 for calls between processes.
    pub stream: u32,
    /// The number of the instruction on its stream; 0 for calls between processes.
    pub seq: u64,
    /// A number for the thread that ran it, or saw its end, from 1.
    pub thread: u32,
    /// When it was submitted.
    pub issued: u64,
    /// When its kernel began.
    pub start: u64,
    /// When its kernel had ended.
    pub end: u64,
    /// The bytes of its outputs' storages; those that came from other processes.
    pub bytes: usize,
    /// The number of the first instruction of those that ran as one kernel with it, if others did; the kernel's time is shared out among them.
    pub program: Option<u64>,
}

/// When something happened; [`OFF`] if nobody is recording.
pub(crate) type Moment = u64;
const OFF: Moment = 0;

static RECORDING: AtomicBool = AtomicBool::new(false);
static EVENTS: Mutex<Vec<Event>> = Mutex::new(Vec::new());
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

fn events() -> MutexGuard<'static, Vec<Event>> {
    EVENTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts recording, and forgets what was recorded before.
pub fn start() {
    LazyLock::force(&EPOCH);
    events().clear();
    RECORDING.store(true, Ordering::Relaxed);
}

/// Stops recording; gives the instructions that ended meanwhile, in the order of their ends.
pub fn stop() -> Vec<Event> {
    RECORDING.store(false, Ordering::Relaxed);
    std::mem::take(&mut events())
}

/// The time if somebody is recording.
#[inline]
pub(super) fn now() -> Moment {
    if RECORDING.load(Ordering::Relaxed) { clock() } else { OFF }
}

/// The time on the events' clock.
#[cold]
pub fn clock() -> u64 {
    EPOCH.elapsed().as_nanos() as u64 + 1
}

/// A kernel's run, being measured.
pub(super) struct Span(Moment);

/// Begins to measure a kernel's run.
#[inline]
pub(super) fn begin() -> Span {
    Span(now())
}

impl Span {
    #[inline]
    pub fn start(&self) -> Moment {
        self.0
    }

    #[inline]
    pub fn end<S: Borrow<Arc<Storage>>>(&self, op: &str, ticket: Ticket, issued: Moment, outputs: &[Buffer<S>]) {
        if self.0 != OFF {
            self.record(op, ticket, issued, outputs.iter().map(|output| output.storage().nbytes()).sum());
        }
    }

    /// As [`Span::end`] of calls that ran together, from instruction `first` on: each gets a part of the time, by what its own kernel would have
    /// taken.
    pub fn end_of_all(&self, calls: &[Queued], first: Ticket) {
        if self.0 == OFF {
            return;
        }
        let (begin, now) = (self.0, clock());
        let cost = |call: &Queued| call.instruction.kernel.duration().max(1);
        let (total, mut before): (u64, u64) = (calls.iter().map(cost).sum(), 0);
        let at = |cost: u64| begin + (u128::from(now - begin) * u128::from(cost) / u128::from(total)) as u64;
        for (i, call) in calls.iter().enumerate() {
            let instruction = &call.instruction;
            let bytes = instruction.outputs.iter().map(|output| output.storage().nbytes()).sum();
            let (start, seq) = (at(before), first.seq + i as u64);
            before += cost(call);
            let issued = if instruction.issued == OFF { begin } else { instruction.issued };
            let op = instruction.op.clone().into_owned();
            let (stream, program, end) = (first.stream, Some(first.seq), at(before));
            let (kind, thread) = (Kind::Kernel, thread());
            let event = Event { kind, op, stream, seq, thread, issued, start, end, bytes, program };
            events().push(event);
        }
    }

    #[cold]
    fn record(&self, op: &str, ticket: Ticket, issued: Moment, bytes: usize) {
        let issued = if issued == OFF { self.0 } else { issued };
        let Ticket { stream, seq } = ticket;
        let (op, thread, start, end) = (op.to_owned(), thread(), self.0, clock());
        let event = Event { kind: Kind::Kernel, op, stream, seq, thread, issued, start, end, bytes, program: None };
        events().push(event);
    }
}

/// A call between processes, being measured: what goes on beside the VM.
#[derive(Debug)]
pub struct Communication(Moment);

impl Communication {
    /// Begins to measure, if somebody is recording.
    #[inline]
    pub fn begin() -> Self {
        Communication(now())
    }

    /// Records the call's end, with its name and the bytes that it brought, if somebody is recording since its beginning.
    #[inline]
    pub fn end(&self, what: impl FnOnce() -> (String, usize)) {
        if self.0 != OFF && now() != OFF {
            self.record(what());
        }
    }

    #[cold]
    fn record(&self, (op, bytes): (String, usize)) {
        let (kind, thread, start, end) = (Kind::Communication, thread(), self.0, clock());
        events().push(Event { kind, op, stream: 0, seq: 0, thread, issued: start, start, end, bytes, program: None });
    }
}

/// The calling thread's number.
fn thread() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local!(static NUMBER: u32 = NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|number| *number)
}

/// Writes events in Chrome's trace format (JSON), which Perfetto and chrome://tracing show: one row a thread, and one of calls between processes.
pub fn write_chrome(events: &[Event], mut out: impl Write) -> io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    for (i, event) in events.iter().enumerate() {
        let Event { kind, op, stream, seq, thread, issued, start, end, bytes, program } = event;
        let (category, row) = match kind {
            Kind::Kernel => ("kernel", thread.to_string()),
            Kind::Communication => ("communication", "\"communication\"".to_owned()),
        };
        let program = program.map_or(String::new(), |first| format!(",\"program\":{first}"));
        let comma = if i == 0 { "" } else { "," };
        let (begin, duration, waited) = (micros(*start), micros(end - start), micros(start.saturating_sub(*issued)));
        write!(
            out,
            "{comma}\n{{\"name\":\"{}\",\"cat\":\"{category}\",\"ph\":\"X\",\"pid\":1,\"tid\":{row},\"ts\":{begin},\"dur\":{duration},\
             \"args\":{{\"stream\":{stream},\"seq\":{seq},\"bytes\":{bytes},\"waited_us\":{waited}{program}}}}}",
            escape(op)
        )?;
    }
    out.write_all(b"\n]}\n")
}

/// Nanoseconds as a decimal number of microseconds.
fn micros(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}

/// The text as the inside of a JSON string.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}
