//! What a run does to memory: the operator runs with guards at either end, over different poison, and again and again.

use super::compare::{self, Difference};
use super::probe::Probe;
use super::report::Finding;
use super::session::{Poison, Stop, Trial};
use super::stage::{Role, Seen, Side};

/// How often equal runs are compared.
const REPEATS: usize = 3;

/// Looks for all defects of this kind; gives what the first run saw.
pub(super) fn probe(trial: &Trial<'_>, inputs: &[Vec<u8>]) -> Result<(Seen, Option<Finding>), Stop> {
    let run = |side, outputs: usize, workspaces: usize| {
        let poison = Poison { outputs: Poison::PATTERNS[outputs], workspaces: Poison::PATTERNS[workspaces] };
        trial.run(side, inputs, poison)
    };
    let seen = run(Side::End, 0, 0)?;
    let beside = |seen: &Seen| seen.damage.map(|damage| trial.case.finding(beside(damage), tell(trial, damage)));
    let mut found = beside(&seen).or(beside(&run(Side::Start, 0, 0)?));
    for _ in 0..REPEATS {
        found = found.or(nondeterminism(trial, &seen, &run(Side::End, 0, 0)?));
    }
    if found.is_none() {
        found = unwritten(trial, &seen, &run(Side::End, 1, 0)?);
    }
    let has_workspaces = trial.stage.arguments.iter().any(|argument| argument.role == Role::Workspace);
    if found.is_none() && has_workspaces {
        found = uninitialised(trial, &seen, &run(Side::End, 0, 1)?);
    }
    Ok((seen, found))
}

fn beside((_, byte): (usize, i64)) -> Probe {
    if byte < 0 { Probe::Underrun } else { Probe::Overrun }
}

fn tell(trial: &Trial<'_>, (argument, byte): (usize, i64)) -> String {
    let argument = &trial.stage.arguments[argument];
    match byte {
        ..0 => format!("wrote {} bytes before the start of {}", -byte, argument.describe()),
        _ => format!("wrote past the end of {}: at byte {byte} of {}", argument.describe(), argument.size),
    }
}

fn nondeterminism(trial: &Trial<'_>, first: &Seen, second: &Seen) -> Option<Finding> {
    let (argument, difference) = compare::results(&trial.stage.arguments, first, second)?;
    let message = format!("two equal calls: {}", difference.tell(argument, "at first", "then"));
    Some(trial.case.finding(Probe::Nondeterminism, message))
}

/// Compares runs whose outputs held different things before.
fn unwritten(trial: &Trial<'_>, first: &Seen, second: &Seen) -> Option<Finding> {
    let (argument, difference) = compare::results(&trial.stage.arguments, first, second)?;
    let is_poison = |bytes: &[u8], pattern: u8| bytes.iter().all(|byte| *byte == pattern);
    let is_left =
        is_poison(&difference.first, Poison::PATTERNS[0]) && is_poison(&difference.second, Poison::PATTERNS[1]);
    if !is_left {
        let message = format!("depends on what its output held before: {}", difference.tell(argument, "once", "then"));
        return Some(trial.case.finding(Probe::Uninitialised, message));
    }
    let Difference { count, total, .. } = difference;
    let place = difference.place(argument);
    let message = format!("{place} is never written ({count} of {total} elements); is the output's shape too large?");
    Some(trial.case.finding(Probe::Unwritten, message))
}

/// Compares runs whose workspaces held different things before.
fn uninitialised(trial: &Trial<'_>, first: &Seen, second: &Seen) -> Option<Finding> {
    let (argument, difference) = compare::results(&trial.stage.arguments, first, second)?;
    let told = difference.tell(argument, "over one pattern", "over another");
    let message = format!("depends on what a workspace held before, which may be anything: {told}");
    Some(trial.case.finding(Probe::Uninitialised, message))
}
