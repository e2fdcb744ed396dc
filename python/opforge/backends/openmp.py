"""OpenMP, which is not there: threads are opforge's own pool (`set_num_threads`)."""

from __future__ import annotations


def is_available() -> bool:
    """Whether loops run by OpenMP: no, opforge has threads of its own."""
    return False
