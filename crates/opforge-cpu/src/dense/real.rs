//! The element types of factorisations, and their working memory.

use std::mem::MaybeUninit;

use faer::MatRef;
use faer::dyn_stack::StackReq;
use faer::traits::RealField;
use opforge_runtime::alloc::{ALIGNMENT, Room};
use opforge_runtime::checkpoint;

use super::Failure;
use crate::loops::work::LOOK;

/// f32 or f64.
pub(super) trait Real: RealField + Copy + Default + Send + Sync + 'static {
    fn of(x: f64) -> Self;
    fn to_f64(self) -> f64;
}

macro_rules! real {
    ($($t:ident)*) => {$(
        impl Real for $t {
            fn of(x: f64) -> $t {
                x as $t
            }
            fn to_f64(self) -> f64 {
                self.into()
            }
        }
    )*};
}
real!(f32 f64);

/// Room for `len` numbers, zeros.
pub(super) fn zeros<T: Real>(len: usize) -> Result<Room<T>, Failure> {
    Ok(Room::filled(len, T::of(0.0))?)
}

/// A matrix's elements, column by column.
pub(super) fn copied<T: Real>(a: MatRef<'_, T>) -> Result<Room<T>, Failure> {
    let mut room = zeros(a.nrows() * a.ncols())?;
    super::place::matrix(&mut room, a.nrows()).copy_from(a);
    Ok(room)
}

/// Working memory, aligned as all of the allocator's is.
pub(super) fn memory(need: StackReq) -> Result<Room<MaybeUninit<u8>>, Failure> {
    debug_assert!(need.align_bytes() <= ALIGNMENT);
    Ok(Room::filled(need.size_bytes(), MaybeUninit::uninit())?)
}

/// Whether there is neither NaN nor infinity, which the iterations cannot bear.
pub(super) fn is_finite<T: Real>(a: MatRef<'_, T>) -> bool {
    let (m, n) = (a.nrows(), a.ncols());
    if m == 0 || n == 0 {
        return true;
    }
    let (rows, columns) = (m.min(LOOK), (LOOK / m).max(1));
    (0..n).step_by(columns).all(|j| {
        (0..m).step_by(rows).all(|i| {
            checkpoint();
            a.submatrix(i, j, rows.min(m - i), columns.min(n - j)).is_all_finite()
        })
    })
}

/// Fails unless the matrix [is finite](is_finite).
pub(super) fn finite<T: Real>(a: MatRef<'_, T>) -> Result<(), Failure> {
    if is_finite(a) { Ok(()) } else { Err(Failure::NotFinite) }
}
