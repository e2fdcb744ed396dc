//! Special functions of f64. Formulas are those of NIST's Digital Library of Mathematical Functions (DLMF), by number.

mod gamma;
mod incomplete;
#[cfg(test)]
mod tests;

pub(super) use gamma::{derivative_of_psi, zeta};
pub(super) use incomplete::{gamma_p, gamma_q};

/// `coefficients[0] * x^(N-1) + .. + coefficients[N-1]`.
fn horner<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    coefficients.into_iter().fold(0.0, |sum, c| sum * x + c)
}
