"""`jit`: functions, methods and cells whose calls run as graphs."""

from __future__ import annotations

import functools

from ..graph import compile as _compile
from .tensor import adopt

_CAPTURES = ("ast", "bytecode", "trace")


def jit(function=None, *, capture_mode="ast", jit_level="O0", dynamic=0, fullgraph=False, backend="", **options):
    """`function` as a graph: its calls are traced once for each kind of arguments (shapes, dtypes, what is no tensor), then run as one program, with
    gradients. Also a decorator, with or without options; for methods of cells (`construct`), and a cell itself.

    Python runs while a call is traced: it may look at shapes, and decide by them. What reads elements runs as it is, with a warning; with `fullgraph` it
    is an error. Numbers and attributes are those of the first call of a kind; parameters are read anew in each. A new shape takes milliseconds, whatever
    `dynamic` says. `capture_mode`, `jit_level`, `backend` and further options, which choose among MindSpore's compilers, change nothing.

    Raises TypeError for what cannot be called, and ValueError for another `capture_mode`.

    >>> from opforge.mindspore import Tensor, jit
    >>> @jit
    ... def scaled(x, factor):
    ...     return (x * factor).exp()
    >>> print(scaled(Tensor([0.0, 0.0]), 2))
    [1. 1.]
    """
    if capture_mode not in _CAPTURES:
        raise ValueError(f"jit: capture_mode {capture_mode!r} (accepted: {', '.join(map(repr, _CAPTURES))})")
    if function is None:
        return functools.partial(jit, capture_mode=capture_mode, jit_level=jit_level, dynamic=dynamic, fullgraph=fullgraph, backend=backend, **options)
    if not callable(function):
        raise TypeError(f"jit: {type(function).__name__} (accepted: a function, a method or a Cell)")
    of_function = lambda *args, **kwargs: function(*_adopt(args), **_adopt(kwargs))  # noqa: E731
    functools.update_wrapper(of_function, function, ("__module__", "__name__", "__qualname__", "__doc__"), ())
    graph = _compile(of_function, fullgraph=bool(fullgraph))

    def run(*args, **kwargs):
        return _adopt(graph(*args, **kwargs))

    return functools.update_wrapper(run, function, ("__module__", "__name__", "__qualname__", "__doc__"), ())


def jit_class(cls):
    """`cls` itself: graphs take objects of all classes."""
    return cls


def mutable(input_data, dynamic_len=False):
    """`input_data` itself: tensors in containers are arguments of graphs like others."""
    return input_data


def _adopt(value):
    """As `adopt`, also of what stands in dictionaries."""
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            _adopt(item)
        return value
    return adopt(value)
