"""Moments in the work of CUDA devices, wherever they are named: `opforge.Event`."""

from __future__ import annotations

from .. import _core
from . import devices

__all__ = ["Event"]


class Event:
    """A moment in a device's work; without a `device`, of the current one's. `enable_timing=True` lets times between two be asked for; `blocking` and
    `interprocess` are not used. DeviceAbsentError where there is no CUDA device."""

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        devices.number(device)
        self._device, self._times, self._event = device, enable_timing, None

    def record(self, stream=None):
        """Marks the end of what was called for on the device of a stream, by default the event's own."""
        self._event = _core._CudaEvent(devices.number(self._device if stream is None else stream.device))
        self._event.record()

    def wait(self, stream=None):
        """Nothing has to be waited for: see `Stream.wait_stream`."""

    def query(self) -> bool:
        """Whether what was called for before it has run; so has what was never recorded."""
        return self._event is None or self._event.query()

    def synchronize(self) -> None:
        """Waits until it has."""
        if self._event is not None:
            self._event.synchronize()

    def elapsed_time(self, end_event) -> float:
        """The milliseconds from this event to another, both of which have happened."""
        if not (self._times and end_event._times):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._event is None or end_event._event is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return self._event.elapsed_time(end_event._event)
