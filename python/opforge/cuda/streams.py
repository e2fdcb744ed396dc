"""Queues and moments of CUDA devices. A device has one queue, in which everything runs in the order of the calls: all streams stand for it."""

from __future__ import annotations

from .. import _core
from . import devices, events

__all__ = ["Event", "ExternalStream", "Stream", "StreamContext", "current_stream", "default_stream", "is_current_stream_capturing", "set_stream", "stream"]


class Stream:
    """The queue of a device (None: the current one). `priority` and other arguments of PyTorch's are not used."""

    def __init__(self, device=None, priority=0, **kwargs):
        index = devices.number(device)
        self.device, self.priority, self.stream_id, self.cuda_stream = _core.device("cuda", index), 0, 0, 0

    def wait_stream(self, stream):
        """Nothing has to be waited for: of a device there is one queue, and copies between devices are waited for."""

    def wait_event(self, event):
        """Nothing has to be waited for, as `wait_stream` says."""

    def record_event(self, event=None):
        """An event of what was called for until now; a given one is recorded."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether everything that was called for has run."""
        return _core._cuda_is_idle(devices.number(self.device))

    def synchronize(self) -> None:
        """Waits until it has."""
        devices.synchronize(self.device)

    def __eq__(self, other):
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self):
        return hash(self.device)

    def __repr__(self):
        return f"<opforge.cuda.Stream device={self.device} cuda_stream=0x0>"


class ExternalStream(Stream):
    """Another program's queue, which opforge does not use: a RuntimeError."""

    def __init__(self, stream_ptr, device=None, **kwargs):
        super().__init__(device)
        raise RuntimeError("ExternalStream(): a device's calls run in its one queue")


class Event(events.Event):
    """A moment in the work of the current device: see `opforge.Event`, which takes the device before these arguments."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        super().__init__(enable_timing=enable_timing)


def current_stream(device=None) -> Stream:
    """The queue of a device."""
    return Stream(device)


default_stream = current_stream


def set_stream(stream) -> None:
    """Makes the device of a stream the current one; None changes nothing."""
    if stream is not None:
        devices.set_device(stream.device)


class stream(devices.device):
    """A context in which the device of a stream is the current one; None leaves it as it is."""

    def __init__(self, stream):
        super().__init__(None if stream is None else stream.device)


StreamContext = stream


def is_current_stream_capturing() -> bool:
    """Whether calls are being recorded as a graph of CUDA's: never."""
    return False
