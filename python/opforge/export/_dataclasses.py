"""Data classes among arguments and results: for graphs they are tuples of a class of their own, with the fields' values."""

from __future__ import annotations

import dataclasses

from ..utils import _pytree

# By their names in saved programs.
_KINDS: dict[str, type] = {}
_OF_CLASS: dict[type, type] = {}


class Fields(tuple):
    """The values of a data class's fields. Its subclasses have the class, its name in saved programs, and the fields' names."""

    source: type
    name: str
    fields: tuple[str, ...]


def register_dataclass(cls, *, serialized_type_name=None):
    """Has `export` look into a data class among arguments and results, whose fields are then what tuples' items are; trees look into it, too.

    Saved programs name it by `serialized_type_name`, or its module and its name: whoever loads such a program registers it first. Raises ValueError for what
    is no data class.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: opforge.Tensor
    ...     y: opforge.Tensor
    >>> register_dataclass(Point)
    >>> class Swap(opforge.nn.Module):
    ...     def forward(self, point):
    ...         return Point(point.y, point.x)
    >>> point = Point(opforge.ones(2), opforge.zeros(1))
    >>> opforge.export.export(Swap(), (point,)).module()(point)
    Point(x=tensor([0.]), y=tensor([1., 1.]))
    """
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise ValueError(f"register_dataclass(): a data class expected, got {cls!r}")
    names = tuple(field.name for field in dataclasses.fields(cls) if field.init)
    name = serialized_type_name or f"{cls.__module__}.{cls.__qualname__}"
    if cls not in _pytree.SUPPORTED_NODES:
        _pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)
    kind = type(cls.__name__, (Fields,), {"source": cls, "name": name, "fields": names, "__module__": cls.__module__})
    _KINDS[name] = _OF_CLASS[cls] = kind


def named(name):
    """The class of tuples for the data class of this name in saved programs. Raises ValueError if it is not registered."""
    if name not in _KINDS:
        raise ValueError(f"the data class {name} is not known; export.register_dataclass() makes it so")
    return _KINDS[name]


def packed(value):
    """The value with such tuples in the place of data classes."""
    kind = _OF_CLASS.get(type(value))
    if kind is not None:
        return kind(packed(getattr(value, name)) for name in kind.fields)
    return _mapped(value, packed)


def unpacked(value):
    """The value with data classes in the place of such tuples."""
    if isinstance(value, Fields):
        return value.source(**dict(zip(value.fields, map(unpacked, value), strict=True)))
    return _mapped(value, unpacked)


def _mapped(value, function):
    """The value with the function of what its tuples, lists and dictionaries hold; itself while no data class is registered."""
    if not _KINDS:
        return value
    if type(value) in (tuple, list):
        return type(value)(map(function, value))
    if type(value) is dict:
        return {name: function(item) for name, item in value.items()}
    return value
