"""The iterator of a loader with workers.

Workers share nothing with the loader but a socket each: there are no locks, queues or threads that a killed process could leave in a bad state.
"""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import os
import signal
import socket
import sys
import time
import weakref
from contextlib import suppress
from multiprocessing.connection import wait

from . import channel, worker
from .loader import LengthCheck
from .sampler import draw_seed

# Seconds between two looks at whether workers live; and how long one may take to finish what it is doing when no more is wanted.
_PATIENCE = 5.0
_WAITING = object()


class Worker:
    """A process and the connection to it."""

    def __init__(self, process, connection):
        self.process = process
        self.connection = connection
        self.has_more = True

    def send(self, task, parts):
        """Sends a task; a worker that is gone is found out when its answer is waited for."""
        try:
            channel.send(self.connection, task, parts)
        except (BrokenPipeError, ConnectionResetError):
            pass


class WorkersIterator:
    """A pass over a loader's batches, which its workers read ahead; `begin` starts another one with the same workers."""

    def __init__(self, loader):
        self._loader = copy.copy(loader)  # without iterator: the loader may hold this one
        self._numbers = itertools.count()
        self._workers = []
        self._shut_down = weakref.finalize(self, shut_down, self._workers, os.getpid())
        self._indices = iter(loader._index_sampler)
        self._start(loader)
        self._begin()

    def _start(self, loader):
        context, base_seed = _context(loader.multiprocessing_context), draw_seed(loader.generator)
        for i in range(loader.num_workers):
            ours, theirs = context.Pipe()
            inherited = [w.connection for w in self._workers] + [ours] if context.get_start_method() == "fork" else []
            arguments = theirs, inherited, i, loader.num_workers, base_seed, loader.worker_init_fn, loader._fetch()
            process = context.Process(target=worker.work, args=arguments, daemon=True)
            try:
                process.start()
            except BaseException:
                ours.close()
                self._shut_down()
                raise
            finally:
                theirs.close()
            self._workers.append(Worker(process, ours))

    @property
    def is_shut_down(self) -> bool:
        """Whether the workers are gone."""
        return not self._shut_down.alive

    def begin(self):
        """Starts another pass; what is left of the one before is not waited for."""
        for each in self._workers:
            each.has_more = True
            each.send(worker.RESTART, [])
        self._indices = iter(self._loader._index_sampler)
        self._begin()

    def _begin(self):
        self._turns = itertools.cycle(self._workers)
        self._tasks = {}  # in order, by number: the worker and its answer
        self._count = LengthCheck(self._loader)
        for _ in range(self._loader.prefetch_factor * len(self._workers)):
            self._assign()

    def _assign(self):
        """Gives the next task to the worker whose turn it is, if there is a task and a worker with more to read."""
        each = next((w for w in itertools.islice(self._turns, len(self._workers)) if w.has_more), None)
        indices = _WAITING if each is None else next(self._indices, _WAITING)
        if indices is _WAITING:
            return
        self._receive(0)  # a worker that waits to send would not take the task
        if not self.is_shut_down:
            task = next(self._numbers)
            self._tasks[task] = _WAITING
            each.send(task, channel.pack(indices))

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader)

    def __next__(self):
        while self._tasks:
            task = self._wait()
            each, message = self._tasks.pop(task)
            kind, value = message.unpack()
            each.has_more = each.has_more and kind != worker.END
            self._assign()
            if kind == worker.END:
                continue
            if kind == worker.FAILURE:
                value.reraise()
            self._count.up()
            return value
        if not self._loader.persistent_workers:
            self._shut_down()
        raise StopIteration

    def _wait(self):
        """The number of the next task that has an answer, which must be the first one if batches come in order."""
        timeout = self._loader.timeout
        end = time.monotonic() + timeout if timeout else None
        while True:
            candidates = itertools.islice(self._tasks, 1) if self._loader.in_order else self._tasks
            task = next((task for task in candidates if self._tasks[task] is not _WAITING), None)
            if task is not None:
                return task
            left = _PATIENCE if end is None else end - time.monotonic()
            if left <= 0:
                self._give_up()
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
            if not self._receive(min(left, _PATIENCE)):
                self._check()

    def _receive(self, seconds) -> bool:
        """Takes the answers that come within `seconds`; whether there were any."""
        by_connection = {w.connection: w for w in self._workers}
        ready = wait(by_connection, seconds)
        for connection in ready:
            each = by_connection[connection]
            try:
                task, message = channel.receive(connection)
            except (EOFError, OSError):
                self._fail(each)
            if task in self._tasks:  # not one of an earlier pass
                self._tasks[task] = each, message
        return bool(ready)

    def _check(self):
        """Raises RuntimeError if a worker has died."""
        for each in self._workers:
            if not each.process.is_alive():
                self._fail(each)

    def _fail(self, each):
        each.process.join(_PATIENCE)
        pid, code = each.process.pid, each.process.exitcode
        self._give_up()
        how = f"killed by signal: {signal.strsignal(-code)}" if code and code < 0 else f"gone with exit code {code}"
        raise RuntimeError(f"DataLoader worker (pid {pid}) exited unexpectedly: {how}")

    def _give_up(self):
        self._tasks.clear()
        for each in self._workers:
            each.process.terminate()
        self._shut_down()


def _context(given):
    if isinstance(given, str) or given is None:
        default = "fork" if sys.platform == "linux" else None
        return multiprocessing.get_context(given or multiprocessing.get_start_method(allow_none=True) or default)
    return given


def shut_down(workers, owner):
    """Ends the workers and waits for them. In a process that is a copy of the owner, only its ends of the connections are closed."""
    mine = os.getpid() == owner
    for each in workers:
        if mine:
            # Reaches the worker even if other processes have copies of this end; fails where the worker is gone.
            with suppress(OSError), socket.fromfd(each.connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.shutdown(socket.SHUT_RDWR)
        each.connection.close()
    end = time.monotonic() + _PATIENCE
    for each in workers if mine else ():
        for stop in (lambda: None, each.process.terminate, each.process.kill):
            stop()
            each.process.join(max(end - time.monotonic(), 0.5))
            if each.process.exitcode is not None:
                break
    workers.clear()
