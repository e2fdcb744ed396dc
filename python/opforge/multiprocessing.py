"""Python's `multiprocessing`, under the name that PyTorch has for it, and `spawn`.

Tensors are pickled: those of `share_memory_()` arrive as the same memory, others as copies. There is one way of sharing.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
import sys
import traceback
from multiprocessing import *  # noqa: F403
from multiprocessing import connection  # noqa: F401

from multiprocessing.queues import SimpleQueue  # noqa: F401

__all__ = [
    *_multiprocessing.__all__, "ProcessContext", "ProcessExitedException", "ProcessRaisedException", "get_all_sharing_strategies",
    "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes",
]  # fmt: skip

_STRATEGY = "file_descriptor"


def get_all_sharing_strategies():
    """The ways of sharing memory: one."""
    return {_STRATEGY, "file_system"}


def get_sharing_strategy():
    """The way of sharing memory."""
    return _STRATEGY


def set_sharing_strategy(new_strategy):
    """Takes PyTorch's two names; memory is shared by a descriptor with either."""
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"set_sharing_strategy(): {new_strategy!r} (accepted: {sorted(get_all_sharing_strategies())})")


class ProcessException(Exception):
    """A process that `spawn` started failed. `error_index` is its number, `error_pid` its identity."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid


class ProcessRaisedException(ProcessException):
    """A process raised an exception, whose traceback is in the text."""


class ProcessExitedException(ProcessException):
    """A process ended otherwise, by a signal for example."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name, self.error_pid = exit_code, signal_name, error_pid


def _run(fn, place, args, errors):
    try:
        fn(place, *args)
    except KeyboardInterrupt:
        pass
    except Exception as error:
        errors.put((place, traceback.format_exc()))
        # Other ranks hear of it, if there are any.
        if (end := sys.modules.get("opforge.distributed._exit")) is not None:
            end.tell(error)
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that `spawn` started."""

    def __init__(self, processes, errors):
        self.processes, self._errors = processes, errors

    def pids(self):
        """The identities of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits until all have ended, for `timeout` seconds at most; whether they have.

        Raises ProcessRaisedException or ProcessExitedException where one failed, after it has ended the others.
        """
        sentinels = {process.sentinel: place for place, process in enumerate(self.processes) if process.is_alive()}
        for sentinel in connection.wait(sentinels, timeout=timeout) if sentinels else []:
            self.processes[sentinels[sentinel]].join()
        # Looked at once: a process that ends meanwhile has not been seen to fail, so it has not been seen to end either.
        codes = [process.exitcode for process in self.processes]
        failed = next((place for place, code in enumerate(codes) if code not in (0, None)), None)
        if failed is None:
            return None not in codes
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join(grace_period)
        self._raise(failed)

    def _raise(self, place):
        process = self.processes[place]
        if not self._errors.empty():
            place, text = self._errors.get()
            raise ProcessRaisedException(f"\n\n-- Process {place} terminated with the following error:\n{text}", place, self.processes[place].pid)
        message = f"process {place} terminated with exit code {process.exitcode}"
        raise ProcessExitedException(message, place, process.pid, process.exitcode)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn", **options):
    """Calls `fn(number, *args)` in processes numbered from 0, which start as `start_method` says; waits for them unless `join` is false."""
    context = _multiprocessing.get_context(start_method)
    errors = context.SimpleQueue()
    processes = [context.Process(target=_run, args=(fn, place, args, errors), daemon=daemon) for place in range(nprocs)]
    for process in processes:
        process.start()
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """`start_processes` with new interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
