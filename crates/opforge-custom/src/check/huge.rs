//! More elements than 32 bits count: indices that overflow crash, or leave the end of the outputs unwritten.

use std::sync::Arc;
use std::time::Duration;

use super::case::{Case, Input};
use super::lab::{Lab, Subject, Trouble};
use super::probe::Probe;
use super::session::{Poison, Session, Stop, Verdict, stop};

/// Of each input.
const ELEMENTS: usize = (1 << 31) + 4096;

/// The least limit of a call.
const LIMIT: Duration = Duration::from_secs(180);

/// What is looked at of each argument, in bytes: its end.
const TAIL: usize = 4096;

/// The case, of the dtypes that take the least memory.
pub(super) fn case(cases: &[Case]) -> Option<Case> {
    let size = |case: &&Case| case.inputs.iter().map(|input| input.dtype.size_in_bytes()).sum::<usize>();
    let least = cases.iter().min_by_key(size)?;
    let large = |input: &Input| Input { shape: vec![ELEMENTS], ..input.clone() };
    Some(Case { number: cases.len() + 1, inputs: least.inputs.iter().map(large).collect(), is_given: false })
}

/// Whether a case is one of these.
pub(super) fn is_huge(case: &Case) -> bool {
    case.count() >= ELEMENTS
}

/// Runs the case once, all inputs zero but for their ends. Memory that is not there refuses it.
pub(super) fn probe(plain: &Session<'_>, case: &Case) -> Verdict {
    let subject = Subject::of(plain.given, plain.options)?;
    let limit = plain.options.timeout.max(LIMIT);
    let lab = Arc::new(Lab::new(Subject { limit, ..subject }));
    let stop = |trouble: Trouble| stop(trouble, case, &[]);
    let session = Session::new(plain.given, lab, plain.options).map_err(stop)?;
    let trial = session.trial(case)?;
    let needed: usize = trial.stage.arguments.iter().map(|argument| argument.size).sum();
    if available().is_some_and(|available| available < needed + needed / 8) {
        return Err(Stop::Refused(format!("takes {:.1} GB of memory, which are not there", needed as f64 / 1e9)));
    }
    let tails = trial.run_on_tails(TAIL, Poison::FIRST)?;
    let left = |(i, tail): &(usize, Vec<u8>)| {
        trial.stage.arguments[*i].is_result() && tail.ends_with(&[Poison::FIRST.outputs; 8])
    };
    Ok(tails.iter().find(|tail| left(tail)).map(|(i, _)| {
        let output = trial.stage.arguments[*i].describe();
        case.finding(Probe::Unwritten, format!("the end of {output} is never written: do indices overflow?"))
    }))
}

/// Memory that can be had, in bytes, if that is known.
fn available() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<usize>().ok()?.checked_mul(1024)
}
