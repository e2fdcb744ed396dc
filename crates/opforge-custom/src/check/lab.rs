//! The worker in which an operator is tried: every function of its library runs there, in memory that tells of wrong accesses.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opforge::{DType, Error, Result};

use super::Options;
use super::stage::{Argument, Role, Seen, Side, Stage};
use crate::CustomOp;
use crate::abi::{Inferred, Outcome, Variant, lengths};
use crate::attribute::Attributes;
use crate::elf::Names;
use crate::isolate::{Death, Failure, Found, Observe, REPORT_SIZE, Runs, Signature, Start, Worker};
use crate::runner::Form;

/// Why a function of a library did not do its work.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It returned an error or threw; the text begins with its name.
    Refused(String),
    /// It ended the worker.
    Died(Fatality),
    /// It is not the library's fault.
    Own(Error),
}

/// How a function of a library ended the worker.
#[derive(Debug)]
pub(super) struct Fatality {
    pub function: String,
    pub death: Death,
    /// What it printed.
    pub printed: String,
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Own(error)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Trouble::Own(error.into())
    }
}

/// A library to try, and how.
pub(super) struct Subject {
    pub library: PathBuf,
    pub function: String,
    pub names: Names,
    /// The limit of a request.
    pub limit: Duration,
    /// What sanitizers that were built in need; with them, signals are left to them.
    pub environment: Vec<(OsString, OsString)>,
}

impl Subject {
    /// The library of an operator.
    ///
    /// # Errors
    /// For an operator that is a function of tensors.
    pub fn of(op: &CustomOp, options: &Options) -> Result<Self> {
        let Some(library) = op.library() else {
            let accepted = "an operator from a library or source file";
            return Err(Error::value(op.name(), "op", "a function of tensors", accepted));
        };
        let names = Names::of(&library);
        let (function, limit) = (op.place().function.clone(), options.timeout);
        Ok(Subject { library, function, names, limit, environment: Vec::new() })
    }
}

/// A worker with a library; a new one whenever that has ended.
pub(super) struct Lab {
    pub subject: Subject,
    state: Mutex<Option<Running>>,
}

struct Running {
    worker: Worker,
    found: Found,
    /// What the library prints.
    output: File,
    instances: Vec<u64>,
    /// The last instance's number.
    last: u64,
    /// Where the region is free.
    free: u64,
}

impl Lab {
    pub fn new(subject: Subject) -> Self {
        Lab { subject, state: Mutex::new(None) }
    }

    /// Ends the worker, if there is one: whatever the library remembers is gone.
    pub fn restart(&self) {
        *self.lock() = None;
    }

    /// Destroys what was prepared.
    pub fn clear(&self) -> Result<(), Trouble> {
        if self.lock().is_none() {
            return Ok(());
        }
        self.ask("'s kernel data", |running| {
            running.free = REPORT_SIZE;
            let instances = std::mem::take(&mut running.instances);
            instances.into_iter().try_for_each(|instance| running.worker.close(instance))
        })
    }

    /// Which functions the library has.
    pub fn found(&self) -> Result<Found, Trouble> {
        self.ask("", |running| Ok(running.found))
    }

    fn variant(&self) -> Result<Variant, Trouble> {
        Ok(self.subject.names.variant(self.found()?.has(Found::DUAL_MARK)))
    }

    /// Calls an inference function.
    pub fn infer(
        &self,
        form: Form,
        attributes: &Attributes,
        inputs: Vec<(&[i64], DType)>,
    ) -> Result<Vec<Inferred>, Trouble> {
        let variant = self.variant()?;
        let signature = Signature { variant, attributes, arguments: inputs, outputs: None };
        self.ask(form.suffix(), |running| running.worker.infer(form, &signature))
    }

    /// Initialises the operator for inputs and outputs, and gives them and the workspaces memory.
    pub fn prepare(&self, attributes: &Attributes, mut arguments: Vec<Argument>) -> Result<Stage, Trouble> {
        let shapes: Vec<Vec<i64>> = arguments.iter().map(|argument| lengths(&argument.shape)).collect();
        let signature = Signature {
            variant: self.variant()?,
            attributes,
            arguments: shapes.iter().zip(&arguments).map(|(shape, argument)| (&shape[..], argument.dtype)).collect(),
            outputs: Some(arguments.iter().filter(|argument| argument.is_output()).count()),
        };
        self.ask("Init", |running| {
            running.last += 1;
            let instance = running.last;
            let sizes = running.worker.prepare(instance, &signature)?;
            running.instances.push(instance);
            let workspace = |(i, size)| Argument::new(format!("workspace {i}"), Role::Workspace, vec![size], DType::U8);
            arguments.extend(sizes.into_iter().enumerate().map(workspace));
            let mut stage = Stage { instance, arguments };
            running.free = stage.place(running.free);
            Ok(stage)
        })
    }

    /// Fills the arguments' memory, and places it beside guards.
    pub fn load(&self, stage: &Stage, side: Side, contents: impl Fn(usize) -> Vec<u8>) -> Result<(), Trouble> {
        self.ask("", |running| {
            running.worker.map(stage.instance, &stage.pieces(side))?;
            stage.fill(&running.worker, side, contents)
        })
    }

    /// Runs the main function of instances, several of them at once, each `repeats` times.
    pub fn run(&self, stages: &[&Stage], repeats: u64, observe: Observe) -> Result<Runs, Trouble> {
        let instances: Vec<u64> = stages.iter().map(|stage| stage.instance).collect();
        let runs = self.ask("", |running| running.worker.run(&instances, repeats, observe))?;
        match runs.outcomes.iter().find(|outcome| **outcome != Outcome::Success) {
            Some(failed) => Err(self.refused("", failed)),
            None => Ok(runs),
        }
    }

    /// What the arguments hold.
    pub fn look(&self, stage: &Stage, side: Side) -> Result<Seen, Trouble> {
        self.ask("", |running| stage.look(&running.worker, side))
    }

    /// Places the arguments, and fills their last bytes, each with the same.
    pub fn load_tails(&self, stage: &Stage, bytes: usize, fill: impl Fn(Role) -> u8) -> Result<(), Trouble> {
        self.ask("", |running| {
            running.worker.map(stage.instance, &stage.pieces(Side::End))?;
            stage.tails(bytes).try_for_each(|(i, offset, length)| {
                running.worker.write(&vec![fill(stage.arguments[i].role); length], offset)
            })
        })
    }

    /// The arguments' last bytes.
    pub fn look_at_tails(&self, stage: &Stage, bytes: usize) -> Result<Vec<(usize, Vec<u8>)>, Trouble> {
        self.ask("", |running| {
            let look = |(i, offset, length)| {
                let mut tail = vec![0; length];
                running.worker.read(&mut tail, offset).map(|()| (i, tail))
            };
            stage.tails(bytes).map(look).collect()
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refused(&self, suffix: &str, outcome: &Outcome) -> Trouble {
        Trouble::Refused(format!("{}{suffix} {}", self.subject.function, outcome.message()))
    }

    /// Asks the worker for something that the function with this suffix does.
    fn ask<T>(&self, suffix: &str, ask: impl FnOnce(&mut Running) -> Result<T, Failure>) -> Result<T, Trouble> {
        let mut state = self.lock();
        let running = match &mut *state {
            Some(running) => running,
            none => none.insert(self.start()?),
        };
        match ask(running) {
            Ok(answer) => Ok(answer),
            Err(Failure::Function(outcome)) => Err(self.refused(suffix, &outcome)),
            Err(Failure::Death(death)) => {
                let printed = text(&running.output)?;
                *state = None;
                Err(Trouble::Died(Fatality { function: format!("{}{suffix}", self.subject.function), death, printed }))
            }
            Err(other) => Err(Trouble::Own(Error::Msg(format!("{other:?}")))),
        }
    }

    fn start(&self) -> Result<Running, Trouble> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let output = File::from(rustix::fs::memfd_create("opforge-output", flags).map_err(std::io::Error::from)?);
        let environment = self.subject.environment.clone();
        let (bare, library) = (!environment.is_empty(), self.subject.library.clone());
        let start = Start { bare, environment, output: Some(output.try_clone()?), memory: None, library };
        let mut worker = Worker::start(&start, self.subject.limit)?;
        match worker.open(&self.subject.library, &self.subject.function) {
            Ok(found) => Ok(Running { worker, found, output, instances: Vec::new(), last: 0, free: REPORT_SIZE }),
            Err(Failure::Death(death)) => {
                let function = format!("{}'s library", self.subject.function);
                Err(Trouble::Died(Fatality { function, death, printed: text(&output)? }))
            }
            Err(other) => Err(Trouble::Own(Error::Msg(format!("{other:?}")))),
        }
    }
}

/// What a file holds, up to a limit.
fn text(file: &File) -> std::io::Result<String> {
    const MOST: u64 = 1 << 16;
    let mut bytes = vec![0; file.metadata()?.len().min(MOST) as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
