"""How opforge's functions become MindSpore's: as they are, or by a table of MindSpore's signatures.

A table is a dictionary of names and functions, mostly one line each, which take what MindSpore's take and call opforge's.
"""

from __future__ import annotations

from functools import update_wrapper

from .dtype import Type
from .tensor import adopt, adopting


def taken(names, source) -> dict:
    """Functions that are the same in both, words of a text, from an opforge module."""
    return {name: adopting(getattr(source, name)) for name in names.split()}


def adapted(table, source) -> dict:
    """A table's functions, with MindSpore's dtypes as arguments and tensors as results; one without a docstring has that of opforge's function."""
    return {name: _adapting(name, function, getattr(source, name, None)) for name, function in table.items()}


def _adapting(name, function, original):
    def wrapper(*args, **kwargs):
        return adopt(function(*map(_core_of, args), **{key: _core_of(value) for key, value in kwargs.items()}))

    update_wrapper(wrapper, function, ("__doc__",), ())
    wrapper.__name__ = wrapper.__qualname__ = name
    wrapper.__wrapped__ = function
    wrapper.__doc__ = function.__doc__ or f"As opforge's `{name}`, by MindSpore's arguments. {(getattr(original, '__doc__', None) or '').split('>>>')[0].strip()}"
    return wrapper


def _core_of(value):
    return value.core if type(value) is Type else value
