"""Functions that sort. Equal elements keep their order, whether `stable` is asked for or not."""

from __future__ import annotations

from opforge import _core

from ._operands import place

__all__ = ["argsort", "sort"]


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The places of the elements along an axis in ascending order."""
    return _core.argsort(x, place("argsort", axis, x.ndim), descending, stable=True)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements along an axis in ascending order."""
    return _core.sort(x, place("sort", axis, x.ndim), descending, stable=True).values
