//! Normalisation: elements less their mean, divided by their standard deviation; and its gradients.
//!
//! Statistics, and sums that gradients of parameters are made of, are f64 for f64 and f32 for all other floats.

use opforge_core::Scalar;

/// What is normalised, or the gradient of that. The first input, `x`, and the first output have one shape and dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Normalize {
    /// `(x - mean) rstd weight + bias` over the last axis, `rstd = 1 / sqrt(variance + eps)`. Inputs: `x`; the weight and the bias, `[n]`, if there are any.
    /// Outputs: the result; mean and rstd, a number a row.
    Rows {
        /// Added to the variance.
        eps: Scalar,
    },
    /// `x rstd weight` over the last axis, `rstd = 1 / sqrt(mean(x^2) + eps)`; otherwise as [`Normalize::Rows`], without bias and mean.
    RootMeanSquare {
        /// Added to the mean square.
        eps: Scalar,
    },
    /// The gradient of [`Normalize::Rows`]. Inputs: `x`; the result's gradient; mean; rstd; the weight if there is one. Outputs: the gradient of `x`; those
    /// of as many parameters as there are further outputs, weight and bias, summed over chunks of rows, `[chunks, n]`.
    RowsGradient,
    /// The gradient of [`Normalize::RootMeanSquare`]: as [`Normalize::RowsGradient`], without mean and bias.
    RootMeanSquareGradient,
    /// `(x - mean) / sqrt(variance + eps) weight + bias` over sets of elements of `x [batch, channels, ..]`. Inputs: `x`; the weight and the bias, a number
    /// a channel, if there are any. Outputs: the result; mean and variance, a number a set.
    Sets {
        /// The sets.
        over: Over,
        /// Added to the variance.
        eps: Scalar,
    },
    /// The gradient of [`Normalize::Sets`]. Inputs: `x`; the result's gradient; mean; variance; the weight if there is one. Outputs: the gradient of `x`;
    /// those of weight and bias, a number a channel, or for groups a number a channel and element of the batch.
    SetsGradient {
        /// The sets.
        over: Over,
        /// Added to the variance.
        eps: Scalar,
    },
    /// `(x - center) scale + shift` of `x [batch, channels, ..]`; the other inputs are a number a channel each.
    Channels,
}

/// Which elements of `[batch, channels, ..]` are normalised together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Over {
    /// Each channel over the whole batch: one mean and variance a channel.
    Batch,
    /// Each of this many groups of channels of each element of the batch: `[batch, groups]` means and variances.
    Groups(usize),
}
