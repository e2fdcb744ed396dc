//! Leaks: what calls and preparations allocate and do not give back.

use super::case::Case;
use super::probe::Probe;
use super::session::{Poison, Session, Stop, Verdict, stop};
use super::stage::Side;
use crate::isolate::Observe;

/// Calls, or preparations, before anything is measured, and in each of two measurements.
const WARM_UP: u64 = 16;
const CALLS: u64 = 64;

/// The least that counts as growth in a measurement, in bytes: somewhat less than a block of the allocator for each call. What it takes to
/// serve requests, and how blocks are cut, varies by less.
const GROWTH: i64 = 24 * CALLS.cast_signed();

pub(super) fn probe(session: &Session<'_>, case: &Case) -> Verdict {
    let found = match calls(session, case)? {
        Some(bytes) => Some((bytes, "call")),
        None => preparations(session, case)?.map(|bytes| (bytes, "preparation (Init and its kernel data)")),
    };
    Ok(found.map(|(bytes, of)| {
        let each = bytes as f64 / CALLS as f64;
        case.finding(Probe::Leak, format!("{each:.1} bytes of each {of} are never given back"))
    }))
}

/// The least growth in bytes of several measurements, if there is growth in each. What is allocated once is no leak.
fn steady(mut growth: impl FnMut() -> Result<Option<i64>, Stop>) -> Result<Option<i64>, Stop> {
    const MEASUREMENTS: usize = 3;
    let mut least = i64::MAX;
    for _ in 0..MEASUREMENTS {
        match growth()? {
            Some(bytes) if bytes >= GROWTH => least = least.min(bytes),
            _ => return Ok(None),
        }
    }
    Ok(Some(least))
}

fn calls(session: &Session<'_>, case: &Case) -> Result<Option<i64>, Stop> {
    let trial = session.trial(case)?;
    trial.load(Side::End, &session.inputs(case, 0)?, Poison::FIRST)?;
    trial.repeat(WARM_UP)?;
    let growth = |(before, after): (u64, u64)| after.cast_signed() - before.cast_signed();
    steady(|| Ok(trial.repeat(CALLS)?.allocated.map(growth)))
}

fn preparations(session: &Session<'_>, case: &Case) -> Result<Option<i64>, Stop> {
    let prepare = |count: u64| {
        for _ in 0..count {
            session.trial(case)?;
        }
        let nothing = session.lab.clear().and_then(|()| session.lab.run(&[], 1, Observe::Measure));
        let runs = nothing.map_err(|trouble| stop(trouble, case, &[]))?;
        Ok::<_, Stop>(runs.allocated.map(|(_, now)| now))
    };
    prepare(WARM_UP)?;
    let mut before = prepare(CALLS)?;
    steady(|| {
        let now = prepare(CALLS)?;
        let growth = now.zip(before).map(|(now, before)| now.cast_signed() - before.cast_signed());
        before = now;
        Ok(growth)
    })
}
