//! Special functions of f64. Formulas are those of NIST's Digital Library of Mathematical Functions (DLMF), by number.

mod airy;
mod bessel;
mod gamma;
mod incomplete;
mod normal;
#[cfg(test)]
mod tests;

pub(super) use airy::ai;
pub(super) use bessel::{i0, i0_scaled, i1, i1_scaled, k0, k0_scaled, k1, k1_scaled, spherical_j0, y0, y1};
pub(super) use gamma::{derivative_of_psi, psi, zeta};
pub(super) use incomplete::{gamma_p, gamma_q};
pub(super) use normal::{erfc_scaled, inverse_erf, log_normal_cdf, normal_quantile};

/// `coefficients[0] * x^(N-1) + .. + coefficients[N-1]`.
fn horner<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    coefficients.into_iter().fold(0.0, |sum, c| sum * x + c)
}
