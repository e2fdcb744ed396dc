use faer::diag::DiagMut;
use faer::dyn_stack::MemStack;
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{MatRef, Par};

use super::Failure;
use super::place::matrix;
use super::real::{Real, memory};

/// Eigenvalues in ascending order and, if wanted, eigenvectors, of the symmetric matrix that one triangle tells.
pub(super) fn symmetric<T: Real>(
    a: MatRef<'_, T>,
    upper: bool,
    values: &mut [T],
    vectors: Option<&mut Vec<T>>,
) -> Result<(), Failure> {
    let n = a.nrows();
    if n == 0 {
        return Ok(());
    }
    let lower = if upper { a.transpose() } else { a };
    if (0..n).any(|j| (j..n).any(|i| !lower.get(i, j).to_f64().is_finite())) {
        return Err(Failure::NotFinite);
    }
    let compute = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut room = memory(self_adjoint_evd_scratch::<T>(n, compute, Par::Seq, Default::default()))?;
    let (values, vectors) = (DiagMut::from_slice_mut(values), vectors.map(|v| matrix(v, n)));
    self_adjoint_evd(lower, values, vectors, Par::Seq, MemStack::new(&mut room), Default::default())
        .map_err(|_| Failure::NotConverged)
}
