"""Times of small programs."""

from __future__ import annotations

from time import perf_counter as timer

from ._timer import Measurement, Timer

__all__ = ["Measurement", "Timer", "timer"]
