"""What functions read besides their arguments, as far as it can be found: modules, tensors, numbers and strings."""

from __future__ import annotations

import functools
import types

from .. import _core
from ..nn.modules.module import Module

# How many functions and containers are looked into, one inside of the other, and how long those containers are at most.
_DEPTH = 4
_LENGTH = 256
# What is part of a program as it was when it was traced.
_PLAIN = frozenset({bool, int, float, complex, str, type(None)})


def watched(function):
    """The modules, tensors, numbers and strings that a function is, is bound to, has in its closure, its defaults, or its code names as globals. Lists
    are looked into for modules and tensors.
    """
    found = []
    _find(function, _DEPTH, set(), found)
    return found


def _find(value, depth, seen, found, plain=True):
    if type(value) in _PLAIN:
        if plain:
            found.append(value)
        return
    if id(value) in seen or depth == 0:
        return
    seen.add(id(value))
    if isinstance(value, (Module, _core.Tensor)):
        found.append(value)
        return
    # Numbers in lists are what functions note, rather than what they compute with.
    for part in _parts(value):
        _find(part, depth - 1, seen, found, plain and not isinstance(value, list))


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
    elif isinstance(value, (list, tuple)) and len(value) <= _LENGTH:
        yield from value
    elif isinstance(value, dict) and len(value) <= _LENGTH:
        yield from value.values()


def state(roots):
    """What tells apart how modules, tensors and plain values are now: which they are, where elements lie, whether they need gradients, and the plain
    attributes of modules, their modes among them. The modules come with it: as long as they are held no other has their identity.
    """
    modules, tensors, plain, seen = [], [], [], set()
    for root in roots:
        if isinstance(root, Module):
            _collect(root, modules, tensors, seen)
        elif isinstance(root, _core.Tensor):
            tensors.append(root)
        else:
            plain.append((type(root), root))
    attributes = tuple((id(module), *_attributes(module)) for module in modules)
    return (tuple(plain), attributes, _core._identity(tensors)), modules


def _attributes(module):
    return [(type(value), value) for value in vars(module).values() if type(value) in _PLAIN]


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
