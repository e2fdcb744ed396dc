//! The exponential of a matrix.

use faer::MatRef;

use super::Failure;
use super::lu;
use super::number::{Number, copied, is_finite, zeros};
use super::place::matrix;
use super::product::Update;

/// Up to this 1-norm the approximant is exact to rounding in f64, and in f32 all the more (Higham, "The scaling and squaring method for the
/// matrix exponential revisited", 2005).
const NORM: f64 = 5.371920351148152;

/// Approximants of lower degrees, each up to a 1-norm.
const LOWER: [(f64, &[f64]); 3] = [
    (1.495585217958292e-2, &[120.0, 60.0, 12.0, 1.0]),
    (2.539_398_330_063_23e-1, &[30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0]),
    (9.504178996162932e-1, &[17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0]),
];

/// The approximant's coefficients.
const PADE: [f64; 14] = [
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
];

/// By the diagonal Padé approximant of degree 13 of a power of two's part of the matrix, squared as often as it was halved. NaN if the matrix
/// is not finite.
pub(super) fn exp<T: Number>(a: MatRef<'_, T>, result: &mut [T]) -> Result<(), Failure> {
    let n = a.nrows();
    if n == 0 {
        return Ok(());
    }
    let norm = (0..n).map(|j| a.col(j).iter().map(|x| x.magnitude()).sum()).fold(0.0, f64::max);
    if !is_finite(a) || !norm.is_finite() {
        result.fill(T::of(f64::NAN));
        return Ok(());
    }
    if let Some((_, coefficients)) = LOWER.iter().find(|(most, _)| norm <= *most) {
        return of_low_degree(&copied(a)?, n, coefficients, result);
    }
    let halvings = if norm > NORM { (norm / NORM).log2().ceil() as i32 } else { 0 };
    let scale = T::of(0.5f64.powi(halvings));
    let mut scaled = copied(a)?;
    scaled.iter_mut().for_each(|x| *x *= scale);
    pade(&scaled, n, result)?;
    let mut square = zeros(n * n)?;
    for _ in 0..halvings {
        multiply(result, result, n, &mut square)?;
        result.copy_from_slice(&square);
    }
    Ok(())
}

fn multiply<T: Number>(a: &[T], b: &[T], n: usize, product: &mut [T]) -> Result<(), Failure> {
    let of = |x| MatRef::from_column_major_slice(x, n, n);
    Ok(T::product(matrix(product, n), Update::Replace, of(a), of(b))?)
}

/// [`pade`] of degree 3 to 7, of few powers.
fn of_low_degree<T: Number>(a: &[T], n: usize, coefficients: &[f64], result: &mut [T]) -> Result<(), Failure> {
    let len = n * n;
    let (mut square, mut power, mut next) = (zeros(len)?, zeros(len)?, zeros(len)?);
    let (mut odd, mut even) = (zeros(len)?, zeros(len)?);
    multiply(a, a, n, &mut square)?;
    power.copy_from_slice(&square);
    for (sum, first) in [(&mut even, 0), (&mut odd, 1)] {
        sum.iter_mut().step_by(n + 1).for_each(|x| *x = T::of(coefficients[first]));
    }
    for pair in (2..coefficients.len()).step_by(2) {
        let [c0, c1] = [coefficients[pair], coefficients[pair + 1]].map(T::of);
        (0..len).for_each(|i| (even[i], odd[i]) = (even[i] + c0 * power[i], odd[i] + c1 * power[i]));
        if pair + 2 < coefficients.len() {
            multiply(&power, &square, n, &mut next)?;
            std::mem::swap(&mut power, &mut next);
        }
    }
    multiply(a, &odd, n, &mut next)?;
    quotient(&next, &even, n, result)
}

/// `(V - U)^-1 (V + U)`.
fn quotient<T: Number>(odd: &[T], even: &[T], n: usize, result: &mut [T]) -> Result<(), Failure> {
    let (mut less, mut more) = (zeros(n * n)?, zeros(n * n)?);
    (0..n * n).for_each(|i| (less[i], more[i]) = (even[i] - odd[i], even[i] + odd[i]));
    let of = |x| MatRef::from_column_major_slice(x, n, n);
    lu::solve(of(&less), of(&more), result)
}

/// `(V - U)^-1 (V + U)` with `U` the odd and `V` the even powers.
fn pade<T: Number>(a: &[T], n: usize, result: &mut [T]) -> Result<(), Failure> {
    let len = n * n;
    let (mut a2, mut a4, mut a6, mut part, mut odd, mut even) =
        (zeros(len)?, zeros(len)?, zeros(len)?, zeros(len)?, zeros(len)?, zeros(len)?);
    multiply(a, a, n, &mut a2)?;
    multiply(&a2, &a2, n, &mut a4)?;
    multiply(&a4, &a2, n, &mut a6)?;
    // a6 (c[6] a6 + c[4] a4 + c[2] a2) + c[0] a6' + .., the powers 12 to 8 and 6 to 0 of one parity.
    let mut polynomial = |first: usize, to: &mut [T]| -> Result<(), Failure> {
        let c = |power: usize| T::of(PADE[power + first]);
        (0..len).for_each(|i| part[i] = c(12) * a6[i] + c(10) * a4[i] + c(8) * a2[i]);
        multiply(&a6, &part, n, to)?;
        (0..len).for_each(|i| to[i] = to[i] + c(6) * a6[i] + c(4) * a4[i] + c(2) * a2[i]);
        to.iter_mut().step_by(n + 1).for_each(|x| *x += c(0));
        Ok(())
    };
    polynomial(1, result)?;
    polynomial(0, &mut even)?;
    multiply(a, result, n, &mut odd)?;
    quotient(&odd, &even, n, result)
}
