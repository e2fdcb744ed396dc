"""Functions of each element: of one array, and of two that are broadcast to one shape and promoted to one dtype."""

from __future__ import annotations

from opforge import _core

from . import _complex
from ._operands import promoted

__all__ = ["clip", "positive", "remainder", "sign"]

# Functions of one array by their names here; where opforge's is another, that follows a colon.
_UNARY = """
abs acos acosh asin asinh atan atanh bitwise_invert:bitwise_not ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log1p log2 log10
logical_not negative real reciprocal round signbit sin sinh square sqrt tan tanh trunc
"""

# Functions of two arrays, of which one may be a Python scalar.
_BINARY = """
add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal:eq floor_divide greater greater_equal hypot
less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow subtract
"""


def _unary(operation, of_complex):
    def function(x, /):
        return of_complex(x) if x.dtype.is_complex else operation(x)

    return function


def _binary(operation, of_complex):
    def function(x1, x2, /):
        x1, x2 = promoted(x1, x2)
        return of_complex(x1, x2) if x1.dtype.is_complex else operation(x1, x2)

    return function


def _define(names, form):
    """Makes functions of this module of those in opforge, which their documentation is of."""
    for entry in names.split():
        name, _, other = entry.partition(":")
        operation = getattr(_core, other or name)
        function = form(operation, getattr(_complex, f"{name}_", operation))
        function.__name__ = function.__qualname__ = name
        function.__module__ = __name__
        function.__doc__ = operation.__doc__
        globals()[name] = function
        __all__.append(name)


_define(_UNARY, _unary)
_define(_BINARY, _binary)


def clip(x, /, min=None, max=None):
    """Each element, or the limit that it is beyond; NaN where it or a limit is. Limits are arrays that broadcast with `x`, or numbers."""
    if min is not None:
        x = _core.maximum(*promoted(x, min))
    if max is not None:
        x = _core.minimum(*promoted(x, max))
    return x.clone() if min is None and max is None else x


def positive(x, /):
    """The elements as they are, in memory of their own."""
    return x.clone()


def remainder(x1, x2, /):
    """What remains of `x1` divided by `x2` and rounded down; its sign is that of `x2`, that of 0 too."""
    x1, x2 = promoted(x1, x2)
    rest = _core.remainder(x1, x2)
    return _core.where(rest == 0, _core.copysign(rest, x2), rest) if rest.dtype.is_floating_point else rest


def sign(x, /):
    """-1, 0 or 1 as an element is below, at or above 0, and NaN for NaN; of complex numbers, that of absolute value 1 in the same direction."""
    if x.dtype.is_complex:
        return _complex.sign_(x)
    signs = _core.sign(x)
    return _core.where(_core.isnan(x), x, signs) if x.dtype.is_floating_point else signs
