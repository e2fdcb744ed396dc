"""Operators by name: `ops.namespace.name` finds what `opforge.library` declared; `ops.aten.name` opforge's functions."""

from __future__ import annotations

import sys
import types

from ._absent import absent_function

__all__ = ["load_library"]


def load_library(path):
    """Loads compiled operators of PyTorch, which it cannot: an OSError. `opforge.custom_op` loads kernels of its own interface."""
    raise OSError(f"ops.load_library(): {path} is compiled for PyTorch, whose binary interface opforge does not have")


class Operator:
    """An operator under its name, with the overloads that are defined: a call takes the first whose schema its arguments fit.

    Overloads of opforge's own operators, such as `ops.aten.add.Tensor`, are the function itself, which looks at its arguments.
    """

    def __init__(self, name, function=None):
        """`function` is opforge's own; operators without one are looked up at each call, as their definitions may be replaced."""
        self._qualname = self._qualified_op_name = name
        self._function = function
        self.__name__ = name.rpartition("::")[2]
        self.__module__ = __name__

    def __call__(self, *args, **kwargs):
        if self._function is not None:
            return self._function(*args, **kwargs)
        *others, last = map(self.__getattr__, self.overloads() or ["default"])
        return next((overload for overload in others if overload._takes(args, kwargs)), last)(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self._function is None and name not in self.overloads():
            raise AttributeError(f"'{self._qualname}' has no overload {name!r}; there are {', '.join(self.overloads()) or 'none'}")
        return self.__dict__.setdefault(name, Overload(self, name))

    def overloads(self):
        """The names of its overloads."""
        from .library import registry

        return ["default"] if self._function is not None else registry.overloads(self._qualname)

    def __reduce__(self):
        return _by_name, (self._qualname,)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._qualname.replace('::', '.')}')>"


class Overload:
    """One overload of an operator."""

    def __init__(self, packet, name):
        self.overloadpacket = packet
        self._overloadname = name
        self._qualname = packet._qualname if name == "default" else f"{packet._qualname}.{name}"
        self.namespace, _, self._opname = packet._qualname.partition("::")
        self.__name__ = f"{self._opname}.{name}"
        self.__module__ = packet.__module__

    def name(self):
        """The operator's name, "namespace::name", with a dot and the overload's unless that is "default"."""
        return self._qualname

    def overloads(self):
        """The names of the operator's overloads."""
        return self.overloadpacket.overloads()

    @property
    def _schema(self):
        if self.overloadpacket._function is not None:
            raise AttributeError(f"'{self._qualname}' has no schema: it is a function of opforge's")
        return self._definition().schema

    def _definition(self):
        from .library import registry

        found = registry.find(self._qualname)
        if found is None:
            raise AttributeError(f"'{self._qualname}' is not defined any more")
        return found

    def _takes(self, args, kwargs):
        """Whether arguments fit its schema."""
        from .library.binding import bind

        try:
            bind(self._qualname, self._schema, args, kwargs)
        except RuntimeError:
            return False
        return True

    def __call__(self, *args, **kwargs):
        return (self.overloadpacket._function or self._definition())(*args, **kwargs)

    def __reduce__(self):
        return getattr, (self.overloadpacket, self._overloadname)

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"


class Namespace(types.ModuleType):
    """The operators of a namespace."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = self.__name__.rpartition(".")[2]
        operator = _find(namespace, name)
        if operator is None:
            raise AttributeError(f"'{self.__name__}' has no attribute '{name}': no such operator is defined, and opforge has none")
        return self.__dict__.setdefault(name, operator)


def _by_name(name):
    namespace, _, name = name.partition("::")
    return getattr(getattr(sys.modules[__name__], namespace), name)


def _find(namespace, name):
    """The operator of a name, or None."""
    from .library import registry

    qualname = f"{namespace}::{name}"
    if registry.overloads(qualname):
        return Operator(qualname)
    return Operator(qualname, _own(namespace, name)) if namespace in registry.OWN else None


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
