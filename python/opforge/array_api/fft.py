"""The extension `fft`: Fourier transforms."""

from __future__ import annotations

import opforge.fft as _fft

from ._operands import named

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip


def _along_one(name):
    operation = getattr(_fft, name)

    def function(x, /, *, n=None, axis=-1, norm="backward"):
        return operation(x, n, axis, norm)

    return named(function, name, operation)


def _along_many(name):
    operation = getattr(_fft, name)

    def function(x, /, *, s=None, axes=None, norm="backward"):
        if s is not None and axes is None:
            raise ValueError(f"{name}: s without axes, expected both")
        return operation(x, s, axes, norm)

    return named(function, name, operation)


def _frequencies(name):
    operation = getattr(_fft, name)

    def function(n, /, *, d=1.0, dtype=None, device=None):
        return operation(n, d, dtype=dtype, device=device)

    return named(function, name, operation)


def _shift(name):
    operation = getattr(_fft, name)

    def function(x, /, *, axes=None):
        return operation(x, axes)

    return named(function, name, operation)


fft = _along_one("fft")
hfft = _along_one("hfft")
ifft = _along_one("ifft")
ihfft = _along_one("ihfft")
irfft = _along_one("irfft")
rfft = _along_one("rfft")
fftn = _along_many("fftn")
ifftn = _along_many("ifftn")
irfftn = _along_many("irfftn")
rfftn = _along_many("rfftn")
fftfreq = _frequencies("fftfreq")
rfftfreq = _frequencies("rfftfreq")
fftshift = _shift("fftshift")
ifftshift = _shift("ifftshift")
