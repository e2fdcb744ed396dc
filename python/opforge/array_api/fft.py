"""The extension `fft`: Fourier transforms."""

from __future__ import annotations

import opforge.fft as _fft

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip


def _along_one(name):
    operation = getattr(_fft, name)

    def function(x, /, *, n=None, axis=-1, norm="backward"):
        return operation(x, n, axis, norm)

    return function


def _along_many(name):
    operation = getattr(_fft, name)

    def function(x, /, *, s=None, axes=None, norm="backward"):
        if s is not None and axes is None:
            raise ValueError(f"{name}: s without axes, expected both")
        return operation(x, s, axes, norm)

    return function


def _frequencies(name):
    operation = getattr(_fft, name)

    def function(n, /, *, d=1.0, dtype=None, device=None):
        return operation(n, d, dtype=dtype, device=device)

    return function


def _shift(name):
    operation = getattr(_fft, name)

    def function(x, /, *, axes=None):
        return operation(x, axes)

    return function


def _define(form, names):
    for name in names.split():
        function = form(name)
        function.__name__ = function.__qualname__ = name
        function.__module__, function.__doc__ = __name__, getattr(_fft, name).__doc__
        globals()[name] = function


_define(_along_one, "fft hfft ifft ihfft irfft rfft")
_define(_along_many, "fftn ifftn irfftn rfftn")
_define(_frequencies, "fftfreq rfftfreq")
_define(_shift, "fftshift ifftshift")
