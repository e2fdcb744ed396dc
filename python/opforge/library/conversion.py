"""Values for the types of schemas: what a call gives, as the operator's function gets it."""

from __future__ import annotations

import functools
import numbers
import operator
import re

from .. import _core
from .._tensors.layouts import layout, memory_format

_LIST = re.compile(r"(.+)\[(\d*)\]")


def _exactly(*classes):
    """Takes what is an instance of one of the classes."""

    def convert(value):
        if not isinstance(value, classes):
            raise TypeError
        return value

    return convert


def _number(value):
    """A number: that which is given, or the element of a tensor of one element."""
    if isinstance(value, _core.Tensor):
        if value.numel() != 1 or value.requires_grad:
            raise TypeError
        return value.item()
    if not isinstance(value, numbers.Number):
        raise TypeError
    return value.item() if hasattr(value, "item") else value  # NumPy's as Python's


def _int(value):
    return operator.index(_number(value))


def _float(value):
    number = _number(value)
    if isinstance(number, complex):
        raise TypeError
    return float(number)


def _bool(value):
    if type(value).__name__ not in ("bool", "bool_"):  # NumPy's too
        raise TypeError
    return bool(value)


def _device(value):
    if not isinstance(value, (str, _core.device)):
        raise TypeError
    return _core.device(value)


_ELEMENTS = {
    "Tensor": _exactly(_core.Tensor), "int": _int, "float": _float, "bool": _bool, "complex": lambda value: complex(_number(value)), "str": _exactly(str),
    "Scalar": _number, "ScalarType": _exactly(_core.dtype), "Device": _device, "Layout": _exactly(layout), "MemoryFormat": _exactly(memory_format),
    "Generator": _exactly(_core.Generator), "Any": lambda value: value,
}  # fmt: skip


def _optional(convert):
    return lambda value: None if value is None else convert(value)


def _list(convert, size):
    """Lists, tuples and ranges become lists; where the schema states a size, one item stands for as many."""

    def converted(value):
        if isinstance(value, (list, tuple, range)):
            return [convert(item) for item in value]
        if not size:
            raise TypeError
        return [convert(value)] * size

    return converted


@functools.cache
def converter(kind):
    """The function that gives a value as the type has it, or raises TypeError for one that is not of the type. A ValueError names a type that is unknown."""
    if kind.endswith("?"):
        return _optional(converter(kind[:-1]))
    if several := _LIST.fullmatch(kind):
        return _list(converter(several[1]), int(several[2] or 0))
    if kind not in _ELEMENTS:
        raise ValueError(f"unknown type {kind!r} (accepted: {', '.join(_ELEMENTS)}, SymInt, lists such as Tensor[] and int[2], and ? for what may be None)")
    return _ELEMENTS[kind]
