"""What packages read of PyTorch's tracer."""

from __future__ import annotations

import collections

# Counts of what was compiled, which `opforge.compile` does not keep here.
counters = collections.defaultdict(collections.Counter)


def is_compile_supported(device_type):
    """Whether `compile` works for a type of device."""
    return device_type == "cpu"
