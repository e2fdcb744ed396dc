"""Functions that look for elements."""

from __future__ import annotations

from opforge import _core

from ._operands import comparable, place, places, promoted, whole
from .indexing import take

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]


def argmax(x, /, *, axis=None, keepdims=False):
    """The place of the first largest element along an axis, or in the flattened array."""
    return _extreme(_core.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The place of the first smallest element along an axis, or in the flattened array."""
    return _extreme(_core.argmin, x, axis, keepdims)


def _extreme(search, x, axis, keepdims):
    if axis is None:
        found = search(x.reshape(-1), 0)
        return found.reshape([1] * x.ndim) if keepdims else found
    return search(x, place(search.__name__, axis, x.ndim), keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements along axes, or in all, are not 0."""
    axes = places("count_nonzero", axis, x.ndim)
    counted = x.to(_core.bool).to(_core.int64)
    return _core.sum(counted, axes, keepdims) if axes else counted


def nonzero(x, /):
    """The places of elements that are not 0, in their order: a vector of places for each axis."""
    if x.ndim == 0:
        raise ValueError("nonzero: x without axes, expected at least one")
    return tuple(_core.nonzero(x.to(_core.bool), as_tuple=True))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where in the sorted vector `x1` the elements of `x2` belong: before those that are equal, or behind them with `side='right'`. `sorter` has the
    places of `x1` in ascending order where it is not sorted."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side {side!r}, expected 'left' or 'right'")
    x1, x2 = promoted("searchsorted", *comparable(x1, x2))
    if sorter is not None:
        x1 = take(x1, whole("searchsorted", "sorter", sorter))
    return _core.searchsorted(x1, x2, right=side == "right")


def where(condition, x1=None, x2=None, /):
    """Elements of `x1` where a condition holds, and of `x2` elsewhere. One of both may be a Python scalar. The condition alone gives the places where
    it holds, as `nonzero` does: programs use that, though the standard does not have it."""
    if x1 is None and x2 is None:
        return nonzero(condition)
    return _core.where(condition, *promoted("where", x1, x2))
