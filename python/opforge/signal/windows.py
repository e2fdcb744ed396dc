"""Windows for spectra: `M` weights of float64 precision, in the default dtype unless another floating point one is given.

A window is symmetric, or, with `sym=False`, the first `M` weights of the symmetric one with a weight more, which continues periodically.
"""

from __future__ import annotations

import math

from .. import _core as _C

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip


def _window(name, M, sym, weights, dtype, device, requires_grad):
    """`weights(k, last)` of the places `k` from 0 to M - 1, where `last` is the place of the last weight of the symmetric window."""
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    dtype = dtype or _C.get_default_dtype()
    if dtype not in (_C.float32, _C.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    places = _C.arange(M, dtype=_C.float64, device=device)
    values = weights(places, M - 1 if sym else M) if M > 1 else _C.ones_like(places)
    return values.to(dtype).requires_grad_(requires_grad)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """`exp(-|k - center| / tau)`; the center is the middle unless the window is not `sym`."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    weights = lambda k, last: (-(k - (last / 2 if center is None else center)).abs() / tau).exp()  # noqa: E731
    return _window("exponential", M, sym, weights, dtype, device, requires_grad)


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Half a wave: `sin(π (k + 1/2) / N)` of `N` weights."""
    weights = lambda k, last: ((k + 0.5) * (math.pi / (last + 1))).sin()  # noqa: E731
    return _window("cosine", M, sym, weights, dtype, device, requires_grad)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """`exp(-((k - middle) / std)² / 2)`."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    weights = lambda k, last: (-0.5 * ((k - last / 2) / std).square()).exp()  # noqa: E731
    return _window("gaussian", M, sym, weights, dtype, device, requires_grad)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Kaiser's window: `I0(beta sqrt(1 - (2 k / last - 1)²)) / I0(beta)`."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def weights(k, last):
        height = (1 - (2 * k / last - 1).square()).clamp(min=0).sqrt()
        # Scaled by exp(-beta) on both sides of the quotient, which would overflow otherwise.
        return _C.special.i0e(beta * height) * (beta * (height - 1)).exp() / _C.special.i0e(_C.tensor(beta, dtype=_C.float64))

    return _window("kaiser", M, sym, weights, dtype, device, requires_grad)


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """A triangle from 0 to 1 and back."""
    weights = lambda k, last: 1 - (2 * k / last - 1).abs()  # noqa: E731
    return _window("bartlett", M, sym, weights, dtype, device, requires_grad)


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The sum of cosines with these coefficients, whose signs alternate: `Σ (-1)^i a[i] cos(2 π i k / last)`."""
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")

    def weights(k, last):
        return sum((-1) ** i * coefficient * (k * (math.tau * i / last)).cos() for i, coefficient in enumerate(a))

    return _window("general_cosine", M, sym, weights, dtype, device, requires_grad)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """`alpha - (1 - alpha) cos(2 π k / last)`."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def hamming(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Hamming's window: `0.54 - 0.46 cos(2 π k / last)`."""
    return general_hamming(M, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Hann's window: `(1 - cos(2 π k / last)) / 2`."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Blackman's window: three cosines that nearly cancel at the ends."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """Nuttall's window of four cosines, with the least side lobes."""
    a = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=a, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)
