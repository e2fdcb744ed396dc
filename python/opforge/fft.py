"""Fourier transforms: the functions of `opforge.fft`."""

from ._core import fft as _functions

globals().update({name: value for name, value in vars(_functions).items() if not name.startswith("_")})
