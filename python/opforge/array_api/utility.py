"""Conditions of many elements, and differences."""

from __future__ import annotations

from opforge import _core

from ._operands import place, places

__all__ = ["all", "any", "diff"]


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements along axes, or all, are not 0; true of none."""
    axes = places("all", axis, x.ndim)
    is_true = x.to(_core.bool)
    return _core.all(is_true, axes, keepdims) if axes else is_true.clone()


def any(x, /, *, axis=None, keepdims=False):
    """Whether one element along axes, or any, is not 0; false of none."""
    axes = places("any", axis, x.ndim)
    is_true = x.to(_core.bool)
    return _core.any(is_true, axes, keepdims) if axes else is_true.clone()


def diff(x, /, n=1, *, axis=-1, prepend=None, append=None):
    """What each element along an axis is more than the one before it, and that again, `n` times, a number that may be given by position, too."""
    return _core.diff(x, n, place("diff", axis, x.ndim), prepend, append)
