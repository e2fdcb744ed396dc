"""Containers of tensors as JSON and named tensors, and back: what `save` and `load` put into a file.

Containers, and values that JSON lacks, are objects of one key, which says what they are:

    {"dict": [[key, value], ..]}   also "OrderedDict", "Counter"
    {"tuple": [item, ..]}          also "Size", "set", "frozenset"
    {"tensor": name}               with "requires_grad" and "parameter" where they are true,
                                   and "view": [dtype, offset, size, stride] for a part of the tensor of that name
    {"meta": [dtype, size]}        a tensor without elements
    {"float": "nan"}               also "complex", "bytes" (base64), "dtype", "device"

It is the metadata of a safetensors file, so files hold no code: what has no such form is refused, or pickled when the caller asks for that.
"""

from __future__ import annotations

import base64
import collections
import math

from .. import _core
from .._tensors.layouts import is_dense
from .._tensors.size import Size

_MAPPINGS = {"dict": dict, "OrderedDict": collections.OrderedDict, "Counter": collections.Counter}
_SEQUENCES = {"tuple": tuple, "Size": Size, "set": set, "frozenset": frozenset}
_TAGS = {kind: tag for tag, kind in (_MAPPINGS | _SEQUENCES).items()} | {collections.defaultdict: "dict"}
_PLAIN = (type(None), bool, int, str)


def _dtype_name(dtype):
    return repr(dtype).removeprefix("opforge.")


def _dtype(name):
    dtype = getattr(_core, name) if isinstance(name, str) else None
    if not isinstance(dtype, _core.dtype):
        raise ValueError(f"{name!r} is no dtype")
    return dtype


def _parameter_class():
    from ..nn.parameter import Parameter

    return Parameter


class Writer:
    """Takes a tree of containers apart."""

    def __init__(self):
        self.tensors = {}
        self._found = []

    def encode(self, obj):
        """The tree as values that JSON has; fills `tensors`."""
        tree = self._encode(obj, ())
        groups = collections.defaultdict(list)
        for node, tensor in self._found:
            groups[tensor.untyped_storage()].append((node, tensor))
        for group in groups.values():
            self._place(group)
        return tree

    def _encode(self, obj, path):
        kind = type(obj)
        if kind in _PLAIN:
            return obj
        if kind is float:
            return obj if math.isfinite(obj) else {"float": repr(obj)}
        if kind is list:
            return [self._encode(item, (*path, i)) for i, item in enumerate(obj)]
        if issubclass(kind, dict) and kind in _TAGS:
            pairs = [[self._encode(key, (*path, "key")), self._encode(value, (*path, key))] for key, value in obj.items()]
            return {_TAGS[kind]: pairs}
        if kind in _TAGS:
            return {_TAGS[kind]: [self._encode(item, (*path, i)) for i, item in enumerate(obj)]}
        if isinstance(obj, _core.Tensor) and not obj.is_nested:
            return self._encode_tensor(obj, path)
        return self._encode_value(obj, path)

    def _encode_value(self, obj, path):
        if isinstance(obj, complex):
            return {"complex": str(complex(obj))}
        if isinstance(obj, (bytes, bytearray)):
            return {"bytes": base64.b64encode(obj).decode()}
        if isinstance(obj, _core.dtype):
            return {"dtype": _dtype_name(obj)}
        if isinstance(obj, _core.device):
            return {"device": str(obj)}
        if type(obj).__module__ == "numpy" and hasattr(obj, "item") and getattr(obj, "ndim", 1) == 0:
            return self._encode(obj.item(), path)
        place = "".join(f"[{key!r}]" for key in path)
        raise TypeError(
            f"save(): obj{place} is a {type(obj).__qualname__}, which has no safe form in a file; "
            "save its state, or pass pickle=True"
        )

    def _encode_tensor(self, tensor, path):
        if not is_dense(tensor):
            parts, sizes, in_order = tensor._parts()
            encoded = [self._encode_tensor(part, (*path, i)) for i, part in enumerate(parts)]
            return {tensor.layout._name: [encoded, list(sizes), in_order, tensor.requires_grad]}
        node = {"tensor": ".".join(map(str, path)) or "tensor"}
        if type(tensor) is not _core.Tensor:
            if type(tensor) is not _parameter_class():
                tensor = tensor.as_subclass(_core.Tensor)
            else:
                node["parameter"] = True
        if tensor.requires_grad:
            node["requires_grad"] = True
        tensor = tensor.detach()
        if tensor.is_meta:
            node["meta"] = [_dtype_name(tensor.dtype), list(tensor.shape)]
            del node["tensor"]
        else:
            if tensor.device.type in ("cuda", "wgpu"):
                node["location"] = str(tensor.device)
            self._found.append((node, tensor))
        return node

    def _place(self, group):
        """Names the tensors that share a storage: as one tensor if they are, otherwise as parts of one."""
        first = group[0][1]
        name = self._free_name(group[0][0]["tensor"])
        for node, _ in group:
            node["tensor"] = name
        layouts = {(t.dtype, t.storage_offset(), t.shape, t.stride()) for _, t in group}
        dtypes = {t.dtype for _, t in group}
        if len(layouts) == 1 and first.dtype is not _core.complex128:
            self.tensors[name] = first
            return
        if len(layouts) == 1:
            group = [(node, first.contiguous()) for node, _ in group]
        unit = first.dtype if len(dtypes) == 1 else _core.uint8
        unit = _core.float64 if unit is _core.complex128 else unit
        start = min(t.storage_offset() * t.itemsize for _, t in group) // 16 * 16
        count = max(max(_end(t) for _, t in group) - start, 0) // unit.itemsize
        self.tensors[name] = _rebuild(group[0][1], unit, start // unit.itemsize, (count,), (1,))
        for node, t in group:
            offset = max(t.storage_offset() - start // t.itemsize, 0)
            node["view"] = [_dtype_name(t.dtype), offset, list(t.shape), list(t.stride())]

    def _free_name(self, name):
        candidate, i = name, 2
        while candidate in self.tensors or candidate == "__metadata__":
            candidate, i = f"{name}#{i}", i + 1
        return candidate


def _end(tensor):
    """Where a tensor's last element ends in its storage, in bytes."""
    if tensor.numel() == 0:
        return 0
    last = tensor.storage_offset() + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    return (last + 1) * tensor.itemsize


def _rebuild(tensor, dtype, offset, size, stride):
    return _core._rebuild_tensor(_core.Tensor, tensor.untyped_storage(), dtype, offset, size, stride)


class Reader:
    """Puts a tree together again. What the tree says is not trusted."""

    def __init__(self, tensors, move):
        self._tensors = tensors
        self._move = move
        self._made = {}

    def decode(self, node):
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "tensor" in node or "meta" in node:
            return self._tensor(node)
        [(tag, content)] = node.items()
        if tag in _MAPPINGS:
            return _MAPPINGS[tag]({self.decode(key): self.decode(value) for key, value in content})
        if tag in ("sparse_coo", "sparse_csr", "sparse_csc"):
            from ..sparse._build import rebuilt

            parts, *rest = content
            return rebuilt(tag, [self.decode(part) for part in parts], *rest)
        if tag in _SEQUENCES:
            return _SEQUENCES[tag](self.decode(item) for item in content)
        return _VALUES[tag](content)

    def _tensor(self, node):
        key = repr(sorted(node.items(), key=lambda item: item[0]))
        if key not in self._made:
            self._made[key] = self._make(node)
        return self._made[key]

    def _make(self, node):
        if "meta" in node:
            dtype, size = node["meta"]
            tensor = _core.empty(size, dtype=_dtype(dtype), device="meta")
        else:
            tensor = self._tensors[node["tensor"]]
        if "view" in node:
            dtype, offset, size, stride = node["view"]
            dtype = _dtype(dtype)
            if tensor.data_ptr() % dtype.itemsize:  # in a mapped file
                tensor = self._tensors[node["tensor"]] = tensor.clone()
            tensor = _rebuild(tensor, dtype, offset, size, stride)
        tensor = self._move(tensor, str(node.get("location", "cpu")))
        kind = _parameter_class() if node.get("parameter") else _core.Tensor
        return _core.Tensor._make_subclass(kind, tensor, bool(node.get("requires_grad", False)))


_VALUES = {
    "float": float,
    "complex": complex,
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "dtype": _dtype,
    "device": _core.device,
}
