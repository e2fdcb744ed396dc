"""Checks that programs write where a tracer is to see them. Here they are Python's: a condition that is false is an error at once."""

from __future__ import annotations

import math

from . import _core
from .overrides import handle_torch_function, has_torch_function


def _assert(condition, message):
    """An AssertionError with the message unless the condition, a bool or a tensor of one element, is true. `fx` writes the call down."""
    if type(condition) is not bool and has_torch_function((condition,)):
        return handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message


def _text(message):
    return message() if callable(message) else message


def _check(cond, message=None):
    """A RuntimeError unless the condition is true; the message is a function that gives the text."""
    _check_with(RuntimeError, cond, message)


def _check_with(error_type, cond, message=None):
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        raise error_type(_text(message) or "Expected cond to be True, but got False.")


def _check_is_size(i, message=None, *, max=None):
    """A RuntimeError unless it is a size."""
    _check(i >= 0 and (max is None or i <= max), message or (lambda: f"expected a size, but got {i}"))


def _check_index(cond, message=None):
    """An IndexError unless the condition is true."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """A ValueError unless the condition is true."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """A TypeError unless the condition is true."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """A NotImplementedError unless the condition is true."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond, message=None):
    """A RuntimeError unless all elements are true."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """An error of that type unless all elements are true."""
    _check_with(error_type, bool(cond.all()), message)


def _assert_async(condition, message="Expected Tensor to be nonzero"):
    """A RuntimeError unless the tensor of one element is true. It is waited for."""
    if not condition:
        raise RuntimeError(message)


def _shape_as_tensor(self):
    """A tensor's shape as a tensor."""
    return _core.tensor(list(self.shape), dtype=_core.int64)


# Sizes are numbers.
sym_float = float
sym_max = max
sym_min = min
sym_sum = sum
sym_sqrt = math.sqrt


def sym_int(a):
    """The number without its fraction."""
    return math.trunc(a)


def sym_not(a):
    """Whether the number is 0 or False."""
    return not a


def sym_ite(b, t, f):
    """`t` if `b` else `f`."""
    return t if b else f


def _has_compatible_shallow_copy_type(input, from_) -> bool:
    """Whether `input.data = from_` keeps a tensor what it is: both are dense."""
    return isinstance(input, _core.Tensor) and isinstance(from_, _core.Tensor)
