"""PyTorch's checkpoints: containers of tensors as objects of a pickle, and back. The pickle itself is read and written by the core, which executes
nothing.

Objects are tuples of a tag and what they hold; a container names others by their places in one list (see `_core._read_checkpoint`).
"""

from __future__ import annotations

import collections

from .. import _core
from .._tensors.layouts import is_dense
from .._tensors.size import Size

_MAPS = {"dict": dict, "OrderedDict": collections.OrderedDict, "Counter": collections.Counter}
_TAGS = {kind: tag for tag, kind in _MAPS.items()} | {collections.defaultdict: "dict"}
_SEQUENCES = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}
_SMALL = range(-(2**63), 2**63)


class Writer:
    """Takes containers apart. The same object in several places is written once."""

    def __init__(self, parameter_class):
        self.objects = []
        self._parameter_class = parameter_class
        self._places = {}
        # Addresses are those of objects that live.
        self._alive = []
        self._open = set()

    def add(self, obj, path=()):
        """The place of an object among those that are written, where it is put if it is new."""
        known = self._places.get(id(obj))
        if known is not None:
            return known
        if id(obj) in self._open:
            raise ValueError("save(): obj is nested too deeply, or contains itself")
        self._open.add(id(obj))
        described = self._described(obj, path)
        self._open.discard(id(obj))
        self.objects.append(described)
        self._alive.append(obj)
        self._places[id(obj)] = len(self.objects) - 1
        return len(self.objects) - 1

    def _described(self, obj, path):
        kind = type(obj)
        if kind is int and obj not in _SMALL:
            return "long", obj.to_bytes(obj.bit_length() // 8 + 1, "little", signed=True)
        if kind in (type(None), bool, int, float, str) or isinstance(obj, _core.dtype):
            return "value", obj
        if isinstance(obj, (bytes, bytearray)):
            return "value", bytes(obj)
        if kind in _TAGS:
            return self._map(obj, path)
        if kind in _SEQUENCES:
            return _SEQUENCES[kind], [self.add(item, (*path, i)) for i, item in enumerate(obj)]
        if kind is Size:
            return "Size", list(obj)
        if isinstance(obj, _core.Tensor) and is_dense(obj):
            return self._tensor(obj)
        if isinstance(obj, complex):
            return "complex", obj.real, obj.imag
        if isinstance(obj, _core.device):
            return "device", str(obj)
        if kind.__module__ == "numpy" and hasattr(obj, "dtype") and obj.dtype.kind in "biufc" and obj.dtype.isnative:
            if kind.__name__ != "ndarray":
                return self._described(obj.item(), path)
            return "array", obj.dtype.str, list(obj.shape), False, obj.tobytes()
        place = "".join(f"[{key!r}]" for key in path)
        raise TypeError(f"save(): obj{place} is a {kind.__qualname__}, which has no safe form in a file; save its state, or pass pickle=True")

    def _map(self, obj, path):
        pairs = [(self.add(key, (*path, "key")), self.add(value, (*path, key))) for key, value in obj.items()]
        attributes = getattr(obj, "__dict__", None)
        return _TAGS[type(obj)], pairs, self.add(dict(attributes), path) if attributes else None

    def _tensor(self, tensor):
        is_parameter = type(tensor) is self._parameter_class
        if tensor.is_meta:
            return "meta", tensor.dtype, list(tensor.shape), list(tensor.stride()), tensor.requires_grad
        plain = tensor if type(tensor) is _core.Tensor else tensor.as_subclass(_core.Tensor)
        return "tensor", plain, tensor.requires_grad, is_parameter


class Reader:
    """Puts objects together again. `move` brings tensors from a device to where they are to be."""

    def __init__(self, objects, move, parameter_class):
        self._objects = objects
        self._move = move
        self._parameter_class = parameter_class
        self._made = {}

    def object(self, place):
        if place not in self._made:
            tag, *content = self._objects[place]
            self._made[place] = self._make(place, tag, content)
        return self._made[place]

    def _make(self, place, tag, content):
        if tag == "list":
            # It may hold itself.
            made = self._made[place] = []
            made.extend(map(self.object, content[0]))
            return made
        if tag in _MAPS:
            return self._map(place, tag, *content)
        if tag in ("tuple", "set", "frozenset"):
            return {"tuple": tuple, "set": set, "frozenset": frozenset}[tag](map(self.object, content[0]))
        if tag == "tensor":
            tensor, requires_grad, is_parameter, location = content
            kind = self._parameter_class if is_parameter else _core.Tensor
            return _core.Tensor._make_subclass(kind, self._move(tensor, location), requires_grad)
        return _VALUES[tag](*content)

    def _map(self, place, tag, pairs, attributes):
        made = self._made[place] = _MAPS[tag]()
        # Without the counting that `update` of a Counter does.
        for key, value in pairs:
            made[self.object(key)] = self.object(value)
        if attributes is not None and hasattr(made, "__dict__"):
            made.__dict__.update(self.object(attributes) or {})
        return made


def _array(dtype, shape, fortran_order, data):
    import numpy

    elements = numpy.frombuffer(bytearray(data), numpy.dtype(dtype))
    if shape is None:
        return elements[0]
    return elements.reshape(shape, order="F" if fortran_order else "C")


def _named(name):
    raise _core.FormatError(f"malformed pickle data: it holds {name}, a function or class (accepted: containers, numbers, texts and tensors)")


_VALUES = {
    "value": lambda value: value,
    "long": lambda data: int.from_bytes(data, "little", signed=True),
    "complex": complex,
    "array": _array,
    "Size": Size,
    "device": _core.device,
    "name": _named,
    "storage": lambda _: _named("torch.storage"),
    "meta": lambda dtype, size, stride, grad: _core.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=grad),
}
