//! What matrices are made of in factorisations, and their working memory.

use std::mem::MaybeUninit;

use faer::dyn_stack::StackReq;
use faer::linalg::matmul::matmul;
use faer::traits::ComplexField;
use faer::{Accum, MatMut, MatRef, Par};
use num_complex::Complex;
use opforge_runtime::alloc::{ALIGNMENT, Room};
use opforge_runtime::checkpoint;

use super::product::{self, Update};
use super::triangular::{self, Triangle};
use super::{Failure, eigen, eliminate, small, symmetric};
use crate::loops::work::LOOK;

/// f32, f64 or c128. c64 is computed in c128: factorisations of its own would double their code.
pub(super) trait Number: ComplexField + Copy + Default + Send + Sync + 'static {
    /// f32 or f64.
    type Part: Copy + 'static;
    /// A real number.
    fn of(x: f64) -> Self;
    fn part(x: f64) -> Self::Part;
    /// The parts.
    fn parts(self) -> (f64, f64);
    fn conjugate(self) -> Self;
    /// Eigenvalues and, if wanted, eigenvectors of length 1 of any square matrix of finite numbers that is not empty.
    fn eigen(
        a: MatRef<'_, Self>,
        values: &mut [Complex<f64>],
        vectors: Option<&mut Room<Complex<f64>>>,
    ) -> Result<(), Failure>;

    /// Eigenvalues in ascending order and, if wanted, eigenvectors, of the Hermitian matrix that one triangle tells.
    fn symmetric_eigen(
        a: MatRef<'_, Self>,
        upper: bool,
        values: &mut [Self],
        vectors: Option<&mut Room<Self>>,
    ) -> Result<(), Failure>;

    /// `C = A B` or `C -= A B`. The columns of `C` are contiguous.
    ///
    /// # Errors
    /// No memory.
    fn product(
        c: MatMut<'_, Self>,
        update: Update,
        a: MatRef<'_, Self>,
        b: MatRef<'_, Self>,
    ) -> opforge_core::Result<()>;

    /// Gauss's elimination of a few columns, which are contiguous, as [`small::eliminate`].
    ///
    /// # Errors
    /// No memory.
    fn eliminate_panel(a: MatMut<'_, Self>, pivots: &mut [usize]) -> opforge_core::Result<()>;

    /// As [`small::substitute`], by a triangle of at most [`small::ROWS`] rows.
    fn substitute(a: MatRef<'_, Self>, x: MatMut<'_, Self>, triangle: Triangle);

    fn real(self) -> f64 {
        self.parts().0
    }

    /// The sum of the parts' magnitudes, by which LAPACK chooses pivots.
    fn size(self) -> f64 {
        let (re, im) = self.parts();
        re.abs() + im.abs()
    }

    fn square(self) -> f64 {
        let (re, im) = self.parts();
        re * re + im * im
    }

    fn magnitude(self) -> f64 {
        let (re, im) = self.parts();
        if Self::IS_REAL { re.abs() } else { re.hypot(im) }
    }

    /// The number of magnitude 1, or 0, in its direction; NaN of NaN.
    fn sign(self) -> Self {
        let (re, _) = self.parts();
        match self.magnitude() {
            0.0 => Self::of(0.0),
            _ if Self::IS_REAL => Self::of(re.signum()),
            magnitude => self / Self::of(magnitude),
        }
    }

    fn has_value(self) -> bool {
        let (re, im) = self.parts();
        re.is_finite() && im.is_finite()
    }
}

/// Multiplies elements whose squares would be beyond the range of numbers, or be lost, by a power of two, which is told.
pub(super) fn balance<T: Number>(elements: &mut [T]) -> i32 {
    let most_of = |most: f64, x: &T| most.max(x.parts().0.abs()).max(x.parts().1.abs());
    let largest = elements.iter().fold(0.0, most_of);
    let exponent = if largest > 0.0 { largest.log2() as i32 } else { 0 };
    let plain = if size_of::<T::Part>() == size_of::<f32>() { 30 } else { 250 };
    if exponent.abs() <= plain {
        return 0;
    }
    multiply(elements, -exponent);
    -exponent
}

/// Multiplies by `2^power`.
pub(super) fn multiply<T: Number>(elements: &mut [T], power: i32) {
    if power != 0 {
        let [first, second] = powers(power).map(T::of);
        elements.iter_mut().for_each(|x| *x = *x * first * second);
    }
}

/// Two factors that make `2^power`, of powers up to 2000.
pub(super) fn powers(power: i32) -> [f64; 2] {
    [power / 2, power - power / 2].map(|half| 2f64.powi(half))
}

macro_rules! real {
    ($($t:ident)*) => {$(
        impl Number for $t {
            type Part = $t;
            fn of(x: f64) -> $t {
                x as $t
            }
            fn part(x: f64) -> $t {
                x as $t
            }
            fn parts(self) -> (f64, f64) {
                (self.into(), 0.0)
            }
            fn conjugate(self) -> $t {
                self
            }
            fn eigen(
                a: MatRef<'_, $t>,
                values: &mut [Complex<f64>],
                vectors: Option<&mut Room<Complex<f64>>>,
            ) -> Result<(), Failure> {
                eigen::of_real(a, values, vectors)
            }
            fn symmetric_eigen(
                a: MatRef<'_, $t>,
                upper: bool,
                values: &mut [$t],
                vectors: Option<&mut Room<$t>>,
            ) -> Result<(), Failure> {
                symmetric::eigen(a, upper, values, vectors)
            }
            fn product(c: MatMut<'_, $t>, update: Update, a: MatRef<'_, $t>, b: MatRef<'_, $t>) -> opforge_core::Result<()> {
                product::of_reals(c, update, a, b)
            }
            fn eliminate_panel(a: MatMut<'_, $t>, pivots: &mut [usize]) -> opforge_core::Result<()> {
                eliminate::panel(a, pivots);
                Ok(())
            }
            fn substitute(a: MatRef<'_, $t>, x: MatMut<'_, $t>, triangle: Triangle) {
                triangular::substitute(a, x, triangle)
            }
        }
    )*};
}
real!(f32 f64);

impl Number for Complex<f64> {
    type Part = f64;
    fn of(x: f64) -> Self {
        Complex::new(x, 0.0)
    }
    fn part(x: f64) -> f64 {
        x
    }
    fn parts(self) -> (f64, f64) {
        (self.re, self.im)
    }
    fn conjugate(self) -> Self {
        self.conj()
    }
    fn eigen(a: MatRef<'_, Self>, values: &mut [Self], vectors: Option<&mut Room<Self>>) -> Result<(), Failure> {
        eigen::of_complex(a, values, vectors)
    }
    fn symmetric_eigen(
        a: MatRef<'_, Self>,
        upper: bool,
        values: &mut [Self],
        vectors: Option<&mut Room<Self>>,
    ) -> Result<(), Failure> {
        eigen::of_hermitian(a, upper, values, vectors)
    }
    fn product(
        c: MatMut<'_, Self>,
        update: Update,
        a: MatRef<'_, Self>,
        b: MatRef<'_, Self>,
    ) -> opforge_core::Result<()> {
        let (accumulate, factor) = match update {
            Update::Replace => (Accum::Replace, 1.0),
            Update::Subtract => (Accum::Add, -1.0),
        };
        matmul(c, accumulate, a, b, Self::of(factor), Par::Seq);
        Ok(())
    }
    fn eliminate_panel(mut a: MatMut<'_, Self>, pivots: &mut [usize]) -> opforge_core::Result<()> {
        let mut columns = Room::filled(a.nrows() * a.ncols(), Self::of(0.0))?;
        super::place::copy(a.as_ref(), &mut columns);
        small::eliminate(&mut columns, a.nrows(), pivots);
        a.copy_from(super::place::matrix(&mut columns, a.nrows()));
        Ok(())
    }
    fn substitute(a: MatRef<'_, Self>, x: MatMut<'_, Self>, triangle: Triangle) {
        small::substitute(a, x, triangle);
    }
}

/// Room for `len` numbers, zeros.
pub(super) fn zeros<T: Number>(len: usize) -> Result<Room<T>, Failure> {
    Ok(Room::filled(len, T::of(0.0))?)
}

/// A matrix's elements, column by column.
pub(super) fn copied<T: Number>(a: MatRef<'_, T>) -> Result<Room<T>, Failure> {
    let mut room = zeros(a.nrows() * a.ncols())?;
    super::place::copy(a, &mut room);
    Ok(room)
}

/// Working memory, aligned as all of the allocator's is.
pub(super) fn memory(need: StackReq) -> Result<Room<MaybeUninit<u8>>, Failure> {
    debug_assert!(need.align_bytes() <= ALIGNMENT);
    Ok(Room::filled(need.size_bytes(), MaybeUninit::uninit())?)
}

/// Whether there is neither NaN nor infinity, which the iterations cannot bear.
pub(super) fn is_finite<T: Number>(a: MatRef<'_, T>) -> bool {
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
pub(super) fn finite<T: Number>(a: MatRef<'_, T>) -> Result<(), Failure> {
    if is_finite(a) { Ok(()) } else { Err(Failure::NotFinite) }
}

/// Each number's conjugate in its place; of real ones, themselves.
pub(super) fn conjugate<T: Number>(x: &mut [T]) {
    if !T::IS_REAL {
        x.iter_mut().for_each(|x| *x = x.conjugate());
    }
}
