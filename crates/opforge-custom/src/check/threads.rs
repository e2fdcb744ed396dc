//! Races: several threads call the operator at once, each with inputs of its own, and must find what they find alone.

use std::time::{Duration, Instant};

use super::case::Case;
use super::compare;
use super::probe::Probe;
use super::session::{Poison, Session, Stop, Trial, Verdict, stop};
use super::stage::{Role, Side, Stage};
use crate::isolate::Observe;

const THREADS: u64 = 4;

/// How long a thread alone takes for a round at least, and how long and how many all rounds are at least, if nothing is found.
const ROUND: Duration = Duration::from_millis(2);
const ALL: Duration = Duration::from_millis(120);
const ROUNDS: usize = 12;

/// The most calls of a thread in a round.
const MOST: u64 = 4096;

pub(super) fn probe(session: &Session<'_>, case: &Case) -> Verdict {
    let mut trials = Vec::new();
    for thread in 0..THREADS {
        trials.push((session.trial(case)?, session.inputs(case, thread)?));
    }
    let repeats = calibrate(&trials[0].0, &trials[0].1)?;
    // What changes its inputs has other results each time.
    let is_steady = trials[0].0.stage.arguments.iter().all(|argument| argument.role != Role::Changed);
    let (observe, calls) = if is_steady { (Observe::Steady, 1) } else { (Observe::Nothing, repeats) };
    let mut alone = Vec::new();
    for (trial, inputs) in &trials {
        trial.load(Side::End, inputs, Poison::FIRST)?;
        trial.repeat(calls)?;
        alone.push(trial.look(Side::End)?);
    }
    let stages: Vec<&Stage> = trials.iter().map(|(trial, _)| &trial.stage).collect();
    let start = Instant::now();
    for _ in (0..).take_while(|round| *round < ROUNDS || start.elapsed() < ALL) {
        for ((trial, inputs), alone) in trials.iter().zip(&alone) {
            if is_steady { trial.restore(Side::End, alone)? } else { trial.load(Side::End, inputs, Poison::FIRST)? }
        }
        let together = session.lab.run(&stages, repeats, observe);
        together.map_err(|trouble| stop(trouble, case, &stages[0].arguments))?;
        for ((trial, _), alone) in trials.iter().zip(&alone) {
            let together = trial.look(Side::End)?;
            if let Some((argument, difference)) = compare::results(&trial.stage.arguments, alone, &together) {
                let told = difference.tell(argument, "alone", "beside other threads");
                return Ok(Some(case.finding(Probe::Race, told)));
            }
        }
    }
    Ok(None)
}

/// How often to call the operator in a round.
fn calibrate(trial: &Trial<'_>, inputs: &[Vec<u8>]) -> Result<u64, Stop> {
    let mut repeats = 1;
    loop {
        trial.load(Side::End, inputs, Poison::FIRST)?;
        let start = Instant::now();
        trial.repeat(repeats)?;
        if start.elapsed() >= ROUND || repeats >= MOST {
            return Ok(repeats);
        }
        repeats *= 4;
    }
}
