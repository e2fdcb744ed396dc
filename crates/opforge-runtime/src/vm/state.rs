//! The VM's bookkeeping. Everything here happens under its lock, takes no time, and runs nothing.

use std::borrow::{Borrow, Cow};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use opforge_core::Error;

use super::buffer::{Buffer, Call, Content, Instruction};
use super::deps::{Slot, Ticket, Token};
use super::failure::{Failure, Place};
use super::interrupt::LONG;
use crate::interrupt::Flag;
use crate::kernel::Argument;
use crate::storage::Storage;
use crate::sync::Condvar;

pub(crate) struct State {
    pub token: Token,
    pub streams: Vec<StreamState>,
    /// The slots whose streams have ended.
    free: Vec<Slot>,
    /// How many threads sleep until an instruction or a host access ends.
    pub waiters: usize,
}

/// A stream: instructions are numbered from 1 and end in that order.
pub(crate) struct StreamState {
    /// The number of the last instruction issued.
    pub issued: u64,
    /// The number of the last instruction that ended.
    pub completed: u64,
    /// Whether an instruction is running, on whichever thread.
    pub busy: bool,
    /// Whether the instruction that runs, or the last that did, was not queued.
    pub inline: bool,
    /// The queued instruction that is running: its call, and its outputs.
    pub running: Option<Running>,
    /// What has been issued and not begun.
    pub queue: VecDeque<Queued>,
    /// The memory that the queued instructions will reserve, in bytes.
    pub queued_bytes: usize,
    pub worker: Worker,
    /// Wakes the worker.
    pub work: Arc<Condvar>,
    /// Whether all handles are gone.
    pub closed: bool,
    /// The first failure that the user has not seen, or a later one if none.
    pub failure: Option<Arc<Failure>>,
    /// Tells the queued instruction that is running to stop.
    pub flag: Arc<Flag>,
    /// Instructions up to this number, those that had not ended then, have been interrupted.
    pub interrupted: u64,
    /// The number of an instruction that an interrupt has spared.
    pub spared: u64,
}

/// What remains of an instruction while it runs, for the case that a fork cuts it off or that it is interrupted.
pub(crate) struct Running {
    pub op: Cow<'static, str>,
    pub at: Place,
    /// Its outputs, and how many holds it has on each.
    pub outputs: SmallVec<[(Weak<Storage>, usize); 2]>,
    /// Whether an output held something before.
    pub changes: bool,
    /// Whether nobody wants its results any more.
    pub abandoned: bool,
    /// How many instructions it stands for.
    pub calls: u64,
}

/// What the thread of a stream does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worker {
    /// There is none.
    Absent,
    /// It runs an instruction or is about to look for one.
    Awake,
    /// It waits to be told that there is something in the queue.
    Asleep,
}

pub(crate) struct Queued {
    pub instruction: Instruction,
    /// The memory that it will reserve, in bytes.
    pub bytes: usize,
    /// What must end first, on other streams.
    pub waits: SmallVec<[Ticket; 4]>,
    /// Whether it is not to be run: nobody wants its results any more.
    pub abandoned: bool,
}

impl StreamState {
    /// An idle stream on which `count` instructions have ended.
    fn new(count: u64) -> Self {
        StreamState {
            issued: count,
            completed: count,
            busy: false,
            inline: false,
            running: None,
            queue: VecDeque::new(),
            queued_bytes: 0,
            worker: Worker::Absent,
            work: Arc::new(Condvar::new()),
            closed: false,
            failure: None,
            flag: Arc::default(),
            interrupted: 0,
            spared: 0,
        }
    }

    /// Marks a sleeping worker as awake and gives what wakes it.
    pub fn call_worker(&mut self) -> Option<Arc<Condvar>> {
        (self.worker == Worker::Asleep).then(|| {
            self.worker = Worker::Awake;
            self.work.clone()
        })
    }

    /// Whether an instruction issued now would be the next to run.
    #[inline]
    pub fn is_idle(&self) -> bool {
        !self.busy && self.queue.is_empty()
    }
}

/// What a host access has to wait for.
pub(crate) enum Obstacle {
    Instruction(Ticket),
    HostAccess,
}

impl State {
    /// A state with one stream.
    ///
    /// # Safety
    /// As for [`Token::new`].
    pub unsafe fn new() -> Self {
        // SAFETY: nobody makes another token for the values that this state's token meets.
        let token = unsafe { Token::new() };
        State { token, streams: vec![StreamState::new(0)], free: Vec::new(), waiters: 0 }
    }

    #[inline]
    pub fn stream(&mut self, slot: Slot) -> &mut StreamState {
        &mut self.streams[slot as usize]
    }

    /// Opens a stream in a new or free slot. A reused slot goes on counting, so that old tickets stay done.
    pub fn open_stream(&mut self) -> Slot {
        self.free.pop().unwrap_or_else(|| {
            self.streams.push(StreamState::new(0));
            (self.streams.len() - 1) as Slot
        })
    }

    /// Ends a stream that is idle and has no handle and no worker any more.
    pub fn free_stream(&mut self, slot: Slot) {
        let stream = self.stream(slot);
        let count = stream.issued;
        *stream = StreamState::new(count);
        self.free.push(slot);
    }

    #[inline]
    pub fn is_done(&self, ticket: Ticket) -> bool {
        is_done(&self.streams, ticket)
    }

    /// An instruction as an obstacle, as long as it has not ended.
    pub fn unfinished(&self, ticket: Ticket) -> Option<Obstacle> {
        (!self.is_done(ticket)).then_some(Obstacle::Instruction(ticket))
    }

    /// Whether an instruction issued now on an idle stream could start at once.
    #[inline]
    pub fn can_start(&mut self, slot: Slot, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> bool {
        let State { token, streams, .. } = self;
        let done = |ticket: &Ticket| ticket.stream == slot || is_done(streams, *ticket);
        inputs.iter().all(|input| {
            let deps = input.storage().deps.get(token);
            !deps.host_write && done(&deps.write)
        }) && outputs.iter().all(|output| {
            let deps = output.storage().deps.get(token);
            deps.host_idle() && done(&deps.write) && deps.reads.iter().all(done)
        })
    }

    /// Issues an instruction: gives it its number and notes it as the reader and writer of its storages.
    #[inline]
    pub fn issue(&mut self, slot: Slot, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Ticket {
        let stream = self.stream(slot);
        stream.issued += 1;
        let ticket = Ticket { stream: slot, seq: stream.issued };
        inputs.iter().for_each(|input| input.storage().deps.get(&mut self.token).add_read(ticket));
        outputs.iter().for_each(|output| output.storage().deps.get(&mut self.token).set_write(ticket));
        ticket
    }

    /// The instructions of other streams that one issued now has to wait for.
    pub fn waits(&mut self, slot: Slot, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> SmallVec<[Ticket; 4]> {
        let State { token, streams, .. } = self;
        let mut waits = SmallVec::new();
        let mut add = |ticket: Ticket| {
            if ticket.stream != slot && !is_done(streams, ticket) {
                waits.push(ticket);
            }
        };
        inputs.iter().for_each(|input| add(input.storage().deps.get(token).write));
        for output in outputs {
            let deps = output.storage().deps.get(token);
            add(deps.write);
            deps.reads.iter().copied().for_each(&mut add);
        }
        waits
    }

    /// Whether the first instruction in a queue may start.
    pub fn head_can_start(&mut self, slot: Slot) -> bool {
        let State { token, streams, .. } = self;
        let stream = &streams[slot as usize];
        let Some(head) = stream.queue.front().filter(|_| !stream.busy) else { return false };
        head.waits.iter().all(|&ticket| is_done(streams, ticket))
            && head.instruction.inputs.iter().all(|input| !input.storage().deps.get(token).host_write)
            && head.instruction.outputs.iter().all(|output| output.storage().deps.get(token).host_idle())
    }

    /// Whether the first instruction in a queue takes long.
    pub fn head_is_long(&self, slot: Slot) -> bool {
        self.streams[slot as usize].queue.front().is_some_and(|head| head.instruction.kernel.duration() > LONG)
    }

    /// A stream whose first queued instruction can start now and has to end before `ticket` can.
    pub fn startable_before(&mut self, ticket: Ticket) -> Option<Slot> {
        let mut slot = ticket.stream;
        loop {
            if self.head_can_start(slot) {
                return Some(slot);
            }
            let stream = &self.streams[slot as usize];
            let head = stream.queue.front().filter(|_| !stream.busy)?;
            // Instructions only wait for ones issued before them: this cannot go round in circles.
            slot = head.waits.iter().find(|&&wait| !self.is_done(wait))?.stream;
        }
    }

    /// What keeps the host from reading, or from writing, a storage now.
    pub fn host_obstacle(&mut self, storage: &Storage, write: bool) -> Option<Obstacle> {
        let State { token, streams, .. } = self;
        let deps = storage.deps.get(token);
        if deps.poison().is_some() && streams[deps.write.stream as usize].interrupted >= deps.write.seq {
            // There is only the failure to be had.
            return None;
        }
        let reads = deps.reads.iter().filter(|_| write);
        if let Some(&ticket) = [deps.write].iter().chain(reads).find(|&&ticket| !is_done(streams, ticket)) {
            return Some(Obstacle::Instruction(ticket));
        }
        let in_use = if write { !deps.host_idle() } else { deps.host_write };
        in_use.then_some(Obstacle::HostAccess)
    }

    /// The failure that keeps an instruction from running: that of an input, or of an output whose content matters.
    #[inline]
    pub fn poison<S: Borrow<Arc<Storage>>>(
        &mut self,
        inputs: &[Buffer<S>],
        outputs: &[Buffer<S>],
        content: Content,
    ) -> Option<Arc<Failure>> {
        let outputs = if content == Content::Replaced { &[] } else { outputs };
        inputs.iter().chain(outputs).find_map(|buffer| buffer.storage().deps.get(&mut self.token).poison().cloned())
    }

    /// Forgets failures that a successful instruction made irrelevant.
    #[inline]
    pub fn clear_replaced<S: Borrow<Arc<Storage>>>(&mut self, outputs: &[Buffer<S>], content: Content) {
        if content == Content::Replaced {
            outputs.iter().for_each(|output| output.storage().deps.get(&mut self.token).clear_poison());
        }
    }

    /// Marks the outputs of an instruction that failed, of which nobody has been told, as unusable.
    pub fn set_poison(&mut self, outputs: &[Buffer], content: Content, failure: &Arc<Failure>) {
        for output in outputs {
            let deps = output.storage().deps.get(&mut self.token);
            match content {
                Content::Changed => deps.set_passing_poison(failure.clone()),
                Content::New | Content::Replaced => deps.set_poison(failure.clone()),
            }
        }
    }

    /// Marks the outputs of a call as unusable that fails here and now. The user is told: what held something before can be used.
    #[cold]
    pub fn refuse(&mut self, call: &Call<'_>, failure: &Arc<Failure>) -> Error {
        if call.content != Content::Changed {
            let outputs = call.outputs.iter();
            outputs.for_each(|output| output.storage().deps.get(&mut self.token).set_poison(failure.clone()));
        }
        for buffer in call.inputs.iter().chain(call.outputs) {
            self.told(buffer.storage(), failure);
        }
        failure.deliver()
    }

    /// Notes that the user has been told of a failure, which then passes where it is the storage's. What was issued before must not run on what
    /// the kernel left: then it stays.
    pub fn told(&mut self, storage: &Storage, failure: &Arc<Failure>) {
        let State { token, streams, .. } = self;
        let deps = storage.deps.get(token);
        let is_it = deps.poison().is_some_and(|known| Arc::ptr_eq(known, failure));
        if is_it && deps.is_passing() && deps.reads.iter().all(|&read| is_done(streams, read)) {
            deps.clear_poison();
        }
    }

    /// An instruction that reads a storage whose failure will pass, and has not ended.
    pub fn reader_before_passing(&mut self, storage: &Storage) -> Option<Obstacle> {
        let State { token, streams, .. } = self;
        let deps = storage.deps.get(token);
        let mut reads = deps.reads.iter().filter(|_| deps.is_passing());
        reads.find(|&&read| !is_done(streams, read)).map(|&read| Obstacle::Instruction(read))
    }

    /// Remembers a failure for [`Stream::synchronize`](super::Stream::synchronize).
    pub fn report(&mut self, slot: Slot, failure: &Arc<Failure>) {
        let known = &mut self.stream(slot).failure;
        if known.as_ref().is_none_or(|known| known.is_observed()) {
            *known = Some(failure.clone());
        }
    }
}

#[inline]
fn is_done(streams: &[StreamState], ticket: Ticket) -> bool {
    streams[ticket.stream as usize].completed >= ticket.seq
}
