"""Calls with sparse tensors among their arguments: each goes to the rule of its name, and is an error if there is none.

Rules are made of calls on indices, values and dense parts, so that gradients, dtypes and checks are those of dense tensors.
"""

from __future__ import annotations

from .. import _core

# The rules by the names of functions and methods; one for `abs` serves `abs_`.
_RULES = {}


def rule(*names):
    """Makes a function the rule of these names: it gets the call's arguments as they are."""

    def register(function):
        _RULES.update(dict.fromkeys(names, function))
        return function

    return register


def run(func, args, kwargs):
    """The result of a call with a sparse tensor among its arguments."""
    name = _name(func)
    if name in _RULES:
        return _RULES[name](*args, **kwargs)
    if name.endswith("_") and name[:-1] in _RULES:
        return _in_place(args[0], _RULES[name[:-1]](*args, **kwargs), name)
    raise _core.UnsupportedError(f"{name}: not there for tensors with a sparse layout; to_dense() gives a tensor that has it")


def _name(func):
    name = getattr(func, "__name__", repr(func))
    if name == "__get__":
        described = func.__self__
        return getattr(described, "fget", described).__name__
    return name


def _in_place(tensor, result, name):
    """The tensor that was to be changed, which becomes the result."""
    if tuple(result.shape) != tuple(tensor.shape) or not _core.can_cast(result.dtype, tensor.dtype):
        raise _core.ArgumentError(
            f"{name}: the result, {result.dtype} of shape {tuple(result.shape)}, does not fit into the tensor, {tensor.dtype} of {tuple(tensor.shape)}"
        )
    if tensor.layout is not result.layout:
        raise _core.ArgumentError(f"{name}: the result has the layout {result.layout}, the tensor {tensor.layout}")
    return tensor.copy_(result)
