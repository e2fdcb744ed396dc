"""Reductions of losses as numbers and texts, which packages with losses of their own ask for."""

from __future__ import annotations

from ._losses import legacy_reduction as legacy_get_string  # noqa: F401

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction):
    """The number of a reduction."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]
