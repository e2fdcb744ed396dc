//! Factorisations of matrices and what follows from them, one for each of a batch, over memory of any strides: LU, Cholesky, QR, triangular systems and
//! real symmetric eigenvectors by products of our own, faer's algorithms for the rest.
//!
//! The matrices of a batch are shared out to threads, small ones a vector of them at once. A single one's products and triangular systems are
//! shared by parts of the result, so that it does not depend on how many threads there are; faer's algorithms run on one.
//!
//! faer is pure Rust, so there is nothing to install. Of complex matrices, adjoints (`^H`) stand for transposes (`^T`). Vectors of `svd` and `eigh` and
//! rows of `R` have signs of no meaning; samples compare them without signs (`Sample::up_to_sign`).

mod cholesky;
mod eigen;
mod eliminate;
mod exp;
mod kernel;
mod lanes;
mod lu;
mod number;
mod place;
mod product;
mod qr;
mod small;
mod spectral;
mod symmetric;
mod triangular;

use std::sync::{Arc, Mutex, PoisonError};

use num_complex::Complex;
use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;

pub use opforge_tile::forms::Dense;

/// The kernel that computes `what` of every matrix of a batch: dimensions before an input's last two, of `A` and of everything else.
/// Inputs are f32, f64, c64 or c128; outputs that count are integers, [`Dense::Eig`]'s complex, and singular values and eigenvalues of Hermitian
/// matrices real. Strides are free, but outputs may not overlap themselves.
///
/// # Errors
/// Other dtypes, and fewer dimensions than two in `A`. Running fails for a matrix that has no result.
pub fn dense(op: &'static str, what: Dense, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
    let a = inputs[0];
    if a.rank() < 2 {
        return Err(Error::shape(op, "A", format!("{:?}", a.shape()), "matrices"));
    }
    if let Some(other) = inputs.iter().find(|meta| meta.dtype != a.dtype) {
        return Err(Error::dtypes(op, a.dtype, other.dtype));
    }
    if let Some(output) = outputs.iter().find(|meta| meta.layout.may_overlap_itself()) {
        return Err(Error::value(op, "output", format!("{:?}", output.layout), "a layout without overlaps"));
    }
    match a.dtype {
        DType::F32 => lanes::prepare::<f32>(op, what, inputs, outputs)
            .map_or_else(|| kernel::prepare::<f32>(op, what, inputs, outputs), Ok),
        DType::F64 => lanes::prepare::<f64>(op, what, inputs, outputs)
            .map_or_else(|| kernel::prepare::<f64>(op, what, inputs, outputs), Ok),
        DType::C64 => kernel::prepare::<Complex<f32>>(op, what, inputs, outputs),
        DType::C128 => kernel::prepare::<Complex<f64>>(op, what, inputs, outputs),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

/// [`dense`] of f64 with each matrix by itself, which else few and large ones are: what tests compare those side by side with.
///
/// # Errors
/// As [`dense`].
#[doc(hidden)]
pub fn one_by_one(op: &'static str, what: Dense, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
    kernel::prepare::<f64>(op, what, inputs, outputs)
}

/// The first matrix of a batch that has no result, whichever thread comes upon it.
#[derive(Default)]
struct FirstFailure(Mutex<Option<(usize, Failure)>>);

impl FirstFailure {
    fn note(&self, index: usize, failure: Failure) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none_or(|(first, _)| index < first) {
            *known = Some((index, failure));
        }
    }

    fn outcome(self, op: &'static str) -> Result<()> {
        match self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((index, failure)) => Err(failure.error(op, index)),
        }
    }
}

/// Why a matrix has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    NotFinite,
    NotConverged,
    NotPositiveDefinite,
    Singular,
    OutOfMemory { requested: usize, in_use: usize, limit: usize },
}

impl From<Error> for Failure {
    /// What the allocator says: it has one error.
    fn from(error: Error) -> Self {
        match error {
            Error::OutOfMemory { requested, in_use, limit } => Failure::OutOfMemory { requested, in_use, limit },
            _ => Failure::OutOfMemory { requested: 0, in_use: 0, limit: 0 },
        }
    }
}

impl Failure {
    fn error(self, op: &'static str, index: usize) -> Error {
        let (what, accepted) = match self {
            Failure::NotFinite => ("holds NaN or infinity", "finite numbers"),
            Failure::NotConverged => ("the iteration does not converge for", "matrices of a better condition"),
            Failure::NotPositiveDefinite => ("is not positive definite", "positive definite matrices"),
            Failure::Singular => ("is singular", "matrices that have an inverse"),
            Failure::OutOfMemory { requested, in_use, limit } => {
                return Error::OutOfMemory { requested, in_use, limit };
            }
        };
        Error::linalg(op, "A", format!("matrix {index} of the batch, which {what}"), accepted)
    }
}
