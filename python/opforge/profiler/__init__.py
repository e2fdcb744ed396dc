"""Where time goes: which kernels ran, when, how often and how long; in programs of several processes, calls between them too.

>>> with opforge.profiler.profile() as prof:
...     with opforge.profiler.record_function("step"):
...         (opforge.ones(1000) * 2).sum()
>>> print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))
"""

from __future__ import annotations

import contextlib
import enum
import threading

from .. import _core
from ._events import Communication, EventAverage, EventList, FunctionEvent, FunctionEvents
from ._schedule import ProfilerAction, schedule, tensorboard_trace_handler

__all__ = [
    "Communication", "EventAverage", "EventList", "FunctionEvent", "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(enum.Enum):
    """What PyTorch's programs ask to be recorded; the CPU always is."""

    CPU = "cpu"
    CUDA = "cuda"
    XPU = "xpu"
    MTIA = "mtia"
    HPU = "hpu"


def supported_activities():
    """What can be recorded: the CPU."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether PyTorch's recorder is there: opforge's own is instead."""
    return False


_lock = threading.Lock()
_active = None


def is_recording() -> bool:
    """Whether a profile is recording."""
    return _active is not None


class profile:
    """Records all kernels of the process, and its calls between processes, from `start` (or the beginning of a `with` block) to `stop`, which wait for the
    kernels that are under way.

    With a `schedule` it records the steps that this says, which `step` counts. `on_trace_ready(prof)` is called at the end of a recording. The other
    arguments are there for PyTorch's programs.
    """

    def __init__(
        self,
        *,
        activities=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        schedule=None,
        on_trace_ready=None,
        execution_trace_observer=None,
        experimental_config=None,
        acc_events=False,
        use_cuda=None,
    ):
        self._on_trace_ready = on_trace_ready
        self._is_scheduled = schedule is not None
        self._schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.step_num = 0
        self._ranges = []
        self._events = None

    def start(self):
        """Begins; with a schedule, at its first step."""
        self.step_num = 0
        self._enter_step()

    def stop(self):
        """Ends a recording, if there is one: a profile without a schedule must have been started."""
        if self._is_recording() or not self._is_scheduled:
            self._end()

    def step(self):
        """Moves on to the next step of the schedule."""
        if self._is_recording() and self.current_action is ProfilerAction.RECORD_AND_SAVE:
            self._end()
        self.step_num += 1
        self._enter_step()

    def _enter_step(self):
        self.current_action = self._schedule(self.step_num)
        records = self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if records and not self._is_recording():
            self._begin()
        elif self._is_recording() and not records:
            self._end(is_ready=False)

    def _is_recording(self):
        return _active is self

    def _begin(self):
        global _active
        with _lock:
            if _active is not None:
                raise RuntimeError("profile: another profile is recording; there is one recorder in a process")
            _active = self
        self._ranges.clear()
        _core._start_trace()
        self._began = _core._trace_clock()

    def _end(self, is_ready=True):
        global _active
        if _active is not self:
            raise RuntimeError("profile: stop without start")
        try:
            kernels = _core._stop_trace()
        finally:
            _active = None
        since = lambda moment: (moment - self._began) / 1000
        events = [
            FunctionEvent(op, since(start), since(end), thread, nbytes, waited=(start - issued) / 1000, program=program, is_communication=communicates)
            for op, _stream, thread, issued, start, end, nbytes, program, communicates in kernels
        ]
        events += [FunctionEvent(name, since(start), since(end), thread, 0, True) for name, start, end, thread in self._ranges]
        self._events = sorted(events, key=lambda event: event.start)
        if is_ready and self._on_trace_ready is not None:
            self._on_trace_ready(self)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def events(self):
        """What was recorded, in the order of beginnings."""
        if self._events is None:
            raise RuntimeError("profile: nothing has been recorded; events are there after stop()")
        return FunctionEvents(self._events)

    @property
    def function_events(self):
        """As `events()`; None where nothing has been recorded."""
        return None if self._events is None else self.events()

    def key_averages(self, group_by_input_shape=False, **options):
        """The events of each name together. Shapes are not recorded: the arguments are there for PyTorch's programs."""
        return self.events().key_averages()

    def export_chrome_trace(self, path):
        """Writes a file that https://ui.perfetto.dev and chrome://tracing show: a row a thread, and the program's ranges above."""
        self.events().export_chrome_trace(path)


class record_function(contextlib.ContextDecorator):
    """Names a range of the program in the profile that is being recorded, if there is one: a `with` block, or a function it decorates.

    A range lasts as long as the program is in it; kernels that it calls for may run later.
    """

    def __init__(self, name, args=None):
        if not isinstance(name, str):
            raise TypeError(f"record_function(): name must be a str, not {type(name).__name__}")
        self.name = name
        self._profile = None

    def _recreate_cm(self):
        return record_function(self.name)

    def __enter__(self):
        self._profile = _active
        self._began = _core._trace_clock()
        return self

    def __exit__(self, *_):
        if self._profile is not None and self._profile is _active:
            span = self.name, self._began, _core._trace_clock(), threading.get_native_id()
            self._profile._ranges.append(span)
        self._profile = None
