"""The recorder, and the names of ranges."""

from __future__ import annotations

import contextlib
import enum
import threading

from .. import _core
from .events import EventAverage, EventList, FunctionEvent, FunctionEvents  # noqa: F401  PyTorch has some of them in this file
from .schedules import ProfilerAction, always

__all__ = ["ProfilerActivity", "is_recording", "profile", "record_function"]


class ProfilerActivity(enum.Enum):
    """What PyTorch's programs ask to be recorded; the CPU always is."""

    CPU = "cpu"
    CUDA = "cuda"


_lock = threading.Lock()
_active = None


def is_recording() -> bool:
    """Whether a profile is recording."""
    return _active is not None


class profile:
    """Records all kernels of the process, from `start` (or the beginning of a `with` block) to `stop`, which wait for what is under way.

    With a schedule, a function that gives a `ProfilerAction` for the number of a step (`schedule` makes such ones), it records the steps that this tells to;
    `step()` ends a step. `on_trace_ready(prof)` is called at the end of a recording. The other arguments are there for PyTorch's programs.
    """

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        use_cuda=None,
    ):
        self._schedule = schedule or always
        self._on_trace_ready = on_trace_ready
        self._ranges = []
        self._events = None
        self._is_started = False
        self.step_num = 0
        self.current_action = self._schedule(0)

    def start(self):
        """Begins with the first step. Raises RuntimeError if another profile is recording."""
        if self.current_action.records:
            self._begin()
        self._is_started = True

    def stop(self):
        """Ends. Raises RuntimeError without a start."""
        if not self._is_started:
            raise RuntimeError("profile: stop without start")
        self._is_started = False
        if _active is self:
            self._end()
            self._hand_over()

    def step(self):
        """Ends a step: the schedule tells what the next one is for."""
        self.step_num += 1
        before, self.current_action = self.current_action, self._schedule(self.step_num)
        ends = before is ProfilerAction.RECORD_AND_SAVE
        if _active is self and (ends or not self.current_action.records):
            self._end()
            if ends:
                self._hand_over()
        if self._is_started and self.current_action.records and _active is not self:
            self._begin()

    def _begin(self):
        global _active
        with _lock:
            if _active is not None:
                raise RuntimeError("profile: another profile is recording; there is one recorder in a process")
            _active = self
        self._ranges.clear()
        _core._start_trace()
        self._began = _core._trace_clock()

    def _end(self):
        global _active
        try:
            kernels = _core._stop_trace()
        finally:
            _active = None
        since = lambda moment: (moment - self._began) / 1000
        events = [
            FunctionEvent(op, since(start), since(end), thread, nbytes, waited=(start - issued) / 1000, program=program)
            for op, _stream, thread, issued, start, end, nbytes, program in kernels
        ]
        events += [FunctionEvent(name, since(start), since(end), thread, 0, True) for name, start, end, thread in self._ranges]
        self._events = sorted(events, key=lambda event: event.start)

    def _hand_over(self):
        if self._on_trace_ready is not None:
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
        """The events of each name together."""
        return self.events().key_averages()

    def export_chrome_trace(self, path):
        """Writes a file that https://ui.perfetto.dev and chrome://tracing show: a row a thread, and the program's ranges above."""
        self.events().export_chrome_trace(path)


_KinetoProfile = profile


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
