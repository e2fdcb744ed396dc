"""Calls under way."""

from __future__ import annotations

import datetime

from .. import _core
from ..autograd import no_grad


class Work:
    """A call under way, as `async_op=True`, `isend` and `irecv` return it. It goes on by itself; results are in the tensors once `wait()` has returned,
    or `is_completed()` has said so."""

    def __init__(self, request, finish=None, source=-1, results=()):
        self._request, self._finish, self._source, self._error, self._results = request, finish, source, None, list(results)

    def wait(self, timeout=None) -> bool:
        """Waits until the call is done, at most for `timeout`, a datetime.timedelta. Raises DistError if ranks differ, stop, or do not come."""
        limit = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) and timeout > datetime.timedelta(0) else None
        self._end(self._request.wait(limit))
        return True

    def is_completed(self) -> bool:
        """Whether the call is over."""
        if not self._request.test():
            return False
        if self._error is None:
            try:
                self._end(self._request.result())
            except RuntimeError as error:
                self._error = error
        return True

    def is_success(self) -> bool:
        """Whether the call is over and has not failed."""
        return self.is_completed() and self._error is None

    def exception(self):
        """The error of a call that has failed, or None."""
        return self._error if self.is_completed() else None

    def get_future(self):
        """A Future of the list of the tensors that have the results. What is to follow (`then`) runs when somebody waits for it, or asks whether it
        is done.

        >>> work.get_future().then(lambda future: future.value()[0]).wait()      # doctest: +SKIP
        """
        from ._futures import Deferred

        return Deferred(self._request.test, self._waited)

    def _waited(self):
        self.wait()
        return self._results

    def source_rank(self) -> int:
        """The rank whose elements were received."""
        return self._source

    def _end(self, result):
        finish, self._finish = self._finish, None
        if finish is not None:
            with no_grad():
                finish(result)


class _Works(Work):
    """Several calls as one."""

    def __init__(self, works):
        self._works = works

    def wait(self, timeout=None):
        return all([work.wait(timeout) for work in self._works])

    def is_completed(self):
        return all([work.is_completed() for work in self._works])

    def is_success(self):
        return all([work.is_success() for work in self._works])

    def exception(self):
        return next((error for error in (work.exception() for work in self._works) if error is not None), None)


def done(work, async_op):
    """The work if the call is asynchronous; else its end is waited for."""
    if async_op:
        work._request.release()
        return work
    work.wait()
    return None


def check_tensor(name, argument, tensor, *, is_result=False):
    """Refuses what is no dense tensor in this process's memory, or cannot be written where it is a result."""
    if not isinstance(tensor, _core.Tensor):
        raise TypeError(f"{name}: {argument} must be a Tensor, not {type(tensor).__name__}")
    _core._ProcessGroup.check(name, [tensor], is_result)


def check_tensors(name, argument, tensors, *, is_result=False):
    """Refuses what is not a list of such tensors of one dtype."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}: {argument} must be a list of tensors, not {type(tensors).__name__}")
    for tensor in tensors:
        check_tensor(name, argument, tensor, is_result=is_result)
        check_dtype(name, argument, tensor, tensors[0])


def check_dtype(name, argument, tensor, like):
    """Refuses tensors of another dtype."""
    if tensor.dtype != like.dtype:
        raise _core.DTypeError(f"{name}: {argument} of {tensor.dtype}, expected {like.dtype}")


def check_count(name, argument, given, expected):
    """Refuses lists of another length, or tensors with another number of elements."""
    if given != expected:
        raise _core.ShapeError(f"{name}: {argument} has {given}, expected {expected}")
