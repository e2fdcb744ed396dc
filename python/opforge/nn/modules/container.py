"""Modules and parameters held in sequences and dictionaries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain
from operator import index, itemgetter

from ... import _core as _C
from ..parameter import Parameter
from .module import Module, _addindent


def _position(i, length):
    i = index(i)
    if not -length <= i < length:
        raise IndexError(f"index {i} is out of range")
    return i % length


def _checked_iterable(values, method):
    if not isinstance(values, Iterable):
        raise TypeError(f"{method} should be called with an iterable, but got {type(values).__name__}")
    return values


class _ModuleSequence(Module):
    """What `Sequential` and `ModuleList` share: children named by their position."""

    def _set_all(self, modules):
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def __getitem__(self, i):
        modules = list(self._modules.values())
        if isinstance(i, slice):
            return self._of(list(self._modules.items())[i])
        return modules[_position(i, len(modules))]

    def __setitem__(self, i, module):
        setattr(self, list(self._modules)[_position(i, len(self))], module)

    def __delitem__(self, i):
        names = list(self._modules)
        for name in names[i] if isinstance(i, slice) else [names[_position(i, len(names))]]:
            delattr(self, name)
        self._set_all(list(self._modules.values()))

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __contains__(self, module):
        return any(module is m for m in self)

    def append(self, module):
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Adds modules at the end."""
        for module in list(_checked_iterable(modules, f"{type(self).__name__}.extend")):
            self.append(module)
        return self

    def insert(self, i, module):
        """Adds a module before position `i`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= i <= len(self):
            raise IndexError(f"Index out of range: {i}")
        modules = list(self)
        modules.insert(i, module)
        self._set_all(modules)

    def pop(self, i):
        """Takes a module out and returns it."""
        module = self[i]
        del self[i]
        return module

    def __iadd__(self, modules):
        return self.extend(modules)


class Sequential(_ModuleSequence):
    """Modules called one after the other, each with the result of the one before.

    Takes the modules, or one ordered dictionary of them by name. Slices are `Sequential` again.

    >>> model = opforge.nn.Sequential(opforge.nn.Linear(4, 8), opforge.nn.ReLU(), opforge.nn.Linear(8, 2))
    >>> model(opforge.randn(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self._set_all(args)

    def _of(self, items):
        return type(self)(dict(items))

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def insert(self, index, module):
        super().insert(index, module)
        return self

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __mul__(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return Sequential(*list(self) * times)

    __rmul__ = __mul__

    def __imul__(self, times):
        return self.extend(list(self) * (times - 1)) if times > 0 else self * times


class ModuleList(_ModuleSequence):
    """A list of modules; what is in it is registered.

    >>> layers = opforge.nn.ModuleList(opforge.nn.Linear(10, 10) for _ in range(3))
    >>> len(layers[1:])
    2
    """

    def __init__(self, modules=None):
        super().__init__()
        self.extend(() if modules is None else modules)

    def _of(self, items):
        return type(self)(module for _, module in items)

    def __add__(self, other):
        return ModuleList(chain(self, other))

    def __repr__(self):
        """Like a module's, with runs of equal modules shown once."""
        runs = []
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in runs]
        return f"{self._get_name()}(\n  " + "\n  ".join(_addindent(line, 2) for line in lines) + "\n)"


def _items(values, method):
    """The pairs of a mapping or of an iterable of pairs."""
    if isinstance(values, (Mapping, ModuleDict, ParameterDict)):
        return list(values.items())
    pairs = list(_checked_iterable(values, method))
    for i, pair in enumerate(pairs):
        if not isinstance(pair, Iterable) or len(pair := tuple(pair)) != 2:
            raise ValueError(f"{method}: update sequence element #{i} should have length 2; it is {pair!r}")
    return pairs


class ModuleDict(Module):
    """A dictionary of modules; what is in it is registered."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Removes all."""
        self._modules.clear()

    def pop(self, key):
        """Takes a module out and returns it."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """The names with their modules."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds or replaces modules, from a mapping or from pairs."""
        for key, module in _items(modules, "ModuleDict.update"):
            self[key] = module


def _as_parameter(value):
    """Tensors become parameters in parameter containers; anything else stays what it is."""
    return Parameter(value) if isinstance(value, _C.Tensor) and not isinstance(value, Parameter) else value


def _describe(key, value):
    if not isinstance(value, _C.Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.shape)
    return f"  ({key}): {kind} containing: [{value.dtype} of size {size}]"


class ParameterList(Module):
    """A list of parameters; tensors put into it become parameters."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return type(self)(self[k] for k in range(*i.indices(len(self))))
        return getattr(self, str(_position(i, len(self))))

    def __setitem__(self, i, value):
        setattr(self, str(_position(i, len(self))), _as_parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def append(self, value):
        """Adds a value at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values):
        """Adds values at the end."""
        if isinstance(values, _C.Tensor):
            raise TypeError("ParameterList.extend should be called with an iterable, but got Tensor")
        for value in list(_checked_iterable(values, "ParameterList.extend")):
            self.append(value)
        return self

    def __iadd__(self, values):
        return self.extend(values)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def extra_repr(self):
        return "\n".join(_describe(i, value) for i, value in enumerate(self))


class ParameterDict(Module):
    """A dictionary of parameters; tensors put into it become parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}')")
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """The names."""
        return self._keys.keys()

    def values(self):
        """The values."""
        return [self[key] for key in self._keys]

    def items(self):
        """The names with their values."""
        return [(key, self[key]) for key in self._keys]

    def get(self, key, default=None):
        """The value of a name, or `default`."""
        return self[key] if key in self else default

    def setdefault(self, key, default=None):
        """The value of a name, which is `default` from now on if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key):
        """Takes a value out and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Takes the last name and value out and returns them."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self):
        """Removes all."""
        for key in list(self._keys):
            del self[key]

    def copy(self):
        """Another dictionary of the same parameters."""
        return type(self)(self.items())

    @classmethod
    def fromkeys(cls, keys, default=None):
        """A dictionary with one value for all names."""
        return cls((key, default) for key in keys)

    def update(self, parameters):
        """Adds or replaces values, from pairs or from a mapping: new names of a mapping come sorted, unless it is an OrderedDict or a ParameterDict."""
        pairs = _items(parameters, "ParameterDict.update")
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs.sort(key=itemgetter(0))
        for key, value in pairs:
            self[key] = value

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def __ior__(self, other):
        self.update(other)
        return self

    def extra_repr(self):
        return "\n".join(_describe(key, value) for key, value in self.items())
