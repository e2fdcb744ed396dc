"""Lengths that are free in exported programs: `Dim`, `dims`, and what `dynamic_shapes` says of arguments."""

from __future__ import annotations

import enum
import inspect
import keyword

from .. import _core


class _Hint(enum.Enum):
    """What may be said of a dimension without a name for its length."""

    AUTO = "free where the module allows it"
    DYNAMIC = "free"
    STATIC = "as in the example"


class Dim:
    """A length that calls are free to choose, from `min` to `max`. Dimensions with one `Dim` are equally long.

    Without `min` or `max`, the least and the most that the module accepts are looked for. `2 * dim`, `dim + 1` and `dim - 1` are lengths that depend on it.
    Instead of a `Dim`, a dimension may be `Dim.DYNAMIC`, which is one of its own, `Dim.AUTO`, free only if the module allows it, or `Dim.STATIC`.

    >>> batch = opforge.export.Dim("batch", min=2, max=64)
    >>> 2 * batch + 1
    2*batch+1
    """

    AUTO = _Hint.AUTO
    DYNAMIC = _Hint.DYNAMIC
    STATIC = _Hint.STATIC

    def __init__(self, name, *, min=None, max=None):  # noqa: A002
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
            raise ValueError(f"Dim(): name is to be an identifier, not {name!r}")
        for what, bound in ("min", min), ("max", max):
            if bound is not None and (type(bound) is not int or bound < 0):
                raise ValueError(f"Dim({name!r}): {what} is to be a length, not {bound!r}")
        if min is not None and max is not None and min > max:
            raise ValueError(f"Dim({name!r}): min is {min}, above max, {max}")
        self.__name__ = name
        self.min = min
        self.max = max
        self._root, self._factor, self._more = self, 1, 0

    def _derived(self, factor, more):
        if factor < 1:
            raise NotImplementedError(f"a length may be a positive multiple of {self._root.__name__}, and not {factor} times it")
        dim = object.__new__(Dim)
        dim._root, dim._factor, dim._more = self._root, factor, more
        dim.min = dim.max = None
        dim.__name__ = dim._text()
        return dim

    def _text(self):
        times = self._root.__name__ if self._factor == 1 else f"{self._factor}*{self._root.__name__}"
        return times + (f"{self._more:+}" if self._more else "")

    def _checked(self, other):
        if type(other) is not int:
            raise NotImplementedError(f"a length that depends on {self.__name__} is a multiple of it plus an integer, and not made with {other!r}")
        return other

    def __add__(self, other):
        return self._derived(self._factor, self._more + self._checked(other))

    def __radd__(self, other):
        return self + other

    def __sub__(self, other):
        return self._derived(self._factor, self._more - self._checked(other))

    def __mul__(self, other):
        return self._derived(self._factor * self._checked(other), self._more * other)

    def __rmul__(self, other):
        return self * other

    def __repr__(self):
        return self.__name__


def dims(*names, min=None, max=None):  # noqa: A002
    """A `Dim` for each name.

    >>> batch, length = opforge.export.dims("batch", "length", max=512)
    >>> length.max
    512
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


class Spec:
    """What is free in the tensors of a call: `(tensor, dimension, Dim or hint)` each, tensors counted in their order."""

    def __init__(self, function, args, kwargs, dynamic_shapes):
        self._free = []
        self._lengths = {}
        self._count = 0
        named = _by_name(function, args, kwargs, dynamic_shapes)
        for value, spec, what in named:
            self._look(value, spec, what)

    def _look(self, value, spec, what):
        if isinstance(value, _core.Tensor):
            self._tensor(value, spec, what)
        elif isinstance(value, dict):
            if spec is not None and (not isinstance(spec, dict) or not set(spec) <= set(value)):
                raise TypeError(f"export(): dynamic_shapes: {what} is a dictionary with the keys {list(value)}, not {spec!r}")
            for name, item in value.items():
                self._look(item, (spec or {}).get(name), f"{what}[{name!r}]")
        elif isinstance(value, (list, tuple)):
            if spec is not None and (not isinstance(spec, (list, tuple)) or len(spec) != len(value)):
                raise TypeError(f"export(): dynamic_shapes: {what} has {len(value)} items, not {spec!r}")
            for i, item in enumerate(value):
                self._look(item, None if spec is None else spec[i], f"{what}[{i}]")
        elif spec is not None:
            raise TypeError(f"export(): dynamic_shapes: {what} is no tensor, and {spec!r} is said of it")

    def _tensor(self, tensor, spec, what):
        number, self._count = self._count, self._count + 1
        if spec is None:
            return
        if isinstance(spec, (list, tuple)):
            if len(spec) != tensor.ndim:
                raise TypeError(f"export(): dynamic_shapes: {what} has {tensor.ndim} dimensions, not {spec!r}")
            spec = dict(enumerate(spec))
        if not isinstance(spec, dict):
            raise TypeError(f"export(): dynamic_shapes: of {what} a dictionary or a tuple of dimensions is said, not {spec!r}")
        for dim, length in spec.items():
            if type(dim) is not int or not -tensor.ndim <= dim < tensor.ndim:
                raise IndexError(f"export(): dynamic_shapes: {what} has {tensor.ndim} dimensions, and no dimension {dim!r}")
            dim %= tensor.ndim
            if isinstance(length, Dim) or length in (_Hint.AUTO, _Hint.DYNAMIC):
                self._free.append((number, dim, length))
                self._lengths[number, dim] = tensor.shape[dim]
            elif length not in (None, _Hint.STATIC) and (type(length) is not int or length != tensor.shape[dim]):
                raise ValueError(f"export(): dynamic_shapes: {what}: dimension {dim} is {tensor.shape[dim]} long; a Dim was expected, not {length!r}")

    def choices(self):
        """Ways to understand the hints, from the freest on: a list of sizes `(name, min, max)`, and of what is free `(tensor, dimension, expression)`."""
        hints = [length for _, _, length in self._free if isinstance(length, _Hint)]
        yield self._sizes(lambda number, dim: (number, dim))
        if len(hints) > 1:
            yield self._sizes(lambda number, dim: self._lengths[number, dim])
        if _Hint.AUTO in hints:
            yield self._sizes(lambda number, dim: (number, dim), frees_auto=False)

    def _sizes(self, key, frees_auto=True):
        roots, free, names = {}, [], {}
        for number, dim, length in self._free:
            if isinstance(length, Dim):
                root = length._root
                if roots.setdefault(root.__name__, root) is not root and (root.min, root.max) != (roots[root.__name__].min, roots[root.__name__].max):
                    raise ValueError(f"export(): dynamic_shapes: two Dims are named {root.__name__}")
                free.append((number, dim, length._text()))
            elif frees_auto or length is _Hint.DYNAMIC:
                name = names.setdefault(key(number, dim), f"s{len(names)}")
                free.append((number, dim, name))
        taken = set(names.values()) & set(roots)
        if taken:
            raise ValueError(f"export(): dynamic_shapes: a Dim is named {min(taken)}, which is the name of a dimension without one")
        sizes = [(name, root.min or 0, root.max) for name, root in roots.items()]
        return sizes + [(name, 0, None) for name in names.values()], free


def _by_name(function, args, kwargs, spec):
    """The arguments in the order of their tensors, each with what is said of it, and its name."""
    parameters = list(inspect.signature(function).parameters.values())
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    named = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None)
    names = [p.name for p in plain[: len(args)]]
    if isinstance(spec, (list, tuple)):
        known = [*names, *([rest] if len(args) > len(plain) else []), *kwargs]
        if len(spec) != len(known):
            raise TypeError(f"export(): dynamic_shapes: there are {len(known)} arguments, and something is said of {len(spec)}")
        spec = dict(zip(known, spec, strict=True))
    if not isinstance(spec, dict):
        raise TypeError(f"export(): dynamic_shapes: a dictionary or a tuple was expected, not {type(spec).__name__}")
    unknown = set(spec) - {p.name for p in parameters} - set(kwargs)
    if unknown:
        raise TypeError(f"export(): dynamic_shapes: no argument is named {', '.join(map(repr, sorted(unknown)))}")
    for name, value in zip(names, args, strict=False):
        yield value, spec.get(name), name
    if len(args) > len(plain):
        yield args[len(plain) :], spec.get(rest), rest
    for name, value in sorted(kwargs.items()):
        yield value, spec[name] if name in spec else (spec.get(named) or {}).get(name), name
