"""Whether operators are recorded: context managers that also decorate functions and generators."""

from __future__ import annotations

import threading
from functools import wraps

from .. import _core


class _Mode:
    """Sets the mode of the thread while in the block, or during the calls of the decorated function."""

    _enabled = False

    def __enter__(self):
        self._before = _core.set_grad_mode(self._records())
        return self

    def __exit__(self, *exception):
        _core.set_grad_mode(self._before)

    def _records(self) -> bool:
        """Whether operators are recorded in the block; in inference mode none are."""
        return self._enabled and not _inference.mode

    def _again(self):
        """A fresh manager of the same mode: calls may be nested."""
        return type(self)()

    def __call__(self, function):
        if _is_generator(function):
            return self._wrap_generator(function)

        @wraps(function)
        def wrapper(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)

        return wrapper

    def _wrap_generator(self, function):
        """The mode holds while the generator runs, not while its user does."""

        @wraps(function)
        def wrapper(*args, **kwargs):
            generator = function(*args, **kwargs)
            send, value = generator.send, None
            try:
                while True:
                    with self._again():
                        item = send(value)
                    try:
                        value, send = (yield item), generator.send
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        value, send = error, generator.throw
            except StopIteration as end:
                return end.value
            finally:
                with self._again():
                    generator.close()

        return wrapper


def _is_generator(function) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & 0x20)


def _with_or_without_parentheses(cls):
    """Lets `@no_grad` stand for `@no_grad()`."""

    def __new__(cls, function=None):
        self = object.__new__(cls)
        return self if function is None else self(function)

    cls.__new__ = __new__
    return cls


@_with_or_without_parentheses
class no_grad(_Mode):
    """Operators are not recorded."""


@_with_or_without_parentheses
class enable_grad(_Mode):
    """Operators are recorded, also inside of `no_grad`."""

    _enabled = True


class _Inference(threading.local):
    """Whether this thread is in inference mode."""

    mode = False


_inference = _Inference()


def is_inference_mode_enabled() -> bool:
    """Whether the innermost `inference_mode` of this thread is on."""
    return _inference.mode


class inference_mode(_Mode):
    """As `no_grad`; `inference_mode(False)` ends it for the block, and has operators recorded."""

    def __new__(cls, mode=True):
        return cls()(mode) if callable(mode) else object.__new__(cls)

    def __init__(self, mode: bool = True):
        self.mode = mode
        self._enabled = not mode

    def __enter__(self):
        self._inferred, _inference.mode = _inference.mode, self.mode
        return super().__enter__()

    def __exit__(self, *exception):
        _inference.mode = self._inferred
        super().__exit__(*exception)

    def _again(self):
        return inference_mode(self.mode)


class set_grad_enabled(_Mode):
    """Sets whether operators are recorded: at once, until the end of the block if used as a context manager."""

    def __init__(self, mode: bool):
        self._enabled = bool(mode)
        self._before = _core.set_grad_mode(self._records())

    def __enter__(self):
        return self

    def __call__(self, function):
        _core.set_grad_mode(self._before)
        return super().__call__(function)

    def _again(self):
        return set_grad_enabled(self._enabled)
