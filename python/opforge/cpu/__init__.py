"""The CPU, under the names that modules of accelerators have."""

from __future__ import annotations

import contextlib

from .. import _core

__all__ = ["Stream", "current_device", "current_stream", "device_count", "is_available", "is_initialized", "set_device", "stream", "synchronize"]


class Stream:
    """The CPU's queue: what is called runs in order."""

    def __init__(self, priority=-1):
        del priority

    def wait_stream(self, stream):
        """Nothing has to be waited for: there is one queue."""


_STREAM = Stream()


def is_available() -> bool:
    """Whether there is a CPU."""
    return True


is_initialized = is_available


def device_count() -> int:
    """The number of CPUs as devices: one."""
    return 1


def current_device() -> str:
    """The name of the current device."""
    return "cpu"


def set_device(device) -> None:
    """Nothing happens: there is one."""


def current_stream(device=None) -> Stream:
    """The one queue."""
    return _STREAM


@contextlib.contextmanager
def stream(stream):
    """A context in which calls go to the one queue, as always."""
    yield


def synchronize(device=None) -> None:
    """Waits until all calls have run."""
    _core.synchronize()


def __getattr__(name: str):
    """Imports `cpu.amp` when it is first used."""
    import importlib

    if name == "amp":
        return importlib.import_module(".amp", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
