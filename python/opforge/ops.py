"""Operators by name: `ops.namespace.name` finds what `opforge.library` declared; `ops.aten.name` opforge's functions."""

from __future__ import annotations

import sys
import types

__all__ = ["load_library"]


def load_library(path):
    """Loads compiled operators of PyTorch, which it cannot: an OSError. `opforge.custom_op` loads kernels of its own interface."""
    raise OSError(f"ops.load_library(): {path} is compiled for PyTorch, whose binary interface opforge does not have")


class Operator:
    """An operator under its name. Overloads, such as `.default` and `.Tensor`, are the operator itself: it looks at its arguments."""

    def __init__(self, name, function):
        self._qualified_name = name
        self._function = function
        self.__name__ = name.rpartition("::")[2]

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def overloads(self):
        """The names of its overloads."""
        return ["default"]

    def __repr__(self):
        return f"<Operator {self._qualified_name}>"


class Namespace(types.ModuleType):
    """The operators of a namespace."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        function = _find(self.__name__.rpartition(".")[2], name)
        if function is None:
            raise AttributeError(f"'_OpNamespace' '{self.__name__}' object has no attribute '{name}': opforge knows no such operator")
        operator = Operator(f"{self.__name__.rpartition('.')[2]}::{name}", function)
        self.__dict__[name] = operator
        return operator


def _find(namespace, name):
    """The function behind an operator's name, or None."""
    from . import library

    declared = library.find(f"{namespace}::{name}")
    if declared is not None or namespace not in ("aten", "prims"):
        return declared
    import opforge

    for place in (opforge, opforge.nn.functional, opforge.Tensor, opforge.linalg, opforge.special):
        function = getattr(place, name.removeprefix("linalg_").removeprefix("special_") if place is not opforge.Tensor else name, None)
        if callable(function):
            return function
    return None


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    namespace = Namespace(f"{__name__}.{name}")
    setattr(sys.modules[__name__], name, namespace)
    return namespace
