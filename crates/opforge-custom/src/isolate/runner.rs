//! Operators whose library is opened and run in a worker.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use opforge_core::{Error, Result};
use opforge_runtime::vm;

use super::death::{Arguments, beside};
use super::instance::Instance;
use super::process::{LEAST_MEMORY, Start};
use super::worker::{Failure, Found, Signature, Worker};
use crate::abi::{Inferred, Variant};
use crate::elf::Names;
use crate::library::{Place, check_version};
use crate::runner::{Forms, Infers, Prepared, Query, Runner, Setup};

/// How long a function may run unless something else is asked for.
const DEFAULT_LIMIT: Duration = Duration::from_secs(60);

/// What an isolated operator may take; see [`CustomOp::isolated_with`](crate::CustomOp::isolated_with).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isolation {
    /// How long each of its functions may run.
    pub time: Duration,
    /// How many bytes its process may allocate, besides the tensors: memory of its own, as of `malloc`, `new` and threads' stacks. `None`: as many as
    /// tensors may take here ([`opforge_runtime::alloc::limit`]) when its process starts.
    pub memory: Option<usize>,
}

impl Default for Isolation {
    fn default() -> Self {
        Isolation { time: DEFAULT_LIMIT, memory: None }
    }
}

impl From<Option<Duration>> for Isolation {
    fn from(time: Option<Duration>) -> Self {
        Isolation { time: time.unwrap_or(DEFAULT_LIMIT), memory: None }
    }
}

impl Isolation {
    fn check(&self, place: &Place) -> Result<()> {
        if self.time.is_zero() {
            return Err(Error::value(place.op.clone(), "time limit", "0 seconds", "more than that"));
        }
        match self.memory.filter(|&memory| memory < LEAST_MEMORY) {
            Some(given) => {
                let accepted = format!("at least {LEAST_MEMORY}, which the process needs itself");
                Err(Error::value(place.op.clone(), "memory limit", format!("{given} bytes"), accepted))
            }
            None => Ok(()),
        }
    }
}

/// Runs an operator's functions in a worker: one at a time. A worker that has ended is replaced when it is needed next.
pub(crate) struct Isolated {
    shared: Arc<Shared>,
    variant: Variant,
    forms: Forms,
}

/// What an operator and its instances share.
pub(super) struct Shared {
    file: PathBuf,
    function: String,
    limits: Isolation,
    state: Mutex<State>,
    /// Instances that nobody has any more, to be closed when the worker has time.
    orphans: Mutex<Vec<Ticket>>,
    /// Whether the worker is to end when it has nothing to do.
    resting: AtomicBool,
}

/// The worker and what it holds.
#[derive(Default)]
pub(super) struct State {
    worker: Option<Worker>,
    /// How many workers there have been.
    generation: u64,
    /// How many instances there have been.
    instances: u64,
    /// What the worker's process could not give up.
    gaps: String,
    /// The instance that ran last, if it left everything else alone.
    pub last: Option<Ticket>,
}

/// An instance of a certain worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    generation: u64,
    pub instance: u64,
}

impl Isolated {
    /// The operator in a library, which is opened in a worker.
    ///
    /// # Errors
    /// As [`crate::library::Library::open`]; when no worker can be started, or opening the library ends it; for limits with which nothing can be done.
    pub fn open(file: &Path, place: &Place, limits: &Isolation) -> Result<Self> {
        limits.check(place)?;
        let shared = Shared {
            file: file.to_owned(),
            function: place.function.clone(),
            limits: *limits,
            state: Mutex::default(),
            orphans: Mutex::default(),
            resting: AtomicBool::new(false),
        };
        let found = shared.start(&mut shared.lock(), place, true)?;
        let names = Names::of(file);
        check_version(found.version, place)?;
        if !found.has(Found::MAIN) {
            return Err(place.fault(names.missing(&place.function)));
        }
        let (variant, forms) = (names.variant(found.has(Found::DUAL_MARK)), found.forms());
        Ok(Isolated { shared: Arc::new(shared), variant, forms })
    }
}

impl Runner for Isolated {
    fn infers(&self) -> Infers {
        self.forms.infers()
    }

    fn infer(&self, query: &Query<'_>) -> Result<Vec<Inferred>> {
        let (variant, attributes, arguments) = (self.variant, query.attributes, query.inputs().collect());
        let signature = Signature { variant, attributes, arguments, outputs: None };
        self.shared.attended(query.place, |state| {
            self.forms.infer(query, |form| {
                let answer = state.ask(|worker| worker.infer(form, &signature));
                answer.map_err(|failure| failure.error(query.place, form.suffix(), &|_| None))
            })
        })
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Prepared>> {
        let mut instance = Instance::new(self.shared.clone(), self.variant, setup);
        self.shared.attended(setup.place, |state| instance.ready(state).map(|_| ()))?;
        Ok(Box::new(instance))
    }

    fn isolate(&self, place: &Place, limits: &Isolation) -> Result<Arc<dyn Runner>> {
        Ok(Arc::new(Isolated::open(&self.shared.file, place, limits)?))
    }

    fn gaps(&self) -> Option<String> {
        Some(self.shared.lock().gaps.clone()).filter(|gaps| !gaps.is_empty())
    }

    fn rest(&self) {
        self.shared.resting.store(true, Ordering::SeqCst);
        self.shared.end_if_resting();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless someone uses it.
    fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Does something with a worker that lives, on a thread of the VM.
    pub fn with<T>(&self, place: &Place, f: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let state = self.lock();
        self.with_state(state, place, false, f)
    }

    /// Does something with a worker that lives, on a thread that calls. Whatever it waits for, the front end may give up.
    pub fn attended<T>(&self, place: &Place, f: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        const POLL: Duration = Duration::from_millis(1);
        let state = loop {
            if let Some(state) = self.try_lock() {
                break state;
            }
            vm::wait(&mut |at_most| {
                std::thread::sleep(POLL.min(at_most));
                self.try_lock().is_some()
            })?;
        };
        self.with_state(state, place, true, f)
    }

    fn with_state<T>(
        &self,
        mut state: MutexGuard<'_, State>,
        place: &Place,
        attended: bool,
        f: impl FnOnce(&mut State) -> Result<T>,
    ) -> Result<T> {
        self.close_orphans(&mut state);
        match &mut state.worker {
            Some(worker) if worker.is_ours() => worker.attended = attended,
            _ => _ = self.start(&mut state, place, attended)?,
        }
        let result = f(&mut state);
        drop(state);
        self.end_if_resting();
        result
    }

    fn start(&self, state: &mut State, place: &Place, attended: bool) -> Result<Found> {
        // Short limits are for what the library computes.
        let start = Start { memory: self.limits.memory, library: self.file.clone(), ..Start::default() };
        let started = Worker::start(&start, self.limits.time.max(DEFAULT_LIMIT));
        let cannot = |error| place.fault(format_args!("cannot be isolated, for no process could be started: {error}"));
        let worker = state.worker.insert(started.map_err(cannot)?);
        worker.attended = attended;
        state.generation += 1;
        state.last = None;
        let opened = state.ask(|worker| {
            let opened = worker.open(&self.file, &self.function);
            worker.limit = self.limits.time;
            opened
        });
        state.gaps = state.worker.as_ref().map(|worker| worker.gaps.clone()).unwrap_or_default();
        opened.map_err(|failure| match failure {
            Failure::Refused(message) => place.fault(format_args!("cannot be opened: {message}")),
            Failure::Death(death) => place.fault(format_args!("opening the library {}", death.message(&|_| None))),
            other => other.error(place, "", &|_| None),
        })
    }

    /// Closes an instance when the worker has time for it.
    pub fn give_up(&self, ticket: Ticket) {
        self.orphans.lock().unwrap_or_else(PoisonError::into_inner).push(ticket);
        if let Some(mut state) = self.try_lock() {
            self.close_orphans(&mut state);
        }
    }

    fn close_orphans(&self, state: &mut State) {
        let orphans = std::mem::take(&mut *self.orphans.lock().unwrap_or_else(PoisonError::into_inner));
        for ticket in orphans {
            if state.holds(ticket) {
                // Kernel data that cannot be destroyed ends the worker at worst, and then it is gone too.
                let _ = state.ask(|worker| worker.close(ticket.instance));
            }
        }
    }

    /// Ends the worker of an operator that nobody has any more. One in use ends when whoever uses it comes here.
    fn end_if_resting(&self) {
        if self.resting.load(Ordering::SeqCst)
            && let Some(mut state) = self.try_lock()
        {
            state.worker = None;
        }
    }
}

impl State {
    /// Asks the worker, and lets go of it if that ends it.
    pub fn ask<T>(&mut self, ask: impl FnOnce(&mut Worker) -> Result<T, Failure>) -> Result<T, Failure> {
        let gone = || Failure::Refused("its process is gone".to_owned());
        let result = ask(self.worker.as_mut().ok_or_else(gone)?);
        if let Err(Failure::Death(_) | Failure::Interrupted(_)) = &result {
            self.worker = None;
        }
        result
    }

    /// A number for a new instance of the worker that there is now.
    pub fn ticket(&mut self) -> Ticket {
        self.instances += 1;
        Ticket { generation: self.generation, instance: self.instances }
    }

    /// Whether the worker that there is now has this instance.
    pub fn holds(&self, ticket: Ticket) -> bool {
        self.generation == ticket.generation && self.worker.as_ref().is_some_and(Worker::is_ours)
    }
}

impl Failure {
    /// The error of a function whose name has this suffix.
    pub(super) fn error(&self, place: &Place, suffix: &str, arguments: Arguments<'_>) -> Error {
        let what = match self {
            Failure::Function(outcome) => outcome.message(),
            Failure::Refused(why) => format!("cannot be called: {why}"),
            Failure::Death(death) => death.message(arguments),
            Failure::Stray { argument, byte } => {
                let (name, size) = arguments(*argument).unwrap_or_default();
                beside("wrote", &name, *byte, size)
            }
            Failure::Interrupted(error) => return error.clone(),
        };
        place.fault(format_args!("{}{suffix} {what}", place.function))
    }
}
