//! What errors say: the operator, its arguments as given, and what it accepts.

use std::borrow::Cow;
use std::fmt;

/// What was wrong with a call: the operator, its arguments as given, and what it accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The operator or function that was called.
    pub op: Cow<'static, str>,
    /// Each offending argument and how it was given.
    pub given: Vec<(Cow<'static, str>, String)>,
    /// What would have been right; may be empty.
    pub accepted: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.op)?;
        for (argument, given) in &self.given {
            write!(f, ", {argument}: {given}")?;
        }
        if !self.accepted.is_empty() {
            write!(f, " (accepted: {})", self.accepted)?;
        }
        Ok(())
    }
}

/// What went wrong with an operator that a user brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomFault {
    /// The operator's name; empty where it is not known yet.
    pub op: String,
    /// The library, or the source file that it is made from.
    pub library: String,
    /// The function in it; empty where the fault is not in one.
    pub function: String,
    /// What happened, as the compiler, the loader or the kernel says it.
    pub message: String,
}

impl fmt::Display for CustomFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CustomFault { op, library, function, message } = self;
        let (space, colon) = (if op.is_empty() { "" } else { " " }, if function.is_empty() { "" } else { ":" });
        write!(f, "custom operator{space}{op} ({library}{colon}{function}): {message}")
    }
}
