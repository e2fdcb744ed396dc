//! The operators, a file each, by family; and the one list that names them all.
//!
//! Operators that only gradients call are not in the list: a test (`tests/operators/gradients.rs`) records what the backward passes of the samples
//! dispatch, and holds those operators to what every operator promises.

pub(crate) mod extreme;
pub mod prelude;

use crate::declaration::Definition;

/// Declares the operators' modules, the registry's built-in part, and the functional layer's names from one list. An operator named `x` of the
/// family `f` is the file `ops/f/x.rs`, which holds a function `x` and, by `#[operator]` or `#[unary]`, a constant `DEFINITION`.
macro_rules! catalogue {
    ($($(#[doc = $doc:literal])* $family:ident { $($name:ident),* $(,)? })*) => {
        $($(#[doc = $doc])* pub mod $family { $(pub mod $name;)* })*

        /// Every built-in operator, in the order of the list.
        pub static OPERATORS: &[&Definition] = &[$($(&$family::$name::DEFINITION),*),*];

        /// The operators' functions, all under one roof.
        pub mod functions { $($(pub use super::$family::$name::$name;)*)* }
    };
}

catalogue! {
    /// Tensors from numbers.
    create { arange, full }
    /// One element in, one element out.
    pointwise {
        abs, acos, acosh, add, addcdiv, addcmul, affine, angle, asin, asinh, atan, atan2, atanh, binary_cross_entropy, bitwise_and, bitwise_left_shift, bitwise_or,
        bitwise_right_shift, bitwise_xor, ceil, clamp, copy, copysign, cos, cosh, digamma, div, elu, eq, erf, erfc, erfinv, exp, exp2,
        exp_times, expm1, floor, floor_divide, fmax, fmin, fmod, frac, frexp, gcd, ge, gelu, glu, gt, hardshrink, hardsigmoid, hardswish,
        heaviside, huber_loss, hypot, isfinite, isinf, isnan, isneginf,
        isposinf, lcm, le, leaky_relu, lerp, lgamma, log, log10, log1p, log2, logaddexp, logaddexp2, logical_and, logical_not, logical_or,
        logical_xor, logit, logsigmoid, lt, maximum, minimum, mish, mul, nan_to_num, ne, neg, nextafter, polygamma, pow, prelu, recip, relu,
        remainder, round, rsqrt, sigmoid, sign, signbit, silu, sin, sinc, sinh, softplus, softshrink, softsign, sqr, sqrt, sub, tan, tanh, third_power, threshold, to_device, to_dtype, trunc,
        where_cond, xlogy,
    }
    /// Elements that other tensors name.
    index { argplace, argsort, embedding, gather, index_add, index_get, index_put, index_select, nonzero, scatter, scatter_add, scatter_reduce,
        searchsorted, sort }
    /// Fourier transforms.
    fourier { dft }
    /// Linear algebra: products, factorisations and solutions of systems.
    linalg {
        cdist, cholesky, cholesky_ex, eig, eigh, eigvals, eigvalsh, geqrf, linear, lstsq, lu_factor, lu_permutation, matmul, matrix_exp, pdist, pinv, qr,
        slogdet, solve, solve_triangular, svd, svdvals,
    }
    /// What neural networks are made of.
    nn {
        avg_pool2d, batch_norm, convolution, cross_entropy, grid_sample, group_norm, interpolate, layer_norm, log_softmax, lstm, max_pool2d,
        rms_norm, scaled_dot_product_attention, softmax,
    }
    /// Steps of optimizers: a parameter and its state, changed by a gradient in one pass over memory.
    optim { adam_step, rmsprop_step, sgd_step }
    /// Random numbers.
    random { bernoulli, dropout, poisson, rand, randint, randn }
    /// Many elements in, one out.
    reduce {
        all, amax, amin, any, argmax, argmin, cummax, cummin, cumprod, cumsum, logcumsumexp, mean, mean_square, nansum, norm2, prod, std,
        sum, var,
    }
    /// Functions of mathematical physics and statistics, one element in, one element out.
    special {
        airy_ai, bessel_j0, bessel_j1, bessel_y0, bessel_y1, entr, erfcx, i0, i0e, i1, i1e, igamma, igammac, log_ndtr, modified_bessel_k0,
        modified_bessel_k1, ndtri, scaled_modified_bessel_k0, scaled_modified_bessel_k1, spherical_bessel_j0, xlog1py, zeta,
    }
    /// Views, which change the layout only, and joins.
    shape {
        as_strided, cat, diagonal, expand, extend, flip, narrow, permute, reshape, slice, squeeze, stack, transpose, tril, triu, unfold,
        unsqueeze, window,
    }
}
