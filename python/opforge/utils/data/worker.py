"""What runs in a worker process."""

from __future__ import annotations

import random
import sys
import traceback
from dataclasses import dataclass
from typing import Any

from ... import _core as _C

# What a worker answers to a task.
BATCH, END, FAILURE = "batch", "end", "failure"
# The task that begins another pass.
RESTART = -1


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this process is. `dataset` is its copy, which `worker_init_fn` may change."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info():
    """In a worker process of a loader, its `WorkerInfo`; None in any other process."""
    return _info


class Failure:
    """An exception on its way to the main process."""

    def __init__(self, where):
        self.kind, error, _ = sys.exc_info()
        self.text = f"Caught {self.kind.__name__} in {where}.\nOriginal {''.join(traceback.format_exception(error))}"

    def without_class(self):
        """The same for a class that cannot be sent."""
        self.kind = RuntimeError
        return self

    def reraise(self):
        """Raises an exception of the same class with the worker's traceback in its text; RuntimeError if the class wants other arguments."""
        try:
            error = self.kind(_Lines(self.text) if issubclass(self.kind, KeyError) else self.text)
        except Exception:
            error = RuntimeError(self.text)
        try:
            raise error
        finally:
            del error  # its traceback has this frame


class _Lines(str):
    """A text that KeyError shows with its line ends."""

    def __repr__(self):
        return str(self)


def _seed(seed):
    random.seed(seed)
    _C.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def work(connection, inherited, worker_id, num_workers, base_seed, init_fn, fetch):
    """Answers tasks until the connection ends. `inherited` are copies of other workers' connections, which would keep those open."""
    global _info
    for other in inherited:
        other.close()
    _C.set_num_threads(1)  # the workers share the processors already
    seed = base_seed + worker_id
    _seed(seed)
    _info = WorkerInfo(worker_id, num_workers, seed, fetch.dataset)
    try:
        _answer_all(connection, f"DataLoader worker process {worker_id}", init_fn and (lambda: init_fn(worker_id)), fetch)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the main process wants no more, or is gone
    except KeyboardInterrupt:
        pass  # it was for the main process


def _answer_all(connection, where, initialize, fetch):
    from . import channel

    failure = None
    try:
        if initialize:
            initialize()
    except Exception:
        failure = Failure(f"{where} (worker_init_fn)")
    read = None
    while True:
        task, message = channel.receive(connection)
        if task == RESTART:
            read = None
            continue
        try:
            if failure is None:
                read = read or fetch.begin()
                answer = BATCH, read(message.unpack())
            else:
                answer = FAILURE, failure
        except StopIteration:
            answer = END, None
        except Exception:
            answer = FAILURE, Failure(where)
        _send(connection, task, answer, where)


def _send(connection, task, answer, where):
    """Sends an answer, or why it cannot be sent."""
    from . import channel

    try:
        message = channel.pack(answer)
    except Exception:
        if answer[0] == FAILURE:
            message = channel.pack((FAILURE, answer[1].without_class()))
        else:
            return _send(connection, task, (FAILURE, Failure(f"{where}, sending a batch")), where)
    channel.send(connection, task, message)
