"""cuDNN, which is not there. Its switches keep what they are set to and change nothing."""

from __future__ import annotations

from ._switches import flags_of

enabled, benchmark, deterministic, allow_tf32, benchmark_limit, fp32_precision = True, False, False, True, 10, "none"

flags = flags_of(__name__, enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none")


def is_available() -> bool:
    """Whether there is cuDNN."""
    return False


def is_acceptable(tensor) -> bool:
    """Whether cuDNN would take a tensor."""
    return False


def version():
    """Its version: None."""
    return None
