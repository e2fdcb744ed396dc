//! The operator compiled once more, with the compiler's own checks: they see what guards do not, within the kernel's own memory.

use std::ffi::OsString;
use std::sync::Arc;

use super::case::Case;
use super::lab::{Lab, Subject, Trouble};
use super::probe::Probe;
use super::report::Finding;
use super::session::{Poison, Session, Stop, Verdict};
use super::stage::Side;
use crate::source::{Sanitizer, needed};

/// The operator with AddressSanitizer and UndefinedBehaviorSanitizer built in, or why that cannot be.
pub(super) fn session<'a>(plain: &Session<'a>) -> Result<Session<'a>, String> {
    let library = plain.given.compiled_with(&[Sanitizer::Address, Sanitizer::Undefined]);
    let library = library.map_err(|error| error.to_string())?.ok_or("it was not compiled here")?;
    let environment = environment(&needed(&library));
    let subject = Subject::of(plain.given, plain.options).map_err(|error| error.to_string())?;
    let lab = Lab::new(Subject { library, environment, ..subject });
    Session::new(plain.given, Arc::new(lab), plain.options).map_err(|trouble| match trouble {
        Trouble::Own(error) => error.to_string(),
        Trouble::Refused(why) => why,
        Trouble::Died(fatality) => fatality.printed,
    })
}

/// AddressSanitizer wants to be loaded before all else. What it finds are errors of memory, not leaks, for which there is another probe.
fn environment(needed: &[String]) -> Vec<(OsString, OsString)> {
    let preloaded: Vec<&str> = needed.iter().map(String::as_str).filter(|name| name.contains("asan")).collect();
    let variables = [
        ("LD_PRELOAD", preloaded.join(" ")),
        ("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=1".to_owned()),
        ("UBSAN_OPTIONS", "print_stacktrace=1".to_owned()),
    ];
    variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// Runs a case once.
pub(super) fn probe(sanitized: &Session<'_>, case: &Case) -> Verdict {
    let run = || sanitized.trial(case)?.run(Side::End, &sanitized.inputs(case, 0)?, Poison::FIRST);
    match run() {
        Err(Stop::Defect(finding)) => Ok(Some(Finding { probe: Probe::Sanitizer, ..finding })),
        other => other.map(|_| None),
    }
}
