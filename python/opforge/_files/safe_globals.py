"""Classes that programs allow files to name: PyTorch's list for `load(.., weights_only=True)`. It is kept, so that it can be asked for; `load` makes no
objects of classes that files name, allowed or not: it raises FormatError.
"""

from __future__ import annotations

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

_allowed: list = []


def add_safe_globals(safe_globals):
    """Adds classes and functions, or `(object, "name in files")` pairs, to the list."""
    _allowed.extend(item for item in safe_globals if item not in _allowed)


def get_safe_globals():
    """What was added to the list."""
    return list(_allowed)


def clear_safe_globals():
    """Empties the list."""
    _allowed.clear()


class safe_globals:
    """A context in which the list has more."""

    def __init__(self, safe_globals):
        self._more = safe_globals

    def __enter__(self):
        self._before = get_safe_globals()
        add_safe_globals(self._more)

    def __exit__(self, *exception):
        _allowed[:] = self._before
