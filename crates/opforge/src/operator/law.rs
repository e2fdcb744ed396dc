//! Algebra: calls whose result is there before they are made.

/// What a call gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// Its input.
    Input,
    /// The input of the call that made its input.
    InputBefore,
}

/// What a function of its own results is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// Something else.
    New,
    /// The same again, as `|(|x|)|`.
    Same,
    /// What it was given, as `-(-x)`.
    Undone,
}
