"""`jit.trace`, by `opforge.compile`; `fork` and `wait`."""

from __future__ import annotations

import functools

from .. import nn


def trace(func, example_inputs=None, **options):
    """A function or module whose calls run as a traced program, checked by calling it with the examples once.

    What differs from PyTorch's: other shapes and dtypes are traced anew, so that branches on them stay right. Options are ignored.
    """
    from ..graph import compile

    example_inputs = example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    if isinstance(func, nn.Module):
        func.forward = compile(func.forward)
        func(*example_inputs)
        return func
    compiled = functools.wraps(func)(compile(func))
    compiled(*example_inputs)
    return compiled


class _Future:
    """A result that is there."""

    def __init__(self, value):
        self._value = value

    def wait(self):
        """The result."""
        return self._value

    value = wait

    def done(self):
        """Whether the result is there: always."""
        return True


def fork(func, *args, **kwargs):
    """Calls `func` now; `wait` gives its result. Calls of operators run ahead of the program anyway."""
    return _Future(func(*args, **kwargs))


def wait(future):
    """The result of `fork`."""
    return future.wait()
