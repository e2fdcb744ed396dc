//! Looking for defects in an operator: it runs in processes of its own, over shapes and dtypes that follow from its declaration, in memory that
//! tells of wrong accesses.
//!
//! ```text
//! case      the inputs that the operator is tried on
//! lab       the worker, with its arguments' memory (stage)
//!   session the operator in it; each file below is a probe for a kind of defect
//!     memory, threads, leak, state, inference, gradient, reference, sanitize, huge
//! report    what was found
//! ```

mod case;
mod compare;
mod gradient;
mod huge;
mod inference;
mod lab;
mod leak;
mod memory;
mod probe;
mod reference;
mod remote;
mod report;
mod sanitize;
mod session;
mod stage;
mod state;
mod survey;
mod threads;
mod values;

use std::ops::Range;
use std::time::Duration;

use opforge::{DType, Result, Tensor};

use crate::CustomOp;

pub use case::{Case, Input};
pub use probe::Probe;
pub use reference::Reference;
pub use report::{Finding, Report};

/// What to try, and how.
#[derive(Clone)]
pub struct Options {
    /// Sets of shapes, one for each input or one for all; none: shapes of all kinds.
    pub shapes: Vec<Vec<Vec<usize>>>,
    /// Sets of dtypes, one for each input or one for all; none: those that the operator declares, or else float32.
    pub dtypes: Vec<Vec<DType>>,
    /// Of the shapes that are tried where none are given, those of these ranks.
    pub ranks: Option<Vec<usize>>,
    /// The only case to try.
    pub case: Option<usize>,
    /// Of the inputs' elements.
    pub seed: u64,
    /// Of the inputs' elements.
    pub range: Range<f64>,
    /// The limit of a call.
    pub timeout: Duration,
    /// What the operator should compute.
    pub reference: Option<Reference>,
    /// How far a result may be from the reference's, as a part of the largest element; `None` follows the dtype.
    pub tolerance: Option<f64>,
    /// Whether to try more than 2^31 elements too, if there is memory for them.
    pub huge: bool,
    /// Whether to compile the operator once more with the compiler's own checks, and to look what they find.
    pub sanitize: bool,
    /// How the report says that the same is checked again.
    pub command: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            shapes: Vec::new(),
            dtypes: Vec::new(),
            ranks: None,
            case: None,
            seed: 1,
            range: -2.0..2.0,
            timeout: Duration::from_secs(5),
            reference: None,
            tolerance: None,
            huge: false,
            sanitize: false,
            command: None,
        }
    }
}

/// Looks for defects in an operator from a library or source file.
///
/// # Errors
/// For an operator that is a function of tensors; where the number of inputs is not known; for attributes that are missing and options that
/// contradict the declaration. Whatever the operator does is no error, but in the report.
///
/// ```no_run
/// # fn example(add: opforge_custom::CustomOp) -> opforge::Result<()> {
/// use opforge_custom::check::{Options, check};
///
/// let report = check(&add.with_schema("(Tensor x, Tensor y) -> Tensor")?, &Options::default())?;
/// println!("{report}");
/// assert!(report.is_clean());
/// # Ok(())
/// # }
/// ```
pub fn check(op: &CustomOp, options: &Options) -> Result<Report> {
    survey::survey(op, options)
}

/// The cases that an operator is tried on.
pub(crate) fn cases(op: &CustomOp, options: &Options) -> Result<Vec<Case>> {
    case::derive(op, options)
}

/// Inputs for a case.
pub(crate) fn tensors(case: &Case) -> Result<Vec<Tensor>> {
    let Options { range, seed, .. } = Options::default();
    let elements = case.inputs.iter().map(|input| values::random(input.dtype, input.count(), &range, seed));
    case.tensors(&elements.collect::<Result<Vec<_>>>()?)
}
