"""Functions of sets: an array's different elements. NaN is no other's equal, itself included; 0 and -0 are equal."""

from __future__ import annotations

from typing import NamedTuple

from opforge import _core

from ._operands import comparable, promoted
from .elementwise import equal, not_equal

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    values: _core.Tensor
    indices: _core.Tensor
    inverse_indices: _core.Tensor
    counts: _core.Tensor


class UniqueCounts(NamedTuple):
    values: _core.Tensor
    counts: _core.Tensor


class UniqueInverse(NamedTuple):
    values: _core.Tensor
    inverse_indices: _core.Tensor


def isin(x1, x2, /, *, invert=False):
    """Whether each element of `x1` is one of `x2`; whether it is none with `invert=True`. One of both may be a Python scalar."""
    x1, x2 = promoted("isin", *comparable(x1, x2))
    if not x1.dtype.is_complex:
        return _core.isin(x1, x2, invert=invert)
    found = equal(x1.unsqueeze(-1), x2.reshape(-1)).any(-1)
    return ~found if invert else found


def unique_all(x, /):
    """The different elements in ascending order, the place of the first of each in the flattened array, for each element the place of its value among
    them, and how often each occurs."""
    flat = x.reshape(-1)
    order = _ascending(flat)
    ordered = flat[order]
    is_new = _core.ones(flat.shape, dtype=_core.bool, device=x.device)
    is_new[1:] = not_equal(ordered[1:], ordered[:-1])
    starts = _core.nonzero(is_new).reshape(-1)
    inverse = _core.empty_like(order)
    inverse[order] = _core.cumsum(is_new.to(_core.int64), 0) - 1
    ends = _core.concat([starts[1:], _core.full((1,), len(flat), device=x.device)]) if len(starts) else starts
    return UniqueAll(ordered[starts], order[starts], inverse.reshape(x.shape), ends - starts)


def unique_counts(x, /):
    """The different elements in ascending order, and how often each occurs."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x, /):
    """The different elements in ascending order, and for each element the place of its value among them."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x, /):
    """The different elements in ascending order."""
    return unique_all(x).values


def _ascending(x):
    """The places of a vector's elements in ascending order, equal ones in theirs; complex numbers by their real parts first."""
    if not x.dtype.is_complex:
        return _core.argsort(x, 0, stable=True)
    by_imag = _core.argsort(x.imag, 0, stable=True)
    return by_imag[_core.argsort(x.real[by_imag], 0, stable=True)]
