//! Eigenvalues and eigenvectors of real symmetric matrices, one at a time: reflections to a tridiagonal matrix by faer, whose eigenvectors come by
//! [halves](divide), and are reflected back by products. Small ones of a batch take [`ql`] side by side.

mod divide;
mod leaves;
pub(super) mod ql;
mod secular;
mod values;

use faer::dyn_stack::MemStack;
use faer::linalg::evd::tridiag::{tridiag_in_place, tridiag_in_place_scratch};
use faer::{MatRef, Par};
use opforge_runtime::alloc::Room;

use super::Failure;
use super::number::{Number, copied, memory, multiply, powers, zeros};
use super::place::matrix;
use super::qr::{BLOCK, apply_blocks};
use crate::simd::FloatElem;

/// Eigenvalues in ascending order and, if wanted, eigenvectors, of the matrix that one triangle tells.
pub(super) fn eigen<E: FloatElem + Number>(
    a: MatRef<'_, E>,
    upper: bool,
    values: &mut [E],
    vectors: Option<&mut Room<E>>,
) -> Result<(), Failure> {
    let n = a.nrows();
    if n == 0 {
        return Ok(());
    }
    let mut columns = copied(if upper { a.transpose() } else { a })?;
    let power = scale(&mut columns, n)?;
    let block = BLOCK.min(n - 1).max(1);
    let mut factors = zeros(block * (n - 1))?;
    let mut room = memory(tridiag_in_place_scratch::<E>(n, Par::Seq, Default::default()))?;
    let (stack, factor) = (MemStack::new(&mut room), matrix(&mut factors, block));
    tridiag_in_place(matrix(&mut columns, n), factor, Par::Seq, stack, Default::default());
    let mut diagonal: Room<f64> = Room::collect(columns.iter().step_by(n + 1).map(|x| x.real()))?;
    let mut beside: Room<f64> = Room::filled(n, 0.0)?;
    beside.iter_mut().zip(columns[1..].iter().step_by(n + 1)).for_each(|(to, x)| *to = x.real());
    match vectors {
        None => values::eigenvalues(&mut diagonal, &mut beside)?,
        Some(vectors) => {
            divide::eigenvectors(&mut diagonal, &beside, vectors)?;
            let basis = MatRef::from_column_major_slice(&columns, n, n).submatrix(1, 0, n - 1, n - 1);
            let factors = MatRef::from_column_major_slice(&factors, block, n - 1);
            apply_blocks(basis, factors, matrix(vectors, n).subrows_mut(1, n - 1), false)?;
        }
    }
    let [first, second] = powers(-power);
    values.iter_mut().zip(&diagonal[..]).for_each(|(value, x)| *value = E::of(x * first * second));
    Ok(())
}

/// Multiplies columns one after another by a power of two, so that the largest element of their lower triangle is as [`ql::exponent`] says; that power.
fn scale<E: FloatElem + Number>(columns: &mut [E], n: usize) -> Result<i32, Failure> {
    let mut largest = 0.0;
    for (j, column) in columns.chunks_exact(n).enumerate() {
        largest = column[j..].iter().fold(largest, |most, x| FloatElem::maximum(most, x.real().abs()));
    }
    if !largest.is_finite() {
        return Err(Failure::NotFinite);
    }
    let power = if largest > 0.0 { ql::exponent(size_of::<E>() == 8) - largest.log2().floor() as i32 } else { 0 };
    multiply(columns, power);
    Ok(power)
}
