//! Eigenvalues and eigenvectors.

use faer::diag::DiagMut;
use faer::dyn_stack::MemStack;
use faer::linalg::evd::{ComputeEigenvectors, evd_real, evd_scratch, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{MatRef, Par};
use num_complex::Complex;
use opforge_runtime::alloc::Room;

use super::Failure;
use super::place::matrix;
use super::real::{Real, finite, memory, zeros};

/// Eigenvalues in ascending order and, if wanted, eigenvectors, of the symmetric matrix that one triangle tells.
pub(super) fn symmetric<T: Real>(
    a: MatRef<'_, T>,
    upper: bool,
    values: &mut [T],
    vectors: Option<&mut Room<T>>,
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

/// Eigenvalues and, if wanted, eigenvectors of any square matrix; of two conjugates, one follows the other.
pub(super) fn general<T: Real>(
    a: MatRef<'_, T>,
    values: &mut [Complex<T>],
    vectors: Option<&mut Room<Complex<T>>>,
) -> Result<(), Failure> {
    let n = a.nrows();
    if n == 0 {
        return Ok(());
    }
    finite(a)?;
    let compute = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut room = memory(evd_scratch::<T>(n, ComputeEigenvectors::No, compute, Par::Seq, Default::default()))?;
    let (mut re, mut im) = (zeros(n)?, zeros(n)?);
    let mut columns = zeros(if vectors.is_some() { n * n } else { 0 })?;
    let basis = vectors.is_some().then(|| matrix(&mut columns, n));
    let [of_re, of_im] = [&mut re, &mut im].map(|part| DiagMut::from_slice_mut(part));
    evd_real(a, of_re, of_im, None, basis, Par::Seq, MemStack::new(&mut room), Default::default())
        .map_err(|_| Failure::NotConverged)?;
    values.iter_mut().zip(re.iter().zip(&im[..])).for_each(|(value, (&re, &im))| *value = Complex { re, im });
    if let Some(vectors) = vectors {
        unpack(&columns, &im, vectors);
    }
    Ok(())
}

/// Eigenvectors of length 1 from columns that hold a vector each, or, side by side, the real and the imaginary part of the first of two
/// conjugates.
fn unpack<T: Real>(columns: &[T], im: &[T], vectors: &mut [Complex<T>]) {
    let n = im.len();
    let mut j = 0;
    while j < n {
        let pair = im[j].to_f64() != 0.0 && j + 1 < n;
        let at = |i: usize| (columns[j * n + i].to_f64(), if pair { columns[(j + 1) * n + i].to_f64() } else { 0.0 });
        let length = (0..n).map(at).map(|(re, im)| re * re + im * im).sum::<f64>().sqrt();
        for i in 0..n {
            let (re, im) = at(i);
            let unit = Complex { re: T::of(re / length), im: T::of(im / length) };
            vectors[j * n + i] = unit;
            if pair {
                vectors[(j + 1) * n + i] = Complex { re: unit.re, im: T::of(-im / length) };
            }
        }
        j += if pair { 2 } else { 1 };
    }
}
