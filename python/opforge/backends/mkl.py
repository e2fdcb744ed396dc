"""Intel's MKL, which is not there."""

from __future__ import annotations

import contextlib

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """Whether it is there."""
    return False


@contextlib.contextmanager
def verbose(enable):
    """A context in which it would print what it does."""
    yield
