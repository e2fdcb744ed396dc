"""Starting the processes of a program without MPI, and watching over them: when one fails the others end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time

# Seconds that the others have to show errors of their own when one has failed, and to end when they are told to.
_GRACE, _END = 3.0, 5.0
_LOOK = 0.02


def free_port() -> int:
    """A port of this machine that nobody listens at now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def variables(local, processes, address, port, *, node=0, nodes=1):
    """PyTorch's variables for a process: its number on its machine, how many there are on each, and where rank 0 listens."""
    numbers = {
        "RANK": node * processes + local, "LOCAL_RANK": local, "WORLD_SIZE": nodes * processes, "LOCAL_WORLD_SIZE": processes,
        "GROUP_RANK": node, "GROUP_WORLD_SIZE": nodes, "MASTER_ADDR": address, "MASTER_PORT": port,
    }  # fmt: skip
    return {name: str(value) for name, value in numbers.items()}


def run(command, environments) -> tuple[int, str | None]:
    """Runs a command once in each environment. The exit status of the first that failed, and how it ended if a signal ended it; 0 and None if none failed."""
    processes, first = [], None
    with _Terminated():
        try:
            for environment in environments:
                processes.append(subprocess.Popen(command, env=os.environ | environment))
            while first is None and any(process.poll() is None for process in processes):
                time.sleep(_LOOK)
                first = _failed(processes)
            first = _failed(processes) if first is None else first
            if first is not None:
                _wait(processes, _GRACE)
        except KeyboardInterrupt:
            # The terminal tells all processes; those who did not hear are told when this ends.
            _wait(processes, _GRACE)
            return 130, None
        finally:
            _end(processes)
    return (0, None) if first is None else _how(environments[first], processes[first].returncode)


def _failed(processes):
    """A process that has failed: one that a signal ended before those that said so themselves, which they may have done because of it."""
    failed = [place for place, process in enumerate(processes) if process.poll()]
    return min(failed, key=lambda place: processes[place].returncode > 0, default=None)


def _how(environment, status):
    if status > 0:
        return status, None
    return 128 - status, f"rank {environment['RANK']} failed first: {signal.Signals(-status).name}"


def _wait(processes, seconds):
    until = time.monotonic() + seconds
    while any(process.poll() is None for process in processes) and time.monotonic() < until:
        time.sleep(_LOOK)


def _end(processes):
    """Ends what still runs."""
    for end in subprocess.Popen.terminate, subprocess.Popen.kill:
        for process in processes:
            if process.poll() is None:
                end(process)
        _wait(processes, _END)


class _Terminated:
    """While it lasts, SIGTERM is an exception, so that processes do not outlive who started them."""

    def __enter__(self):
        self._is_set = threading.current_thread() is threading.main_thread()
        if self._is_set:
            self._before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))

    def __exit__(self, *error):
        if self._is_set:
            signal.signal(signal.SIGTERM, self._before)
