"""Arguments of functions that are written in Python: what should be tensors, with errors that name the argument as the binding's do; dimensions."""

from __future__ import annotations

import functools
import inspect
from types import FunctionType

from .._core import IndexError, Tensor


def dim_from_0(dim, rank):
    """A dimension of `rank`, which may count from the end, as a number from 0. IndexError outside of -rank to rank - 1."""
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return dim % rank


def names_arguments(function):
    """The function, which raises TypeError where it would raise AttributeError for an argument that has not what tensors have."""

    @functools.wraps(function)
    def call(*args, **options):
        try:
            return function(*args, **options)
        except AttributeError as error:
            refuse_argument(function, error, args, options)
            raise

    return call


def refuse_argument(function, error, args, options):
    """Raises TypeError if an attribute of tensors was looked for in vain in an argument of this call of the function."""
    if isinstance(error.obj, Tensor) or not hasattr(Tensor, error.name or ""):
        return
    for name, value in [*zip(inspect.signature(function).parameters, args), *options.items()]:
        if value is error.obj:
            raise TypeError(f"{function.__name__}(): argument '{name}' is a {type(value).__name__}, expected a tensor") from None


def name_arguments(module):
    """[`names_arguments`] for all public functions that a module, of these globals, has written; `shown` ones name theirs themselves."""
    for name, value in list(module.items()):
        own = isinstance(value, FunctionType) and not name.startswith("_") and value.__module__ == module["__name__"]
        if own and not hasattr(value, "is_shown"):
            module[name] = names_arguments(value)
