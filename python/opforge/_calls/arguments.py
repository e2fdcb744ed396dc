"""Errors of functions that are written in Python, for arguments that should be tensors: as the binding's, they name the argument."""

from __future__ import annotations

import functools
import inspect
from types import FunctionType

from .._core import Tensor


def names_arguments(function):
    """The function, which raises TypeError where it would raise AttributeError for an argument that has not what tensors have."""

    @functools.wraps(function)
    def call(*args, **options):
        try:
            return function(*args, **options)
        except AttributeError as error:
            name = _named(function, error, args, options)
            if name is None:
                raise
            given = f"{function.__name__}(): argument '{name}' is a {type(error.obj).__name__}, expected a tensor"
        raise TypeError(given)

    return call


def _named(function, error, args, options):
    """The name of the argument in which an attribute of tensors was looked for in vain; None if it was in nothing that was given."""
    if isinstance(error.obj, Tensor) or not hasattr(Tensor, error.name or ""):
        return None
    given = [*zip(inspect.signature(function).parameters, args), *options.items()]
    return next((name for name, value in given if value is error.obj), None)


def name_arguments(module):
    """[`names_arguments`] for all public functions that a module, of these globals, has written; `shown` ones name theirs themselves."""
    for name, value in list(module.items()):
        own = isinstance(value, FunctionType) and not name.startswith("_") and value.__module__ == module["__name__"]
        if own and not hasattr(value, "is_shown"):
            module[name] = names_arguments(value)
