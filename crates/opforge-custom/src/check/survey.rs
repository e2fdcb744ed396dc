//! The course of a check: which probes see which cases.

use std::sync::Arc;
use std::time::Instant;

use opforge::{Error, Result};

use super::case::{self, Case};
use super::lab::{Lab, Subject};
use super::probe::Probe;
use super::report::Report;
use super::session::{Session, Verdict, stop};
use super::{Options, gradient, huge, inference, leak, memory, reference, sanitize, state, threads};
use crate::CustomOp;

/// A check under way.
struct Survey<'a> {
    session: Session<'a>,
    report: Report,
    /// The cases that nothing was found in.
    passed: Vec<Case>,
}

pub(super) fn survey(op: &CustomOp, options: &Options) -> Result<Report> {
    let start = Instant::now();
    let cases = cases(op, options)?;
    let lab = Arc::new(Lab::new(Subject::of(op, options)?));
    let mut report = Report::new(op, options, cases);
    match Session::new(op, lab, options) {
        Ok(session) => {
            let mut survey = Survey { session, report, passed: Vec::new() };
            survey.run()?;
            report = survey.report;
        }
        Err(trouble) => {
            let first = report.cases[0].clone();
            report.note(&first, Err(stop(trouble, &first, &[])))?;
        }
    }
    report.duration = start.elapsed();
    Ok(report)
}

fn cases(op: &CustomOp, options: &Options) -> Result<Vec<Case>> {
    let all = case::derive(op, options)?;
    let count = all.len();
    let wanted = |case: &Case| options.case.is_none_or(|number| number == case.number);
    let cases: Vec<Case> = all.into_iter().filter(wanted).collect();
    if cases.is_empty() {
        let given = options.case.map_or("none".to_owned(), |number| number.to_string());
        return Err(Error::value(op.name(), "case", given, format!("1 to {count}")));
    }
    Ok(cases)
}

impl Survey<'_> {
    fn run(&mut self) -> Result<()> {
        if self.session.options.reference.is_none() {
            self.report.skipped.push((Probe::Reference, "none was given".to_owned()));
        }
        for case in self.report.cases.clone() {
            let start = Instant::now();
            let verdict = one(&self.session, &case);
            if self.report.note(&case, verdict)? && !huge::is_huge(&case) {
                self.passed.push(case);
            }
            // What takes so long in one case takes as long in others.
            if start.elapsed() >= self.session.options.timeout {
                break;
            }
        }
        if self.passed.is_empty() && self.report.is_clean() {
            self.report.refuse_all();
        }
        self.deeper(Probe::Inference, inference::probe, |case| !case.is_empty() && case.count() <= 64)?;
        self.deeper(Probe::Leak, leak::probe, |case| !case.is_empty() && case.count() <= 4096)?;
        self.deeper(Probe::State, state::probe, |case| !case.is_empty())?;
        self.deeper(Probe::Race, threads::probe, |case| case.count() >= 2048 || case.is_given)?;
        self.deeper(Probe::Gradient, gradient::probe, gradient::suits)?;
        self.sanitize()
    }

    fn sanitize(&mut self) -> Result<()> {
        let sanitized = match self.session.options.sanitize {
            true => sanitize::session(&self.session),
            false => Err("not asked for".to_owned()),
        };
        match sanitized {
            Ok(sanitized) => self
                .passed
                .iter()
                .try_for_each(|case| self.report.note(case, sanitize::probe(&sanitized, case)).map(drop)),
            Err(why) => {
                self.report.skipped.push((Probe::Sanitizer, why));
                Ok(())
            }
        }
    }

    /// Has a probe look at some of the cases in which nothing was found before, the smallest and the largest.
    fn deeper(
        &mut self,
        probe: Probe,
        look: fn(&Session<'_>, &Case) -> Verdict,
        suits: impl Fn(&Case) -> bool,
    ) -> Result<()> {
        if let Some(why) = self.pointless(probe) {
            self.report.skipped.push((probe, why.to_owned()));
            return Ok(());
        }
        let mut cases: Vec<Case> = self.passed.iter().filter(|case| suits(case)).cloned().collect();
        cases.sort_by_key(Case::count);
        if cases.is_empty() {
            self.report.skipped.push((probe, "no case that suits has passed".to_owned()));
        }
        for case in [cases.first(), cases.get(1..).and_then(<[Case]>::last)].into_iter().flatten() {
            let verdict = look(&self.session, case);
            self.report.note(case, verdict)?;
            if let Err(trouble) = self.session.lab.clear() {
                self.report.note(case, Err(stop(trouble, case, &[])))?;
            }
        }
        Ok(())
    }

    /// Why there is no point in a probe.
    fn pointless(&self, probe: Probe) -> Option<&'static str> {
        let unsteady = self.report.defects().contains(&Probe::Nondeterminism);
        match probe {
            Probe::Race | Probe::State if unsteady => Some("equal calls differ anyway"),
            Probe::Inference if !self.session.infers_shapes() => Some("the library infers no shapes"),
            Probe::Gradient if !self.session.op.has_gradient() => Some("no gradient is declared"),
            _ => None,
        }
    }
}

/// One case, looked at by the probes that see all cases.
fn one(session: &Session<'_>, case: &Case) -> Verdict {
    if huge::is_huge(case) {
        return huge::probe(session, case);
    }
    let inputs = session.inputs(case, 0)?;
    let trial = session.trial(case)?;
    let (seen, mut found) = memory::probe(&trial, &inputs)?;
    if found.is_none() {
        found = reference::probe(session, &trial, &inputs, &seen)?;
    }
    session.lab.clear().map_err(|trouble| stop(trouble, case, &trial.stage.arguments))?;
    Ok(found)
}
