"""What a program of several processes raises for one that failed. `opforge run -n` tells it by exit statuses, so these are never raised."""

from __future__ import annotations

__all__ = ["ChildFailedError", "ProcessFailure", "record"]


class ProcessFailure(Exception):
    """One process's failure."""


class ChildFailedError(Exception):
    """A process of the program failed."""


def record(fn, error_handler=None):
    """The function itself: what it raises is told by its own traceback."""
    return fn
