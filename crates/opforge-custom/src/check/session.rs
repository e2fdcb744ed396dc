//! An operator under check: its lab, its declaration, and how trouble becomes a finding.

use std::sync::Arc;

use opforge::{DType, Error, Result};

use super::case::{Case, Input};
use super::lab::{Fatality, Lab, Trouble};
use super::probe::Probe;
use super::remote::Remote;
use super::report::Finding;
use super::stage::{Argument, Role, Seen, Side, Stage};
use super::{Options, values};
use crate::CustomOp;
use crate::abi::lengths;
use crate::attribute::Attributes;
use crate::isolate::{Access, Death, Fault, Observe, Runs, Spot};
use crate::runner::Runner;

/// Why a probe did not come to its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// With a finding.
    Defect(Finding),
    /// The operator does not take the case, for this reason.
    Refused(String),
    /// It is not the operator's fault.
    Own(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Own(error)
    }
}

/// What a probe gives: a finding, or nothing to find.
pub(super) type Verdict = Result<Option<Finding>, Stop>;

pub(super) struct Session<'a> {
    pub options: &'a Options,
    pub lab: Arc<Lab>,
    /// The operator as it was given.
    pub given: &'a CustomOp,
    remote: Arc<Remote>,
    /// The operator, which infers in the lab.
    pub op: CustomOp,
    pub attributes: Arc<Attributes>,
}

/// A case ready to be run.
pub(super) struct Trial<'a> {
    session: &'a Session<'a>,
    pub case: &'a Case,
    pub stage: Stage,
}

/// What outputs and workspaces hold before a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Poison {
    pub outputs: u8,
    pub workspaces: u8,
}

impl Poison {
    /// Patterns that are no likely results in any dtype, and whose sums with such are not either.
    pub const PATTERNS: [u8; 2] = [0xa5, 0x5a];
    pub const FIRST: Poison = Poison { outputs: Self::PATTERNS[0], workspaces: Self::PATTERNS[0] };
}

impl Case {
    pub(super) fn finding(&self, probe: Probe, message: impl Into<String>) -> Finding {
        Finding { probe, case: self.clone(), message: message.into() }
    }
}

impl<'a> Session<'a> {
    pub fn new(given: &'a CustomOp, lab: Arc<Lab>, options: &'a Options) -> Result<Self, Trouble> {
        let attributes = given.bound_attributes().map_err(Trouble::Own)?;
        let remote = Arc::new(Remote::new(lab.clone())?);
        let op = given.run_by(remote.clone());
        Ok(Session { options, lab, given, remote, op, attributes })
    }

    /// Whether shapes are asked of the library.
    pub fn infers_shapes(&self) -> bool {
        self.op.asks_for_shapes() && self.remote.infers().shape
    }

    /// The elements of a case's inputs; another `round` has others.
    pub fn inputs(&self, case: &Case, round: u64) -> Result<Vec<Vec<u8>>> {
        let seed = |i: usize| {
            let parts = [self.options.seed, case.number as u64, i as u64, round];
            parts.iter().fold(0u64, |seed, part| (seed ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23))
        };
        let one =
            |(i, input): (usize, &Input)| values::random(input.dtype, input.count(), &self.options.range, seed(i));
        case.inputs.iter().enumerate().map(one).collect()
    }

    /// Shapes and dtypes of the outputs for inputs of these shapes, which may be known in part.
    pub fn infer(&self, case: &Case, shapes: Vec<Vec<i64>>) -> Result<Vec<(Vec<i64>, DType)>, Stop> {
        let inputs: Vec<_> = shapes.into_iter().zip(case.inputs.iter().map(|input| input.dtype)).collect();
        self.op.infer(&inputs, &[]).map_err(|error| match (self.remote.take_trouble(), error) {
            (Some(trouble), _) => stop(trouble, case, &[]),
            (None, Error::CustomOp(fault)) if self.infers_shapes() => {
                Stop::Defect(case.finding(Probe::Inference, fault.message))
            }
            (None, error) => Stop::Own(error),
        })
    }

    /// The case, prepared.
    pub fn trial<'b>(&'b self, case: &'b Case) -> Result<Trial<'b>, Stop> {
        let shapes = case.inputs.iter().map(|input| lengths(&input.shape)).collect();
        let outputs = self.infer(case, shapes)?;
        let argument = |(i, input): (usize, &Input)| {
            let role = if self.op.changes(i) { Role::Changed } else { Role::Input };
            Argument::new(input.name.clone(), role, input.shape.clone(), input.dtype)
        };
        let mut arguments: Vec<Argument> = case.inputs.iter().enumerate().map(argument).collect();
        for (i, (shape, dtype)) in outputs.into_iter().enumerate() {
            let role = self.op.alias(i).map_or(Role::Output, Role::Alias);
            let shape: Option<Vec<usize>> = shape.iter().map(|&n| usize::try_from(n).ok()).collect();
            let Some(shape) = shape else {
                let message = format!("output {i} has no definite shape, although all inputs have");
                return Err(Stop::Defect(case.finding(Probe::Inference, message)));
            };
            arguments.push(Argument::new(format!("output {i}"), role, shape, dtype));
        }
        let stage = self.lab.prepare(&self.attributes, arguments.clone());
        let stage = stage.map_err(|trouble| stop(trouble, case, &arguments))?;
        Ok(Trial { session: self, case, stage })
    }
}

impl Trial<'_> {
    fn stop(&self, trouble: Trouble) -> Stop {
        stop(trouble, self.case, &self.stage.arguments)
    }

    /// Fills the arguments' memory: the inputs with these elements, all else with poison.
    pub fn load(&self, side: Side, inputs: &[Vec<u8>], poison: Poison) -> Result<(), Stop> {
        let contents = |i: usize| {
            let argument = &self.stage.arguments[i];
            match argument.role {
                Role::Input | Role::Changed => inputs[i].clone(),
                Role::Workspace => vec![poison.workspaces; argument.size],
                Role::Output | Role::Alias(_) => vec![poison.outputs; argument.size],
            }
        };
        self.session.lab.load(&self.stage, side, contents).map_err(|trouble| self.stop(trouble))
    }

    /// Fills the arguments' memory with what a run saw.
    pub fn restore(&self, side: Side, seen: &Seen) -> Result<(), Stop> {
        let loaded = self.session.lab.load(&self.stage, side, |i| seen.contents[i].clone());
        loaded.map_err(|trouble| self.stop(trouble))
    }

    /// Runs the operator once on inputs of these elements.
    pub fn run(&self, side: Side, inputs: &[Vec<u8>], poison: Poison) -> Result<Seen, Stop> {
        self.load(side, inputs, poison)?;
        self.repeat(1)?;
        self.look(side)
    }

    /// Runs the operator once on arguments that hold zeros, and at their ends as many bytes of something else; gives the ends.
    pub fn run_on_tails(&self, bytes: usize, poison: Poison) -> Result<Vec<(usize, Vec<u8>)>, Stop> {
        let fill = |role| if role == Role::Output { poison.outputs } else { 1 };
        let lab = &self.session.lab;
        lab.load_tails(&self.stage, bytes, fill).map_err(|trouble| self.stop(trouble))?;
        self.repeat(1)?;
        lab.look_at_tails(&self.stage, bytes).map_err(|trouble| self.stop(trouble))
    }

    /// Runs the operator several times on what the arguments hold.
    pub fn repeat(&self, repeats: u64) -> Result<Runs, Stop> {
        let lab = &self.session.lab;
        let runs = lab.run(&[&self.stage], repeats, Observe::Measure).map_err(|trouble| self.stop(trouble))?;
        if runs.changed_arrays {
            let function = &lab.subject.function;
            let message = format!("{function} changed its ndims, shapes or dtypes, which are the framework's");
            return Err(Stop::Defect(self.case.finding(Probe::Arrays, message)));
        }
        Ok(runs)
    }

    /// What the arguments hold.
    pub fn look(&self, side: Side) -> Result<Seen, Stop> {
        self.session.lab.look(&self.stage, side).map_err(|trouble| self.stop(trouble))
    }
}

/// What trouble with a case means.
pub(super) fn stop(trouble: Trouble, case: &Case, arguments: &[Argument]) -> Stop {
    match trouble {
        Trouble::Own(error) => Stop::Own(error),
        Trouble::Refused(why) if case.is_given => Stop::Defect(case.finding(Probe::Refused, why)),
        Trouble::Refused(why) => Stop::Refused(why),
        Trouble::Died(fatality) => {
            let message = tell(&fatality, arguments);
            Stop::Defect(case.finding(probe_of(&fatality.death, arguments), message))
        }
    }
}

fn probe_of(death: &Death, arguments: &[Argument]) -> Probe {
    let Death::Signal(_, Some(Fault { access, spot: Spot::Argument { argument, byte, .. }, .. })) = death else {
        return Probe::Crash;
    };
    let size = arguments.get(*argument).map_or(0, |argument| argument.size as i64);
    match byte {
        ..0 => Probe::Underrun,
        _ if *byte >= size => Probe::Overrun,
        _ if *access == Access::Read => Probe::Crash,
        _ => Probe::InputWrite,
    }
}

fn tell(fatality: &Fatality, arguments: &[Argument]) -> String {
    const LINES: usize = 8;
    let known = |i: usize| arguments.get(i).map(|argument| (argument.describe(), argument.size));
    let message = format!("{} {}", fatality.function, fatality.death.message(&known));
    let lines = fatality.printed.lines().filter(|line| !line.trim_matches('=').trim().is_empty());
    let printed = lines.take(LINES).map(|line| format!("\n| {line}"));
    std::iter::once(message).chain(printed).collect()
}
