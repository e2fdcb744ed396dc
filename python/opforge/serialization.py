"""`save` and `load`: containers of tensors, numbers and texts in `.safetensors` files.

A dict of tensors becomes a plain file that other programs read; what else there is stands in the file's metadata. Loading runs no code of the
file's: pickles are read only by `load(f, unpickle=True)`.
"""

from __future__ import annotations

import io
import json
import os
import pickle as _pickle
import tempfile

from . import _core
from ._safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals  # noqa: F401  PyTorch has them in this file
from ._tree import Reader, Writer

__all__ = ["load", "save"]

# The entry of the metadata that holds the tree.
_KEY = "opforge"


def save(obj, f, *, pickle=False, pickle_protocol=_pickle.DEFAULT_PROTOCOL):
    """Writes tensors, numbers, texts and containers of them to a path or an open file.

    Containers are lists, tuples, sets and dicts with any such keys; tensors that share memory still do after `load`. A path is replaced as a
    whole once everything is written. With `pickle=True` the object may be anything that pickle takes, and the file is a pickle.

    Raises TypeError, which names the place, for objects of other types.
    """
    if pickle:
        return _write(_pickle.dumps(obj, protocol=pickle_protocol), f)
    writer = Writer()
    try:
        metadata = {_KEY: json.dumps(writer.encode(obj), separators=(",", ":"))}
    except RecursionError:
        raise ValueError("save(): obj is nested too deeply, or contains itself") from None
    if _is_path(f):
        _core._save_safetensors(writer.tensors, metadata, os.fspath(f))
    else:
        f.write(_core._save_safetensors(writer.tensors, metadata, None))


def load(f, map_location=None, *, weights_only=True, mmap=None, unpickle=False):
    """What `save` wrote to a path or an open file; of a `.safetensors` or `.npz` file by others, the dict of its tensors; the tensor of a `.npy`
    file.

    `map_location` is the device that tensors are to be on. Tensors are copies: the file may be changed afterwards. With `mmap=True` they are
    read-only views of the file, which must keep its content as long as there are such tensors: who overwrites it changes them, and who truncates it
    ends this process (SIGBUS) when they are read; replacing it by another file of its name, as `save` does, is safe. `unpickle=True` reads a pickle,
    which may run any code: only for files whose origin you trust. `weights_only` is there for PyTorch's programs; no value of it unpickles.

    Raises FormatError for files that contradict their format, and for pickles without `unpickle=True`.
    """
    del weights_only
    if not _is_path(f):
        if not hasattr(f, "read"):
            raise TypeError(f"load(): f must be a path or an open file, not {type(f).__name__}")
        if mmap:
            raise ValueError("load(): mmap=True needs a path")
        data = f.read()
        if not isinstance(data, bytes):
            raise TypeError(f"load(): f must be open in binary mode, but reads {type(data).__name__}")
        if unpickle:
            return _unpickle(io.BytesIO(data), data[:9])
        if data.startswith(_NPY):
            return _mover(map_location)(_core._load_npy_bytes(data))
        _check_start(data[:9])
        return _tree(*_core._load_safetensors_bytes(data), map_location)
    path = os.fspath(f)
    with open(path, "rb") as file:
        start = file.read(9)
        if unpickle:
            file.seek(0)
            return _unpickle(file, start)
        if start.startswith(_NPY) and not mmap:
            return _mover(map_location)(_core._load_npy_bytes(start + file.read()))
    if start.startswith(_NPY):
        return _mover(map_location)(_core._map_npy(path))
    if os.path.splitext(path)[1] == ".npz":
        move = _mover(map_location)
        return {name: move(tensor) for name, tensor in _core._load_npz(path).items()}
    _check_start(start)
    read = _core._map_safetensors if mmap else _core._load_safetensors
    return _tree(*read(path), map_location)


_NPY = b"\x93NUMPY"


def _is_path(f):
    return isinstance(f, (str, os.PathLike))


def _is_zip(start):
    return start.startswith(b"PK\x03\x04")


def _check_start(start):
    """Refuses what begins as the files of others do."""
    if start[8:9] == b"{":
        return
    if _is_zip(start):
        raise _core.FormatError(
            "load(): this is a zip archive, as torch.save of PyTorch writes them, not a .safetensors file; "
            "convert it with safetensors.torch.save_file in PyTorch"
        )
    if start[:1] == b"\x80" and start[1:2] in (b"\x00", b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"):
        raise _core.FormatError(
            "load(): this is a pickle, not a .safetensors file. Unpickling runs code of the file: "
            "pass unpickle=True if you trust where it comes from"
        )


def _unpickle(file, start):
    if _is_zip(start):
        raise _core.FormatError("load(): this is a zip archive, as torch.save of PyTorch writes them, not a pickle")
    return _pickle.load(file)


def _tree(tensors, metadata, map_location):
    move = _mover(map_location)
    if _KEY not in metadata:
        return {name: move(tensor) for name, tensor in tensors.items()}
    try:
        return Reader(tensors, move).decode(json.loads(metadata[_KEY]))
    except (LookupError, ArithmeticError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _core.FormatError(f"malformed safetensors data: its description of the containers: {error!r}") from error


def _mover(map_location):
    """What brings a tensor to where `map_location` says."""
    if isinstance(map_location, dict):
        targets = {str(source): target for source, target in map_location.items()}
        return lambda tensor: tensor.to(targets.get(str(tensor.device), tensor.device))
    if map_location is None or callable(map_location):  # A function chooses among storages; there is one.
        return lambda tensor: tensor
    device = _core.device(map_location)
    return lambda tensor: tensor.to(device)


def _write(data, f):
    """Writes bytes to an open file, or replaces a file as a whole."""
    if not _is_path(f):
        f.write(data)
        return
    path = os.fspath(f)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path) or ".", prefix=".opforge-", delete=False) as file:
        try:
            file.write(data)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
