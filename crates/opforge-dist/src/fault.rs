//! What goes wrong between ranks.

use std::fmt;
use std::time::Duration;

use opforge_core::Error;

/// What went wrong between ranks. It travels as an [`Error`], where [`Fault::of`] finds it; ranks are those of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Two ranks called different things.
    Diverged {
        /// The rank that reports, and its call.
        rank: usize,
        /// What this rank called.
        call: String,
        /// The rank that differs.
        other: usize,
        /// What that rank called.
        other_call: String,
    },
    /// Ranks did not come to a call, or did not go on within it.
    Missing {
        /// The rank that reports.
        rank: usize,
        /// What this rank called.
        call: String,
        /// The ranks that it waited for.
        ranks: Vec<usize>,
        /// How long it waited.
        waited: Duration,
    },
    /// A rank has left the program, panicked, or stopped after an error of its own.
    Left {
        /// The rank that reports.
        rank: usize,
        /// What this rank called.
        call: String,
        /// The rank that left.
        other: usize,
        /// How, and after which error.
        how: String,
    },
    /// This rank has failed earlier, and takes no part in further calls.
    Failed {
        /// The rank that reports.
        rank: usize,
        /// What this rank called.
        call: String,
        /// The earlier error.
        earlier: String,
    },
    /// A rank's code panicked.
    Panicked {
        /// The rank.
        rank: usize,
        /// What the panic said.
        message: String,
    },
    /// A request was not done within the limit that its waiter gave.
    TimedOut {
        /// What was waited for.
        call: String,
        /// How long.
        waited: Duration,
    },
    /// A function of a communication library returned an error.
    Library {
        /// The function.
        function: &'static str,
        /// The library's number of the error's class.
        class: i32,
        /// What the library says.
        message: String,
    },
    /// Ranks that could not be connected.
    Network {
        /// Which, where, and why.
        message: String,
    },
    /// A communication library that is missing or cannot be used.
    Unavailable {
        /// What was looked for, where, and what helps.
        message: String,
    },
}

impl Fault {
    /// The fault in an error, below what was added as context.
    ///
    /// ```
    /// use opforge_dist::Fault;
    ///
    /// let fault = Fault::Unavailable { message: "no MPI".into() };
    /// let error = opforge_core::Error::from(fault.clone()).context("starting");
    /// assert_eq!(Fault::of(&error), Some(&fault));
    /// ```
    pub fn of(error: &Error) -> Option<&Fault> {
        error.root().wrapped()
    }
}

impl From<Fault> for Error {
    #[cold]
    fn from(fault: Fault) -> Self {
        Error::wrap(fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Diverged { rank, call, other, other_call } => {
                write!(f, "ranks differ: rank {rank} called {call}, rank {other} called {other_call}")
            }
            Fault::Missing { rank, call, ranks, waited } => {
                write!(f, "rank {rank} waited {waited:?} in {call} for ")?;
                list(f, ranks)
            }
            Fault::Left { rank, call, other, how } => write!(f, "rank {other} {how}; rank {rank} called {call}"),
            Fault::Failed { rank, call, earlier } => {
                write!(f, "rank {rank} takes no part in {call}: it has failed earlier: {earlier}")
            }
            Fault::Panicked { rank, message } => write!(f, "rank {rank} panicked: {message}"),
            Fault::TimedOut { call, waited } => write!(f, "{call} was not done within {waited:?}"),
            Fault::Library { function, class, message } => write!(f, "{function} failed (class {class}): {message}"),
            Fault::Network { message } | Fault::Unavailable { message } => f.write_str(message),
        }
    }
}

/// "rank 3", "ranks 1, 2".
fn list(f: &mut fmt::Formatter<'_>, ranks: &[usize]) -> fmt::Result {
    let names: Vec<String> = ranks.iter().map(usize::to_string).collect();
    write!(f, "rank{} {}", if ranks.len() == 1 { "" } else { "s" }, names.join(", "))
}
