"""Intel's oneDNN, which is not there. Its switches keep what they are set to and change nothing."""

from __future__ import annotations

from ._switches import flags_of
from .mkl import VERBOSE_OFF, VERBOSE_ON, is_available, verbose

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "flags", "is_available", "verbose"]

enabled, deterministic, allow_tf32, fp32_precision = True, False, True, "none"
flags = flags_of(__name__, enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none")
