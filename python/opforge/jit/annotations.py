"""Decorators and questions of scripts: decorators give back what they are given, and nothing is ever being compiled."""

from __future__ import annotations

import builtins
import collections
from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401  PyTorch has them in this file

__all__ = [
    "Attribute", "annotate", "export", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "script", "script_if_tracing",
    "script_method", "unused",
]  # fmt: skip

# A value of a module with the type that a script would give it.
Attribute = collections.namedtuple("Attribute", ["value", "type"])


def is_scripting() -> bool:
    """Whether a script is being compiled: never."""
    return False


def is_tracing() -> bool:
    """Whether `jit.trace` is recording: never, since traces are made by running the function as it is."""
    return False


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """A function, class or module as it is."""
    return obj


def script_if_tracing(fn):
    """A function as it is."""
    return fn


script_method = interface = export = script_if_tracing
# PyTorch's own packages have these under private names.
_script_if_tracing = _overload = _overload_method = script_if_tracing


class TracerWarning(Warning):
    """What a trace would warn of."""


def ignore(drop=False, **kwargs):
    """A function as it is: `@ignore` and `@ignore(drop=True)`."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn):
    """A function as it is."""
    return fn


def annotate(the_type, the_value):
    """The value."""
    return the_value


def isinstance(obj, target_type):  # noqa: A001  PyTorch's name
    """Whether `obj` is of a type, or of one of a tuple. Containers may say what they hold: `list[Tensor]`, `dict[str, int]`, `Optional[int]`."""
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, kind) for kind in target_type)
    origin, arguments = getattr(target_type, "__origin__", None), getattr(target_type, "__args__", ())
    if origin is None:
        return builtins.isinstance(obj, target_type if target_type is not None else type(None))
    if not builtins.isinstance(origin, type):  # Optional, Union
        return any(isinstance(obj, kind) for kind in arguments)
    return builtins.isinstance(obj, origin) and _holds(obj, origin, arguments)


def _holds(obj, origin, arguments):
    if issubclass(origin, dict):
        return all(isinstance(key, arguments[0]) and isinstance(value, arguments[1]) for key, value in obj.items())
    if issubclass(origin, tuple):
        return len(obj) == len(arguments) and all(map(isinstance, obj, arguments))
    return all(isinstance(item, arguments[0]) for item in obj)


class _BroadcastingList:
    """The annotation of a list of some length that may be given as a number."""

    def __class_getitem__(cls, item):
        return List[item]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = _BroadcastingList
