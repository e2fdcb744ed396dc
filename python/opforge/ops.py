"""Operators by name: `ops.namespace.name` finds what `opforge.library` declared; `ops.aten.name` opforge's functions."""

from __future__ import annotations

import sys
import types

from ._absent import absent_function

__all__ = ["load_library"]

# The namespaces of PyTorch's own operators.
_PYTORCHS = ("aten", "prims", "prim")


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
        namespace = self.__name__.rpartition(".")[2]
        function = _find(namespace, name)
        if function is None:
            raise AttributeError(f"'{self.__name__}' has no attribute '{name}': no such operator is defined, and opforge has none")
        return self.__dict__.setdefault(name, Operator(f"{namespace}::{name}", function))


def _find(namespace, name):
    """The function behind an operator's name, or None."""
    from . import library

    declared = library.find(f"{namespace}::{name}")
    return declared if declared is not None or namespace not in _PYTORCHS else _own(namespace, name)


def _own(namespace, name):
    """The function of opforge's behind a name of PyTorch's operators. Packages make tables by them: those that are missing are errors when they are called."""
    import opforge

    for prefix, place in ("linalg_", opforge.linalg), ("special_", opforge.special), ("", opforge), ("", opforge.nn.functional), ("", opforge.Tensor):
        function = getattr(place, name.removeprefix(prefix), None) if name.startswith(prefix) else None
        if callable(function):
            return function
    return absent_function(f"torch.ops.{namespace}.{name}", "opforge has no such operator")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    namespace = Namespace(f"{__name__}.{name}")
    setattr(sys.modules[__name__], name, namespace)
    return namespace
