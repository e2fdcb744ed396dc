"""OpenMP, which is not there: threads are opforge's own pool (`set_num_threads`)."""

from __future__ import annotations


def is_available() -> bool:
    """Whether it is there."""
    return False
