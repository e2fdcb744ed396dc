"""Functions of many elements: sums, products, means, extremes."""

from __future__ import annotations

import math

from opforge import _core

from ._operands import only_axis, places

__all__ = ["cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var"]

_UNSIGNED = (_core.uint8, _core.uint16, _core.uint32, _core.uint64)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum along axes, or of all elements: in int64 or uint64 of integers."""
    x = widened("sum", x, dtype)
    return _reduce(_core.sum, x, axis, keepdims, dtype=x.dtype)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product along axes, or of all elements: in int64 or uint64 of integers."""
    x = widened("prod", x, dtype)
    return _reduce(_core.prod, x, axis, keepdims).to(x.dtype)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element along axes, or of all; NaN where one is."""
    return _reduce(_core.amax, x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element along axes, or of all; NaN where one is."""
    return _reduce(_core.amin, x, axis, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean along axes, or of all elements; NaN of none."""
    return _reduce(_core.mean, _floating(x), axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The mean of squared distances from the mean along axes, or of all elements, divided by `correction` less than their number; NaN where that
    is not above 0."""
    x = _floating(x)
    axes = places("var", axis, x.ndim)
    if math.prod(x.shape[one] for one in axes) <= correction:
        return sum(x, axis=axes, keepdims=keepdims) * math.nan
    return _core.var(x, axes, correction=correction, keepdim=keepdims) if axes else x - x


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The root of the variance: see `var`."""
    return _core.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sums of the elements up to each place of an axis; before them 0 with `include_initial=True`."""
    return _scan("cumulative_sum", _core.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The products of the elements up to each place of an axis; before them 1 with `include_initial=True`."""
    return _scan("cumulative_prod", _core.cumprod, 1, x, axis, dtype, include_initial)


def _reduce(operation, x, axis, keepdims, **options):
    axes = places(operation.__name__, axis, x.ndim)
    return operation(x, axes, keepdims, **options) if axes else x.clone()


def _scan(op, operation, initial, x, axis, dtype, include_initial):
    axis = only_axis(op, x, axis)
    x = widened(op, x, dtype)
    scanned = operation(x, axis, dtype=x.dtype)
    if not include_initial:
        return scanned
    shape = [1 if one == axis else length for one, length in enumerate(x.shape)]
    return _core.concat([_core.full(shape, initial, dtype=x.dtype, device=x.device), scanned], axis)


def widened(op, x, dtype):
    """The elements to add up: in `dtype`, or integers in 64 bits. Complex numbers become none that are real, as by `astype`."""
    if dtype is not None and x.dtype.is_complex and not dtype.is_complex and dtype is not _core.bool:
        raise TypeError(f"{op}: dtype {dtype} for x of {x.dtype}, expected a complex dtype or bool; take real(x) or imag(x) first")
    if dtype is None and not (x.dtype.is_floating_point or x.dtype.is_complex):
        dtype = _core.uint64 if x.dtype in _UNSIGNED else _core.int64
    return x if dtype is None else x.to(dtype)


def _floating(x):
    """The elements, as floats where they are integers."""
    return x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(_core.get_default_dtype())
