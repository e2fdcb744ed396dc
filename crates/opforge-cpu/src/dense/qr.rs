use faer::dyn_stack::{MemStack, StackReq};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply,
};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::{Conj, MatRef, Par};

use super::Failure;
use super::place::matrix;
use super::real::{Real, copied, memory, zeros};

/// `R` and, if wanted, `Q`: reduced or complete, as the rooms' sizes say. Both are NaN if `A` is not finite.
pub(super) fn factor<T: Real>(a: MatRef<'_, T>, q: Option<&mut Vec<T>>, r: &mut [T]) -> Result<(), Failure> {
    let (m, n) = (a.nrows(), a.ncols());
    let size = m.min(n);
    r.fill(T::of(0.0));
    if size == 0 {
        return identity(q, m);
    }
    let r_rows = r.len() / n;
    let mut r = matrix(r, r_rows);
    if !a.is_all_finite() {
        (0..n).for_each(|j| (0..size.min(j + 1)).for_each(|i| r[(i, j)] = T::of(f64::NAN)));
        q.into_iter().for_each(|q| q.fill(T::of(f64::NAN)));
        return Ok(());
    }
    let block = recommended_block_size::<T>(m, n);
    let (mut basis, mut coefficients) = (copied(a)?, zeros(block * size)?);
    let (mut basis, mut coefficients) = (matrix(&mut basis, m), matrix(&mut coefficients, block));
    let columns = q.as_ref().map_or(0, |q| q.len() / m);
    let need = StackReq::any_of(&[
        qr_in_place_scratch::<T>(m, n, block, Par::Seq, Default::default()),
        apply_scratch::<T>(m, block, columns),
    ]);
    let mut room = memory(need)?;
    let stack = MemStack::new(&mut room);
    qr_in_place(basis.as_mut(), coefficients.as_mut(), Par::Seq, stack, Default::default());
    for j in 0..n {
        (0..size.min(j + 1)).for_each(|i| r[(i, j)] = basis[(i, j)]);
    }
    let Some(q) = q else { return Ok(()) };
    identity(Some(q), m)?;
    let reflectors = basis.as_ref().subcols(0, size);
    apply(reflectors, coefficients.as_ref(), Conj::No, matrix(q, m), Par::Seq, MemStack::new(&mut room));
    Ok(())
}

/// The first columns of the identity.
fn identity<T: Real>(q: Option<&mut Vec<T>>, rows: usize) -> Result<(), Failure> {
    let Some(q) = q else { return Ok(()) };
    q.fill(T::of(0.0));
    q.iter_mut().step_by(rows + 1).for_each(|x| *x = T::of(1.0));
    Ok(())
}
