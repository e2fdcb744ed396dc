//! State: a result must not depend on what the library was called with before.

use super::case::Case;
use super::compare;
use super::probe::Probe;
use super::session::{Poison, Session, Verdict};
use super::stage::Side;

/// Compares a call in a process that has seen others with the same call in a new one.
pub(super) fn probe(session: &Session<'_>, case: &Case) -> Verdict {
    let inputs = session.inputs(case, 1)?;
    let run = || session.trial(case)?.run(Side::End, &inputs, Poison::FIRST);
    let trial = session.trial(case)?;
    trial.run(Side::End, &session.inputs(case, 0)?, Poison::FIRST)?;
    let used = run()?;
    session.lab.restart();
    let fresh = run()?;
    let found = compare::results(&trial.stage.arguments, &fresh, &used);
    Ok(found.map(|(argument, difference)| {
        let told = difference.tell(argument, "in a new process", "after other calls");
        case.finding(Probe::State, told)
    }))
}
