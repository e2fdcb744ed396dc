"""Files of parameters, in MindSpore's format: Protocol Buffers' messages of a name, a shape, a dtype and the bytes of each tensor."""

from __future__ import annotations

import os

import numpy as np

from .dtype import OF_CORE
from .parameter import Parameter
from .tensor import Base, Tensor

_TYPES = {str(dtype): dtype for dtype in OF_CORE.values()}


def save_checkpoint(save_obj, ckpt_file_name, integrated_save=True, async_save=False, append_dict=None, **options):
    """Writes the parameters of a cell, of a dictionary or of a list of `{"name": .., "data": ..}` to a file, whose name ends in `.ckpt`."""
    items = _items(save_obj) + [(name, Tensor(value)) for name, value in (append_dict or {}).items()]
    path = os.fspath(ckpt_file_name)
    with open(path if path.endswith(".ckpt") else path + ".ckpt", "wb") as file:
        for name, tensor in items:
            file.write(_field(1, _field(1, name.encode()) + _field(2, _message(tensor))))


def load_checkpoint(ckpt_file_name, net=None, strict_load=False, filter_prefix=None, choice_func=None, **options):
    """The parameters in a file, by name; with `net`, they are loaded into it as well. Raises `ValueError` for what is no such file."""
    with open(ckpt_file_name, "rb") as file:
        data = file.read()
    parts = {}
    for _, value in _fields(data, ckpt_file_name):
        fields = dict(_fields(value, ckpt_file_name))
        parts.setdefault(bytes(fields[1]).decode(), []).append(fields[2])
    prefixes = (filter_prefix,) if isinstance(filter_prefix, str) else tuple(filter_prefix or ())
    chosen = {name: part for name, part in parts.items() if not name.startswith(prefixes) or not prefixes}
    chosen = {name: part for name, part in chosen.items() if choice_func is None or choice_func(name)}
    found = {name: Parameter(_tensor(part, ckpt_file_name), name) for name, part in chosen.items()}
    if net is not None:
        load_param_into_net(net, found, strict_load)
    return found


def load_param_into_net(net, parameter_dict, strict_load=False, remove_redundancy=False):
    """Writes parameters, by name, into those of a cell with the same names. Returns the names that the cell has and the dictionary lacks, and the reverse.

    Raises `RuntimeError` for another shape, or dtype unless it is another one of floating point, or with `strict_load` for any missing parameter.
    """
    wanted = net.parameters_dict()
    missing = [name for name in wanted if name not in parameter_dict]
    if strict_load and missing:
        raise RuntimeError(f"load_param_into_net: there is no {', '.join(missing)} in the file (accepted: every parameter, with strict_load)")
    for name in wanted.keys() & parameter_dict.keys():
        ours, given = wanted[name], parameter_dict[name]
        if ours.shape != tuple(given.shape):
            raise RuntimeError(f"load_param_into_net: {name} has shape {tuple(given.shape)} (accepted: {ours.shape})")
        if ours.dtype != given.dtype and not (Base.is_floating_point(ours) and Base.is_floating_point(given)):
            raise RuntimeError(f"load_param_into_net: {name} is of {given.dtype} (accepted: {ours.dtype})")
        ours.set_data(given)
    return missing, [name for name in parameter_dict if name not in wanted]


def _items(save_obj) -> list:
    """Names and tensors."""
    if hasattr(save_obj, "parameters_dict"):
        return list(save_obj.parameters_dict().items())
    if isinstance(save_obj, dict):
        return list(save_obj.items())
    if isinstance(save_obj, (list, tuple)):
        return [(item["name"], item["data"]) for item in save_obj]
    raise TypeError(f"save_checkpoint: save_obj is a {type(save_obj).__name__} (accepted: a Cell, a dict, a list of dicts of name and data)")


def _message(tensor) -> bytes:
    dims = b"".join(_varint(1 << 3) + _varint(size) for size in (tensor.shape or (1,)))
    content = Base.contiguous(Base.detach(tensor)).cpu()
    bits = content.view(_bits(content)).numpy() if tensor.dtype.name not in _NUMPY else content.numpy()
    return dims + _field(2, str(tensor.dtype).encode()) + _field(3, np.ascontiguousarray(bits).tobytes())


_NUMPY = {name for name in (dtype.name for dtype in OF_CORE.values()) if not name.startswith(("bfloat", "float8"))}


def _bits(tensor):
    from .. import _core

    return _core.int16 if tensor.itemsize == 2 else _core.int8


def _tensor(parts, path):
    """The tensor of a message, or of several with the same name, whose bytes follow one another."""
    dims, title, content = [], "", b""
    for part in parts:
        for key, value in _fields(part, path):
            if key == 1 and part is parts[0]:
                dims += [value] if isinstance(value, int) else _packed(value)
            elif key == 2:
                title = bytes(value).decode()
            elif key == 3:
                content += bytes(value)
    if title not in _TYPES:
        raise ValueError(f"load_checkpoint: {path}: dtype {title!r} (accepted: {', '.join(_TYPES)})")
    dtype = _TYPES[title]
    kind = dtype.name if dtype.name in _NUMPY else "int16" if dtype.name == "bfloat16" else "int8"
    array = np.frombuffer(content, kind)
    if array.size != int(np.prod(dims)):
        raise ValueError(f"load_checkpoint: {path}: {array.size} elements (accepted: {int(np.prod(dims))}, as the shape {dims} says)")
    tensor = Tensor(array.reshape(dims))
    return tensor if kind == dtype.name else Base.view(tensor, dtype.core)


# Protocol Buffers: each field is its number and kind, then a varint or a length and bytes.


def _varint(value) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def _field(number, content) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _read(data, at, path):
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ValueError(f"load_checkpoint: {path} is no file of parameters")


def _fields(data, path):
    """The numbers of fields and their values: an int, or bytes."""
    data, at = memoryview(data), 0
    while at < len(data):
        key, at = _read(data, at, path)
        value, at = _read(data, at, path)
        if key & 7 == 2:
            if at + value > len(data):
                raise ValueError(f"load_checkpoint: {path} ends too early")
            yield key >> 3, data[at : at + value]
            at += value
        elif key & 7 == 0:
            yield key >> 3, value
        else:
            raise ValueError(f"load_checkpoint: {path} is no file of parameters")


def _packed(data) -> list:
    found, at = [], 0
    while at < len(data):
        value, at = _read(data, at, "")
        found.append(value)
    return found
