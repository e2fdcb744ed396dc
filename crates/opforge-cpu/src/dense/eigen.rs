//! Eigenvalues and eigenvectors.

use faer::diag::DiagMut;
use faer::dyn_stack::MemStack;
use faer::linalg::evd::{
    ComputeEigenvectors, evd_cplx, evd_real, evd_scratch, self_adjoint_evd, self_adjoint_evd_scratch,
};
use faer::traits::RealField;
use faer::{MatRef, Par};
use num_complex::Complex;
use opforge_runtime::alloc::Room;

use super::Failure;
use super::number::{Number, balance, copied, finite, memory, multiply, zeros};
use super::place::matrix;

/// As [`Number::symmetric_eigen`], of complex matrices.
pub(super) fn of_hermitian(
    a: MatRef<'_, Complex<f64>>,
    upper: bool,
    values: &mut [Complex<f64>],
    mut vectors: Option<&mut Room<Complex<f64>>>,
) -> Result<(), Failure> {
    let n = a.nrows();
    if n == 0 {
        return Ok(());
    }
    // Transposed, a Hermitian matrix is its conjugate: its vectors are the conjugates of those of the matrix.
    let mut columns = copied(if upper { a.transpose() } else { a })?;
    // As in LAPACK, the diagonal counts as real whatever it holds.
    columns.iter_mut().step_by(n + 1).for_each(|x| *x = Complex::new(x.re, 0.0));
    let lower = MatRef::from_column_major_slice(&columns, n, n);
    if (0..n).any(|j| (j..n).any(|i| !lower.get(i, j).has_value())) {
        return Err(Failure::NotFinite);
    }
    let compute = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut room = memory(self_adjoint_evd_scratch::<Complex<f64>>(n, compute, Par::Seq, Default::default()))?;
    let basis = vectors.as_deref_mut().map(|v| matrix(v, n));
    let (values, stack) = (DiagMut::from_slice_mut(values), MemStack::new(&mut room));
    self_adjoint_evd(lower, values, basis, Par::Seq, stack, Default::default()).map_err(|_| Failure::NotConverged)?;
    if let Some(vectors) = vectors.filter(|_| upper) {
        vectors.iter_mut().for_each(|x| *x = x.conj());
    }
    Ok(())
}

/// Eigenvalues and, if wanted, eigenvectors of any square matrix; of a real one's two conjugates, one follows the other.
pub(super) fn general<T: Number>(
    a: MatRef<'_, T>,
    values: &mut [Complex<f64>],
    vectors: Option<&mut Room<Complex<f64>>>,
) -> Result<(), Failure> {
    let n = a.nrows();
    if n == 0 {
        return Ok(());
    }
    finite(a)?;
    let mut columns = copied(a)?;
    let power = balance(&mut columns);
    T::eigen(MatRef::from_column_major_slice(&columns, n, n), values, vectors)?;
    multiply(values, -power);
    Ok(())
}

/// As [`Number::eigen`], of real matrices.
pub(super) fn of_real<T: Number + RealField>(
    a: MatRef<'_, T>,
    values: &mut [Complex<f64>],
    vectors: Option<&mut Room<Complex<f64>>>,
) -> Result<(), Failure> {
    let n = a.nrows();
    let compute = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut room = memory(evd_scratch::<T>(n, ComputeEigenvectors::No, compute, Par::Seq, Default::default()))?;
    let (mut re, mut im) = (zeros(n)?, zeros(n)?);
    let mut columns = zeros(if vectors.is_some() { n * n } else { 0 })?;
    let basis = vectors.is_some().then(|| matrix(&mut columns, n));
    let [of_re, of_im] = [&mut re, &mut im].map(|part| DiagMut::from_slice_mut(part));
    evd_real(a, of_re, of_im, None, basis, Par::Seq, MemStack::new(&mut room), Default::default())
        .map_err(|_| Failure::NotConverged)?;
    values
        .iter_mut()
        .zip(re.iter().zip(&im[..]))
        .for_each(|(value, (re, im))| *value = Complex::new(re.real(), im.real()));
    if let Some(vectors) = vectors {
        unpack(&columns, &im, vectors);
    }
    Ok(())
}

/// Eigenvectors of length 1 from columns that hold a vector each, or, side by side, the real and the imaginary part of the first of two
/// conjugates.
fn unpack<T: Number>(columns: &[T], im: &[T], vectors: &mut [Complex<f64>]) {
    let n = im.len();
    let mut j = 0;
    while j < n {
        let pair = im[j].real() != 0.0 && j + 1 < n;
        let at = |i: usize| (columns[j * n + i].real(), if pair { columns[(j + 1) * n + i].real() } else { 0.0 });
        let length = (0..n).map(at).map(|(re, im)| re * re + im * im).sum::<f64>().sqrt();
        for i in 0..n {
            let (re, im) = at(i);
            let unit = Complex::new(re, im) / length;
            vectors[j * n + i] = unit;
            if pair {
                vectors[(j + 1) * n + i] = unit.conj();
            }
        }
        j += if pair { 2 } else { 1 };
    }
}

/// As [`Number::eigen`], of complex matrices.
pub(super) fn of_complex(
    a: MatRef<'_, Complex<f64>>,
    values: &mut [Complex<f64>],
    mut vectors: Option<&mut Room<Complex<f64>>>,
) -> Result<(), Failure> {
    let n = a.nrows();
    let compute = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let need = evd_scratch::<Complex<f64>>(n, ComputeEigenvectors::No, compute, Par::Seq, Default::default());
    let mut room = memory(need)?;
    let (values, basis) = (DiagMut::from_slice_mut(values), vectors.as_deref_mut().map(|v| matrix(v, n)));
    evd_cplx(a, values, None, basis, Par::Seq, MemStack::new(&mut room), Default::default())
        .map_err(|_| Failure::NotConverged)?;
    for vector in vectors.into_iter().flat_map(|vectors| vectors.chunks_exact_mut(n)) {
        let length = vector.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
    }
    Ok(())
}
