"""Where time goes: which kernels ran, when, how often and how long.

>>> with opforge.profiler.profile() as prof:
...     with opforge.profiler.record_function("step"):
...         (opforge.ones(1000) * 2).sum()
>>> print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))
"""

from __future__ import annotations

from .events import EventAverage, EventList, FunctionEvent
from .profiler import ProfilerActivity, profile, record_function
from .schedules import ProfilerAction, schedule, tensorboard_trace_handler

__all__ = [
    "EventAverage", "EventList", "FunctionEvent", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "tensorboard_trace_handler",
]  # fmt: skip


def kineto_available() -> bool:
    """Whether PyTorch's recorder is there: opforge has its own."""
    return False
