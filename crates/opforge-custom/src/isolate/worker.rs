//! What can be asked of a worker.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use opforge_core::{DType, Error};

use super::death::{Death, Refusal};
use super::message::{Answer, Kind, Request};
use super::process::{Process, Start};
use crate::abi::{Inferred, Outcome, Variant, dtype_name, type_id};
use crate::attribute::Attributes;
use crate::runner::{Form, Forms};

/// A process in which a library's functions run. Requests wait for their answers, up to a limit; after a [`Failure::Death`] there is no
/// worker any more, and every further request fails.
pub(crate) struct Worker {
    process: Process,
    /// The time limit of requests.
    pub limit: Duration,
    /// What its process could not give up, and why; empty if all that it should. Known once the library is open.
    pub gaps: String,
    /// Whether requests are waited for in the front end's way. That is for the thread that called the front end, not for the VM's.
    pub attended: bool,
}

/// Why a request failed.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// A function of the library failed.
    Function(Outcome),
    /// The request could not be carried out.
    Refused(String),
    /// A function wrote beside an argument, at this byte counted from the argument's first.
    Stray { argument: usize, byte: i64 },
    /// The worker has ended.
    Death(Death),
    /// The front end gave up waiting, and the worker was ended.
    Interrupted(Error),
}

/// What an opened library has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    bits: u64,
    /// The version of the interface that the library states.
    pub version: Option<u32>,
}

/// Bits, as `worker::Found`.
impl Found {
    pub const MAIN: u64 = 1;
    pub const INFER: u64 = 4;
    pub const INFER_SHAPE: u64 = 8;
    pub const INFER_TYPE: u64 = 16;
    pub const DUAL_MARK: u64 = 64;

    pub fn has(&self, bit: u64) -> bool {
        self.bits & bit != 0
    }

    /// The inference functions among it.
    pub fn forms(&self) -> Forms {
        let [infer, infer_shape, infer_type] =
            [Self::INFER, Self::INFER_SHAPE, Self::INFER_TYPE].map(|bit| self.has(bit));
        Forms { infer, infer_shape, infer_type }
    }
}

/// What a function is told of a call.
pub(crate) struct Signature<'a> {
    pub variant: Variant,
    pub attributes: &'a Attributes,
    /// Shapes and dtypes of inputs and then outputs.
    pub arguments: Vec<(&'a [i64], DType)>,
    /// How many of them are outputs, if that is known.
    pub outputs: Option<usize>,
}

/// Where an argument lies in the region: whole pages from `offset`, a multiple of the page's size, are mapped between guards, and the
/// argument begins `shift` bytes behind that. Equal pieces are one argument. Writes to others than `writable` ones are faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub offset: u64,
    pub size: u64,
    pub shift: u64,
    pub writable: bool,
}

impl Piece {
    /// Where the argument begins in the region.
    pub fn first(&self) -> u64 {
        self.offset + self.shift
    }

    /// Where it ends.
    pub fn end(&self) -> u64 {
        self.first() + self.size
    }
}

/// What to look at while instances run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observe {
    Nothing,
    /// What is allocated, and the arrays that describe arguments.
    Measure,
    /// Results of instances that run at once: each stops when they are not what they were before its first run.
    Steady,
}

/// How runs went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runs {
    /// Of each instance: success, or its first failure.
    pub outcomes: Vec<Outcome>,
    /// The bytes that were allocated before and after, if that was asked for and can be known.
    pub allocated: Option<(u64, u64)>,
    /// Whether the library has changed the arrays that describe the arguments, if that was asked for.
    pub changed_arrays: bool,
}

impl Worker {
    /// Starts a worker.
    ///
    /// # Errors
    /// Those of the system.
    pub fn start(start: &Start, limit: Duration) -> io::Result<Self> {
        Ok(Worker { process: Process::start(start)?, limit, gaps: String::new(), attended: false })
    }

    /// Whether this process may use it: a fork of the one that started it must not.
    pub fn is_ours(&self) -> bool {
        self.process.is_ours()
    }

    /// Opens the library, once.
    pub fn open(&mut self, file: &Path, function: &str) -> Result<Found, Failure> {
        let request = Request::new(Kind::Open).text(file.as_os_str().as_encoded_bytes()).text(function.as_bytes());
        let (found, gaps) = self.ask(request, |answer| {
            let (bits, version) = (answer.number()?, answer.number()? as u32);
            Some((Found { bits, version: (version != 0).then_some(version) }, answer.text()?))
        })?;
        self.gaps = gaps;
        Ok(found)
    }

    /// Calls an inference function.
    pub fn infer(&mut self, form: Form, signature: &Signature<'_>) -> Result<Vec<Inferred>, Failure> {
        let (number, several) = match form {
            Form::Infer => (0, false),
            Form::InferShape { several } => (1, several),
            Form::InferType { several } => (2, several),
        };
        let request = Request::new(Kind::Infer).number(number).number(several.into()).signature(signature);
        let types = signature.arguments.iter().map(|(_, dtype)| type_id(*dtype));
        let request = request.list(types, |request, id| request.number(i64::from(id).cast_unsigned()));
        self.ask(request, |answer| match form {
            Form::InferType { .. } => answer.list(|answer| Some(Inferred::from_type(answer.number()? as i32))),
            _ => answer.list(inferred),
        })
    }

    /// Initialises an instance, and says how many bytes it wants as workspaces.
    pub fn prepare(&mut self, instance: u64, signature: &Signature<'_>) -> Result<Vec<usize>, Failure> {
        let request = Request::new(Kind::Prepare).number(instance).signature(signature);
        self.ask(request, |answer| answer.list(|answer| usize::try_from(answer.number()?).ok()))
    }

    /// Places an instance's inputs, outputs and workspaces in the region, which grows as needed.
    pub fn map(&mut self, instance: u64, pieces: &[Piece]) -> Result<(), Failure> {
        let end = pieces.iter().map(Piece::end).max().unwrap_or(0);
        self.reserve(end).map_err(|error| Failure::Refused(format!("no memory for {end} bytes: {error}")))?;
        let request = Request::new(Kind::Map).number(instance).list(pieces.iter(), |request, piece| {
            request.number(piece.offset).number(piece.size).number(piece.shift).number(piece.writable.into())
        });
        self.ask(request, |_| Some(()))
    }

    /// Runs the main functions of instances, each `repeats` times, several of them at once on a thread each.
    pub fn run(&mut self, instances: &[u64], repeats: u64, observe: Observe) -> Result<Runs, Failure> {
        let request = Request::new(Kind::Run).number(repeats).number(observe as u64);
        let request = request.list(instances.iter(), |request, &instance| request.number(instance));
        let runs = self.ask(request, |answer| {
            let outcomes = answer.list(|answer| answer.outcome()?.ok())?;
            let (before, after) = (answer.number()?.cast_signed(), answer.number()?.cast_signed());
            let allocated = u64::try_from(before).ok().zip(u64::try_from(after).ok());
            Some(Runs { outcomes, allocated, changed_arrays: answer.number()? != 0 })
        });
        let refusal = self.process.refusal();
        runs.map(|runs| Runs {
            outcomes: runs.outcomes.into_iter().map(|outcome| explained(outcome, refusal)).collect(),
            ..runs
        })
    }

    /// Destroys an instance.
    pub fn close(&mut self, instance: u64) -> Result<(), Failure> {
        self.ask(Request::new(Kind::Close).number(instance), |_| Some(()))
    }

    /// Writes bytes into the region.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Failure> {
        self.process.region().write_all_at(bytes, offset).map_err(|error| lost(&error))
    }

    /// Reads bytes from the region.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), Failure> {
        self.process.region().read_exact_at(bytes, offset).map_err(|error| lost(&error))
    }

    fn reserve(&self, end: u64) -> io::Result<()> {
        const PAGES: u64 = 65536;
        let region = self.process.region();
        let end = end.checked_next_multiple_of(PAGES).unwrap_or(u64::MAX);
        if region.metadata()?.len() < end { region.set_len(end) } else { Ok(()) }
    }

    fn ask<T>(&mut self, request: Request, read: impl FnOnce(&mut Answer) -> Option<T>) -> Result<T, Failure> {
        let broken = || Failure::Death(Death::Broken("its answer makes no sense".to_owned()));
        let mut answer = self.process.exchange(request, self.limit, self.attended)?;
        match answer.outcome().ok_or_else(broken)? {
            Ok(Outcome::Success) => read(&mut answer).ok_or_else(broken),
            Ok(failed) => Err(Failure::Function(explained(failed, self.process.refusal()))),
            Err(refused) => Err(Failure::Refused(refused)),
        }
    }
}

/// A failure, which may come of memory that was refused.
fn explained(outcome: Outcome, refusal: Option<Refusal>) -> Outcome {
    let Some(refusal) = refusal else { return outcome };
    match outcome {
        Outcome::Success => Outcome::Success,
        Outcome::Code { code, text } if text.is_empty() => Outcome::Code { code, text: format!("it {refusal}") },
        Outcome::Code { code, text } => Outcome::Code { code, text: format!("{text} (it {refusal})") },
        Outcome::Exception(text) => Outcome::Exception(format!("{text} (it {refusal})")),
    }
}

fn lost(error: &io::Error) -> Failure {
    Failure::Refused(format!("the memory of its process is out of reach: {error}"))
}

impl Request {
    fn signature(self, signature: &Signature<'_>) -> Self {
        let variant = u64::from(signature.variant.dual) | u64::from(signature.variant.old_strings) << 1;
        let request = self.number(variant);
        let request =
            request.list(signature.attributes.values().iter(), |request, (name, value)| request.attribute(name, value));
        let request = request.list(signature.arguments.iter(), |request, (shape, dtype)| {
            let request = request.text(dtype_name(*dtype).to_bytes()).number(shape.len() as u64);
            // A shape of rank 0 can be read for one length.
            let lengths = if shape.is_empty() { &[1] } else { *shape };
            lengths.iter().fold(request, |request, length| request.number(length.cast_unsigned()))
        });
        request.number(signature.outputs.map_or(u64::MAX, |count| count as u64))
    }
}

fn inferred(answer: &mut Answer) -> Option<Inferred> {
    let stated = answer.number()? != 0;
    let name = answer.text()?;
    let shape = match answer.number()?.cast_signed() {
        rank @ 0.. => Some((0..rank).map(|_| answer.number().map(u64::cast_signed)).collect::<Option<_>>()?),
        _ => None,
    };
    Some(Inferred::new(stated.then_some(name.as_bytes()), shape))
}
