//! The kinds of defects that are looked for.

use std::fmt;

/// A kind of defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Probe {
    /// A function of the library ends its process, or never returns.
    Crash,
    /// Sample inputs are refused: a function returns an error code or throws.
    Refused,
    /// Memory behind the end of an argument is read or written.
    Overrun,
    /// Memory before the start of an argument is read or written.
    Underrun,
    /// An input is written to that was not declared to change.
    InputWrite,
    /// Elements of an output are left as they were; the inferred shape may be too large.
    Unwritten,
    /// Results depend on what workspaces or outputs held before.
    Uninitialised,
    /// The arrays of ranks, lengths and dtypes are changed, which belong to the framework.
    Arrays,
    /// Equal calls have different results.
    Nondeterminism,
    /// Results depend on earlier calls.
    State,
    /// Results are different when several threads call at once.
    Race,
    /// Memory is not given back.
    Leak,
    /// Inference goes wrong for lengths or ranks that are not known, or contradicts itself.
    Inference,
    /// The declared gradient is not that of the results.
    Gradient,
    /// Results are not those of the reference.
    Reference,
    /// A check that the compiler builds in objects.
    Sanitizer,
}

impl Probe {
    /// Every probe, in the order of reports.
    pub const ALL: [Probe; 16] = [
        Probe::Crash,
        Probe::Refused,
        Probe::Overrun,
        Probe::Underrun,
        Probe::InputWrite,
        Probe::Unwritten,
        Probe::Uninitialised,
        Probe::Arrays,
        Probe::Nondeterminism,
        Probe::State,
        Probe::Race,
        Probe::Leak,
        Probe::Inference,
        Probe::Gradient,
        Probe::Reference,
        Probe::Sanitizer,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Probe::Crash => "crash",
            Probe::Refused => "refused",
            Probe::Overrun => "over-run",
            Probe::Underrun => "under-run",
            Probe::InputWrite => "input-write",
            Probe::Unwritten => "unwritten",
            Probe::Uninitialised => "uninitialised",
            Probe::Arrays => "arrays",
            Probe::Nondeterminism => "nondeterminism",
            Probe::State => "state",
            Probe::Race => "race",
            Probe::Leak => "leak",
            Probe::Inference => "inference",
            Probe::Gradient => "gradient",
            Probe::Reference => "reference",
            Probe::Sanitizer => "sanitizer",
        }
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
