//! How workers end before their time.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;

use super::message::Answer;

/// How a worker ended while it carried out a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Death {
    /// By a signal; what is known of it beyond the number, if the worker could still tell.
    Signal(i32, Option<Fault>),
    /// A function of the library ended the process with this status.
    Exit(i32),
    /// It ended so after memory had been refused to it.
    Memory(Refusal, Box<Death>),
    /// The request took longer than this, and the worker was ended.
    Limit(Duration),
    /// The connection broke, or the worker said what cannot be.
    Broken(String),
}

/// What a worker reported of the signal that ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub code: i64,
    pub address: u64,
    pub access: Access,
    pub spot: Spot,
}

/// An allocation that a worker's memory limit did not allow, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    asked: u64,
    limit: usize,
}

impl Refusal {
    /// What the region's report tells of a worker with this limit; 0 is none.
    pub fn read(region: &File, limit: usize) -> Option<Self> {
        const AT: u64 = 8 * size_of::<u64>() as u64;
        let mut bytes = [0; size_of::<u64>()];
        region.read_exact_at(&mut bytes, AT).ok()?;
        let asked = u64::from_ne_bytes(bytes);
        (asked != 0 && limit != 0).then_some(Refusal { asked, limit })
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Refusal { asked, limit } = self;
        write!(f, "asked for {asked} bytes beyond its memory limit of {limit} bytes")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Unknown,
    Read,
    Write,
}

/// What lies at the address of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    Elsewhere,
    /// An argument of an instance; the byte is counted from the argument's first, and is beyond its ends where a guard was touched.
    Argument {
        instance: u64,
        argument: usize,
        byte: i64,
    },
    Stack,
}

/// What an argument of an operator is called, and its size in bytes.
pub(crate) type Arguments<'a> = &'a dyn Fn(usize) -> Option<(String, usize)>;

impl Death {
    pub(super) fn of(status: ExitStatus, region: &File, refusal: Option<Refusal>) -> Self {
        let death = match (status.signal(), status.code()) {
            (Some(signal), _) => Death::Signal(signal, report(region, signal)),
            (_, Some(code)) => Death::Exit(code),
            _ => return Death::Broken(status.to_string()),
        };
        match refusal {
            Some(refusal) => Death::Memory(refusal, Box::new(death)),
            None => death,
        }
    }

    /// What to tell the user; begins with a verb whose subject is what was called.
    pub fn message(&self, arguments: Arguments<'_>) -> String {
        match self {
            Death::Signal(number, fault) => {
                let (name, meaning) = named(*number);
                let what = fault.as_ref().and_then(|fault| fault.message(*number, arguments));
                let what = what.or_else(|| meaning.map(str::to_owned));
                format!("crashed with {name}{}", what.map_or_else(String::new, |what| format!(": {what}")))
            }
            Death::Memory(refusal, death) => format!("{refusal}, and then {}", death.message(arguments)),
            Death::Exit(status) => format!("ended its process with exit status {status}"),
            Death::Limit(limit) => format!("took longer than the limit of {limit:?} and was stopped"),
            Death::Broken(what) => format!("left its process unusable: {what}"),
        }
    }
}

impl Fault {
    fn message(&self, signal: i32, arguments: Arguments<'_>) -> Option<String> {
        const INTEGER_DIVISION: i64 = 1;
        const FIRST_PAGE: u64 = 4096;
        if signal == Signal::FPE.as_raw() {
            return (self.code == INTEGER_DIVISION).then(|| "divided an integer by zero".to_owned());
        }
        if signal != Signal::SEGV.as_raw() && signal != Signal::BUS.as_raw() {
            return None;
        }
        let (did, into) = match self.access {
            Access::Unknown => ("touched memory", "at"),
            Access::Read => ("read", "from"),
            Access::Write => ("wrote", "to"),
        };
        Some(match self.spot {
            Spot::Stack => "overflowed its stack".to_owned(),
            Spot::Argument { argument, byte, .. } => {
                let (name, size) = arguments(argument)?;
                match usize::try_from(byte) {
                    Ok(inside) if inside < size => {
                        format!("{did} {into} {name}, which is read-only, at byte {byte} of {size}")
                    }
                    _ => beside(did, &name, byte, size),
                }
            }
            Spot::Elsewhere if self.code <= 0 || self.address == 0 && self.access == Access::Unknown => return None,
            Spot::Elsewhere if self.address < FIRST_PAGE => {
                format!("{did} {into} a null pointer, at {:#x}", self.address)
            }
            Spot::Elsewhere => format!("{did} {into} address {:#x}, where it has no memory for that", self.address),
        })
    }
}

/// Something done beside an argument.
pub(super) fn beside(did: &str, name: &str, byte: i64, size: usize) -> String {
    if byte < 0 {
        format!("{did} before the start of {name}: at byte {byte}")
    } else {
        format!("{did} past the end of {name}: at byte {byte} of {size}")
    }
}

/// Signals as people know them, and what they mean if nothing else is known.
const SIGNALS: [(Signal, &str, &str); 10] = [
    (Signal::SEGV, "SIGSEGV", "a memory access violation"),
    (Signal::BUS, "SIGBUS", "a memory access violation"),
    (Signal::FPE, "SIGFPE", "an arithmetic error"),
    (Signal::ILL, "SIGILL", "an instruction that this processor does not have, or a trap"),
    (Signal::TRAP, "SIGTRAP", "a trap"),
    (Signal::ABORT, "SIGABRT", "it aborted"),
    (Signal::KILL, "SIGKILL", "something else ended it, perhaps because memory was exhausted"),
    (Signal::TERM, "SIGTERM", "something else ended it"),
    (Signal::PIPE, "SIGPIPE", "a write to a closed pipe"),
    (Signal::SYS, "SIGSYS", "a system call that is not allowed"),
];

fn named(signal: i32) -> (String, Option<&'static str>) {
    match SIGNALS.iter().find(|(known, ..)| known.as_raw() == signal) {
        Some((_, name, meaning)) => ((*name).to_owned(), Some(meaning)),
        None => (format!("signal {signal}"), None),
    }
}

/// The report at the region's start, if it tells of this signal.
fn report(region: &File, signal: i32) -> Option<Fault> {
    const WORDS: usize = 8;
    let mut bytes = [0; size_of::<[u64; WORDS]>()];
    region.read_exact_at(&mut bytes, 0).ok()?;
    let mut words = Answer::new(bytes.to_vec());
    let mut next = || words.number();
    let (reported, code, address, access, place) = (next()?, next()?.cast_signed(), next()?, next()?, next()?);
    let (instance, argument, byte) = (next()?, usize::try_from(next()?).ok()?, next()?.cast_signed());
    if reported != u64::try_from(signal).ok()? {
        return None;
    }
    let access = match access {
        1 => Access::Read,
        2 => Access::Write,
        _ => Access::Unknown,
    };
    let spot = match place {
        1 => Spot::Argument { instance, argument, byte },
        2 => Spot::Stack,
        _ => Spot::Elsewhere,
    };
    Some(Fault { code, address, access, spot })
}
