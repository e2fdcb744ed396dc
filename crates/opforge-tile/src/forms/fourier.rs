//! Fourier transforms.

use opforge_core::Scalar;
use opforge_macros::Attributes;

/// Between what a transform leads. Complex numbers are pairs of their parts, in a last dimension of 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Spectrum {
    /// From `n` complex numbers to as many.
    Complex {
        /// Whether the exponent is positive, as that of inverse transforms.
        inverse: bool,
    },
    /// From `n` real numbers to the first `n / 2 + 1` of the complex ones.
    OfReal,
    /// From `n` real numbers to all of the complex ones.
    OfRealToAll,
    /// From the first `n / 2 + 1` of `n` complex numbers, the others being conjugates of these, to `n` real ones, with a positive exponent. The
    /// imaginary parts of the first number, and for even `n` of the last, count as 0.
    ToReal {
        /// Whether `n` is odd.
        odd: bool,
    },
}

impl Spectrum {
    /// Whether it leads from real numbers.
    pub fn is_of_real(self) -> bool {
        matches!(self, Spectrum::OfReal | Spectrum::OfRealToAll)
    }
}

/// Discrete Fourier transforms of lines: `out[k]` is the sum of `factor x[j] e^(-2 pi i j k / n)`, `j` and `k` along the last axis before the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fourier {
    /// Between what.
    pub spectrum: Spectrum,
    /// What the sum is multiplied by.
    pub factor: Scalar,
}
