"""What functions read besides their arguments, as far as it can be found: modules and tensors."""

from __future__ import annotations

import functools
import types

from .. import _core
from ..nn.modules.module import Module

# How many functions and containers are looked into, one inside of the other.
_DEPTH = 4


def watched(function):
    """The modules and tensors that a function is, is bound to, has in its closure, its defaults, or its code names as globals."""
    found = []
    _find(function, _DEPTH, set(), found)
    return found


def _find(value, depth, seen, found):
    if id(value) in seen or depth == 0:
        return
    seen.add(id(value))
    if isinstance(value, (Module, _core.Tensor)):
        found.append(value)
        return
    for part in _parts(value):
        _find(part, depth - 1, seen, found)


def _parts(value):
    if isinstance(value, types.FunctionType):
        names = value.__globals__
        yield from (names[name] for name in value.__code__.co_names if name in names and not isinstance(names[name], types.ModuleType))
        yield from (cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType())
        yield from (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
    elif isinstance(value, types.MethodType):
        yield value.__func__
        own = value.__self__
        yield from [own] if isinstance(own, Module) else getattr(own, "__dict__", {}).values()
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, (list, tuple)):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()


def state(roots):
    """What tells apart how modules and tensors are now: which they are, where their elements lie, whether they need gradients, and modes. The modules
    come with it: as long as they are held no other has their identity.
    """
    modules, tensors, seen = [], [], set()
    for root in roots:
        if isinstance(root, Module):
            _collect(root, modules, tensors, seen)
        else:
            tensors.append(root)
    names = tuple((type(module), id(module), module.training) for module in modules)
    return (names, _core._identity(tensors)), modules


def _collect(module, modules, tensors, seen):
    if id(module) in seen:
        return
    seen.add(id(module))
    modules.append(module)
    tensors.extend(tensor for tensor in module._parameters.values() if tensor is not None)
    tensors.extend(tensor for tensor in module._buffers.values() if tensor is not None)
    for child in module._modules.values():
        if child is not None:
            _collect(child, modules, tensors, seen)
