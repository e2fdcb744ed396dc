"""Ranges for NVIDIA's profiler, which are not recorded: nothing happens. `opforge.profiler.record_function` names ranges here."""

from __future__ import annotations

import contextlib


def range_push(msg):
    """Nothing happens. Returns the depth of ranges, 0."""
    return 0


def range_pop():
    """Nothing happens. Returns the depth of ranges, 0."""
    return 0


def mark(msg):
    """Nothing happens."""


@contextlib.contextmanager
def range(msg, *args, **kwargs):  # noqa: A001  PyTorch's name
    """A context in which nothing is different."""
    yield
