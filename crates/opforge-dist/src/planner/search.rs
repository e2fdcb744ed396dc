//! The search: from what people choose by hand, one tensor or two of them at a time, as long as that gets better.

use std::collections::HashMap;

use opforge_core::{Error, Result};

use super::ledger::Spent;
use super::space::{Choice, Lies};
use super::usual::usual;
use super::{Simulation, Space};
use crate::Sbp;

/// Programs that are tried at most.
const MOST: usize = 3000;
/// How far apart, in the order of variables, two of them are that change together: weights that follow each other are split so that what lies between needs no boxing.
const NEAR: usize = 3;

/// How all variables lie, and what the program spends then.
#[derive(Debug, Clone)]
pub struct Planned {
    /// Of each variable.
    pub lies: Vec<Lies>,
    /// By the busiest device.
    pub spent: Spent,
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The best of all that were tried.
    pub best: Planned,
    /// The usual ways, by name.
    pub usual: Vec<(&'static str, Planned)>,
    /// How many programs were tried.
    pub tried: usize,
}

/// Finds how a space's variables should lie for a program to take little time, and no more memory than the machine has. `evaluate` runs the program
/// in the simulation with the variables laid out in these ways, [lays](super::lay) its activations out likewise, and takes what was spent.
///
/// The same program on the same machine gives the same plan: every rank may search for itself.
///
/// # Errors
/// The program's, if it fails with every one of the [usual](Found::usual) ways; no way among those tried that fits into memory.
pub fn search(simulation: &Simulation, space: &Space, evaluate: impl FnMut(&[Lies]) -> Result<Spent>) -> Result<Found> {
    let mut search =
        Search { space, memory: simulation.machine().memory, evaluate, known: HashMap::new(), failure: None };
    simulation.uses();
    search.score(&space.whole());
    let ways = usual(space, &simulation.uses());
    let scored: Vec<_> = ways.iter().filter_map(|(_, choice)| Some((search.score(choice)?, choice.clone()))).collect();
    let first = scored.into_iter().min_by(|(a, _), (b, _)| a.order(b));
    let Some((score, choice)) = first else {
        let none = || Error::value("plan", "program", "none that was tried", "one that runs");
        return Err(search.failure.unwrap_or_else(none));
    };
    let (score, choice) = search.descend(score, choice);
    if score.excess > 0 {
        let (needed, most) = (score.spent.memory, score.spent.memory - score.excess);
        return Err(Error::value(
            "plan",
            "memory",
            format!("{needed} bytes at least"),
            format!("{most} bytes a device"),
        ));
    }
    let usual = ways.into_iter().filter_map(|(name, lies)| {
        let score = (*search.known.get(&lies)?)?;
        Some((name, Planned { lies, spent: score.spent }))
    });
    Ok(Found { usual: usual.collect(), best: Planned { lies: choice, spent: score.spent }, tried: search.known.len() })
}

/// Variables, each with how it is to lie along a dimension of the mesh.
type Change = Vec<(usize, Option<Sbp>)>;

/// How good a choice is: first by the memory that it lacks, then by time, then by memory.
#[derive(Clone, Copy)]
struct Score {
    excess: usize,
    spent: Spent,
}

impl Score {
    fn order(&self, other: &Score) -> std::cmp::Ordering {
        let by_time = || self.spent.seconds().total_cmp(&other.spent.seconds());
        let by_memory = || self.spent.memory.cmp(&other.spent.memory);
        self.excess.cmp(&other.excess).then_with(by_time).then_with(by_memory)
    }

    fn is_better(&self, other: &Score) -> bool {
        self.order(other).is_lt()
    }
}

struct Search<'a, F> {
    space: &'a Space,
    memory: Option<usize>,
    evaluate: F,
    /// What was tried; `None` for what fails.
    known: HashMap<Choice, Option<Score>>,
    failure: Option<Error>,
}

impl<F: FnMut(&[Lies]) -> Result<Spent>> Search<'_, F> {
    fn score(&mut self, choice: &Choice) -> Option<Score> {
        if let Some(known) = self.known.get(choice) {
            return *known;
        }
        let score = match (self.evaluate)(choice) {
            Ok(spent) => Some(Score { excess: self.memory.map_or(0, |most| spent.memory.saturating_sub(most)), spent }),
            Err(error) => {
                self.failure = Some(error);
                None
            }
        };
        self.known.insert(choice.clone(), score);
        score
    }

    /// Changes one variable at a time; where none helps, two; until nothing helps.
    fn descend(&mut self, mut score: Score, mut choice: Choice) -> (Score, Choice) {
        while self.known.len() < MOST {
            let better =
                self.improved(&score, &choice, Self::single).or_else(|| self.improved(&score, &choice, Self::double));
            let Some(better) = better else { break };
            (score, choice) = better;
        }
        (score, choice)
    }

    /// The result of one round of changes, each taken that helps.
    fn improved(
        &mut self,
        score: &Score,
        choice: &Choice,
        changes: fn(&Self, usize) -> Vec<Change>,
    ) -> Option<(Score, Choice)> {
        let (mut best, mut found) = (*score, None::<Choice>);
        for variable in 0..choice.len() {
            for dim in 0..self.space.dims() {
                for change in changes(self, variable) {
                    if self.known.len() >= MOST {
                        break;
                    }
                    let mut next = found.as_ref().unwrap_or(choice).clone();
                    change.iter().for_each(|&(variable, sbp)| next[variable][dim] = sbp);
                    if !change.iter().all(|&(variable, _)| self.space.takes(variable, &next[variable])) {
                        continue;
                    }
                    if let Some(score) = self.score(&next).filter(|score| score.is_better(&best)) {
                        (best, found) = (score, Some(next));
                    }
                }
            }
        }
        found.map(|found| (best, found))
    }

    fn single(&self, variable: usize) -> Vec<Change> {
        self.space.values(variable).map(|sbp| vec![(variable, sbp)]).collect()
    }

    fn double(&self, variable: usize) -> Vec<Change> {
        let others = variable + 1..(variable + 1 + NEAR).min(self.space.variables().len());
        let pairs = others.flat_map(|other| {
            let values = self.space.values(variable);
            values.flat_map(move |first| {
                self.space.values(other).map(move |second| vec![(variable, first), (other, second)])
            })
        });
        pairs.collect()
    }
}
