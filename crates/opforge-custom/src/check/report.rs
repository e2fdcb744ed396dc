//! What a check found, and how it is told.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use opforge::Result;

use super::Options;
use super::case::Case;
use super::probe::Probe;
use super::session::{Stop, Verdict};
use crate::CustomOp;

/// A defect, in the first case that shows it.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Its kind.
    pub probe: Probe,
    /// Where it shows.
    pub case: Case,
    /// What happened, and what should have.
    pub message: String,
}

/// The result of a check. Printed, it tells people everything.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was checked.
    pub title: String,
    /// The command that checks the same again.
    pub command: String,
    /// Of the inputs' elements.
    pub seed: u64,
    /// The cases that were tried.
    pub cases: Vec<Case>,
    /// The defects, a finding for every kind and case.
    pub findings: Vec<Finding>,
    /// The cases that the operator refused, with its words. Shapes that were not asked for may be refused.
    pub refused: Vec<(Case, String)>,
    /// Probes that were left out, and why.
    pub skipped: Vec<(Probe, String)>,
    /// How long it took.
    pub duration: Duration,
}

impl Report {
    /// Whether no defect was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// The kinds of defects that were found.
    pub fn defects(&self) -> Vec<Probe> {
        self.by_probe().into_keys().collect()
    }

    pub(super) fn new(op: &CustomOp, options: &Options, cases: Vec<Case>) -> Self {
        Report {
            title: op.title(),
            command: options.command.clone().unwrap_or_else(|| format!("opforge check {}", op.source())),
            seed: options.seed,
            cases,
            findings: Vec::new(),
            refused: Vec::new(),
            skipped: Vec::new(),
            duration: Duration::ZERO,
        }
    }

    /// Takes a verdict about a case; whether there was nothing to find.
    pub(super) fn note(&mut self, case: &Case, verdict: Verdict) -> Result<bool> {
        match verdict {
            Ok(None) => return Ok(true),
            Ok(Some(finding)) | Err(Stop::Defect(finding)) => self.findings.push(finding),
            Err(Stop::Refused(why)) => self.refused.push((case.clone(), why)),
            Err(Stop::Own(error)) => return Err(error),
        }
        Ok(false)
    }

    /// Takes the first refusal for a defect, since everything was refused.
    pub(super) fn refuse_all(&mut self) {
        if let Some((case, why)) = self.refused.first() {
            let message = format!("{why}\nevery case was refused: name shapes and dtypes that the operator takes");
            self.findings.push(case.finding(Probe::Refused, message));
        }
    }

    fn by_probe(&self) -> BTreeMap<Probe, Vec<&Finding>> {
        let mut all: BTreeMap<Probe, Vec<&Finding>> = BTreeMap::new();
        for finding in &self.findings {
            all.entry(finding.probe).or_default().push(finding);
        }
        all
    }

    fn write_defect(&self, f: &mut fmt::Formatter<'_>, findings: &[&Finding]) -> fmt::Result {
        const INDENT: &str = "        ";
        let Some(first) = findings.first() else { return Ok(()) };
        let message = first.message.replace('\n', &format!("\n{INDENT}"));
        writeln!(f, "  FAIL  {}: {message}", first.probe)?;
        writeln!(f, "{INDENT}case {}: {}", first.case.number, first.case)?;
        if findings.len() > 1 {
            let others: Vec<String> = findings[1..].iter().map(|finding| finding.case.number.to_string()).collect();
            writeln!(f, "{INDENT}and in case{} {}", plural(others.len()), others.join(", "))?;
        }
        writeln!(f, "{INDENT}again: {} --case {} --seed {}", self.command, first.case.number, self.seed)
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cases, defects) = (self.cases.len(), self.by_probe());
        writeln!(f, "{}", self.title)?;
        for findings in defects.values() {
            self.write_defect(f, findings)?;
        }
        let skipped = |probe: &Probe| self.skipped.iter().find(|(skipped, _)| skipped == probe);
        let fine = Probe::ALL.into_iter().filter(|probe| !defects.contains_key(probe) && skipped(probe).is_none());
        writeln!(f, "  ok    {}", fine.map(Probe::name).collect::<Vec<_>>().join(", "))?;
        for (probe, why) in self.skipped.iter().filter(|(probe, _)| !defects.contains_key(probe)) {
            writeln!(f, "  -     {probe}: {why}")?;
        }
        if let [(case, why), ..] = &self.refused[..] {
            let count = self.refused.len();
            writeln!(f, "  {count} case{} refused, such as {case}: {why}", plural(count))?;
        }
        let seconds = self.duration.as_secs_f64();
        let verdict = match defects.len() {
            0 => "no defect".to_owned(),
            count => format!("{count} kind{} of defect", plural(count)),
        };
        write!(f, "{verdict} in {cases} case{}, {seconds:.2} s, seed {}", plural(cases), self.seed)
    }
}
