"""Results that may come later, for programs that are written with callbacks."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]


_T = TypeVar("_T")


class Future(Generic[_T]):
    """A result that `set_result` or `set_exception` brings, and that `wait` waits for."""

    def __init__(self, *, devices=None):
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._callbacks = []
        self._result = self._error = None

    def done(self) -> bool:
        """Whether the result or an exception is there."""
        return self._done.is_set()

    def wait(self):
        """The result, once it is there; raises the exception that came in its place."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def value(self):
        """The result, which must be there."""
        if not self.done():
            raise RuntimeError("Future.value(): the result is not there yet; call wait()")
        return self.wait()

    def set_result(self, result) -> None:
        """Brings the result."""
        self._finish(result, None)

    def set_exception(self, result) -> None:
        """Brings an exception in the result's place."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, result, error):
        with self._lock:
            if self.done():
                raise RuntimeError("Future already completed")
            self._result, self._error = result, error
            self._done.set()
        for callback in self._callbacks:
            callback(self)

    def add_done_callback(self, callback) -> None:
        """Calls `callback(self)` once the result is there."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback) -> Future:
        """The future of what `callback(self)` gives."""
        following = Future()

        def run(future):
            try:
                result = callback(future)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(result)

        self.add_done_callback(run)
        return following


def collect_all(futures) -> Future:
    """The future of the list of futures, once all are done."""
    futures, collected = list(futures), Future()
    left, lock = [len(futures)], threading.Lock()

    def count(_):
        with lock:
            left[0] -= 1
        if left[0] == 0:
            collected.set_result(futures)

    if not futures:
        collected.set_result(futures)
    for future in futures:
        future.add_done_callback(count)
    return collected


def wait_all(futures) -> list:
    """The results of all futures."""
    return [future.wait() for future in collect_all(futures).wait()]
