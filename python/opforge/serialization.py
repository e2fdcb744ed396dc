"""`save` and `load`: containers of tensors, numbers and texts in files.

A `.safetensors` file holds a dict of tensors as other programs write it; what else there is stands in its metadata. A `.pt` file holds what PyTorch's does.
Loading runs no code of the file's: pickles are read by a machine that executes nothing, others only by `load(f, unpickle=True)`.
"""

from __future__ import annotations

import collections.abc
import io
import json
import os
import pickle as _pickle
import tempfile

from ._files import checkpoint as _checkpoint
from . import _core
from ._files.places import mover
from ._files.safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals  # noqa: F401  PyTorch has them in this file
from ._files.tree import Reader, Writer

__all__ = ["load", "save"]

# Names of PyTorch's that annotations and defaults of packages use.
DEFAULT_PROTOCOL = 2
FILE_LIKE = FileLike = str | os.PathLike | io.IOBase
MAP_LOCATION = collections.abc.Callable | _core.device | str | dict | None

# The entry of the metadata that holds the tree.
_KEY = "opforge"

# Files of these names are PyTorch's.
_PYTORCH = (".pt", ".pth", ".bin", ".ckpt", ".tar", ".pkl")


def save(obj, f, pickle_module=None, pickle_protocol=_pickle.DEFAULT_PROTOCOL, _use_new_zipfile_serialization=None, *, pickle=False):
    """Writes tensors, numbers, texts and containers of them to a path or an open file.

    A path that ends in `.pt`, `.pth`, `.bin`, `.ckpt`, `.tar` or `.pkl` becomes a file that PyTorch reads (`torch.load`), and so does an open file with
    `_use_new_zipfile_serialization=True`; others are `.safetensors` files, whatever they are called.

    Containers are lists, tuples, sets and dicts with any such keys; tensors that share memory still do after `load`. A path is replaced as a
    whole once everything is written. With `pickle=True` the object may be anything that pickle takes, and the file is a pickle. `pickle_module` is there for
    PyTorch's programs, and not used.

    Raises TypeError, which names the place, for objects of other types.
    """
    if pickle:
        return _write(_pickle.dumps(obj, protocol=pickle_protocol), f)
    del pickle_module
    if _use_new_zipfile_serialization or _is_path(f) and os.fspath(f).endswith(_PYTORCH):
        return _save_checkpoint(obj, f)
    writer = Writer()
    try:
        metadata = {_KEY: json.dumps(writer.encode(obj), separators=(",", ":"))}
    except RecursionError:
        raise ValueError("save(): obj is nested too deeply, or contains itself") from None
    if _is_path(f):
        _core._save_safetensors(writer.tensors, metadata, os.fspath(f))
    else:
        f.write(_core._save_safetensors(writer.tensors, metadata, None))


def _save_checkpoint(obj, f):
    """Writes an archive as PyTorch does."""
    writer = _checkpoint.Writer(_parameter_class())
    try:
        root = writer.add(obj)
    except RecursionError:
        raise ValueError("save(): obj is nested too deeply, or contains itself") from None
    if _is_path(f):
        _core._write_checkpoint(root, writer.objects, os.fspath(f))
    else:
        f.write(_core._write_checkpoint(root, writer.objects, None))


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, unpickle=False, **pickle_load_args):
    """What `save` wrote to a path or an open file; of a `.safetensors` or `.npz` file by others, the dict of its tensors; the tensor of a `.npy`
    file; what `torch.save` of PyTorch wrote, in its present and its old format, as far as it is made of containers, numbers, texts and tensors.

    `map_location` is the device that tensors are to be on, a dict of such by the devices that they were on, or a function of a storage and its device's name
    that gives a storage; without it, tensors are where they were, or in main memory where there is no such device. Tensors are copies: the file may be changed afterwards. With `mmap=True` they
    show the file, of which pages are copied when they are written to, so that it stays as it is. It must keep its content as long as there are such tensors: who overwrites it may change them, and who
    truncates it ends this process (SIGBUS) when they are read; replacing it by another file of its name, as `save` does, is safe. `unpickle=True` reads a pickle,
    which may run any code: only for files whose origin you trust. `weights_only`, `pickle_module` and its arguments are there for PyTorch's programs; no value of
    them unpickles.

    Raises FormatError for files that contradict their format, and for pickles that name functions or classes, without `unpickle=True`.
    """
    del weights_only, pickle_module, pickle_load_args
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
            return mover(map_location)(_core._load_npy_bytes(data))
        if _is_pickled(data):
            return _load_checkpoint(None, data, False, map_location)
        return _tree(*_core._load_safetensors_bytes(data), map_location)
    path = os.fspath(f)
    with open(path, "rb") as file:
        start = file.read(9)
        if unpickle:
            file.seek(0)
            return _unpickle(file, start)
        if start.startswith(_NPY) and not mmap:
            return mover(map_location)(_core._load_npy_bytes(start + file.read()))
    if start.startswith(_NPY):
        return mover(map_location)(_core._map_npy(path))
    if os.path.splitext(path)[1] == ".npz":
        move = mover(map_location)
        return {name: move(tensor) for name, tensor in _core._load_npz(path).items()}
    if _is_pickled(start):
        return _load_checkpoint(path, None, bool(mmap), map_location)
    read = _core._map_safetensors if mmap else _core._load_safetensors
    return _tree(*read(path), map_location)


_NPY = b"\x93NUMPY"


def _is_path(f):
    return isinstance(f, (str, os.PathLike))


def _is_zip(start):
    return start.startswith(b"PK\x03\x04")


def _is_pickled(start):
    """Whether a file begins as PyTorch's do."""
    is_pickle = start[:1] == b"\x80" and start[1:2] in (b"\x00", b"\x01", b"\x02", b"\x03", b"\x04", b"\x05")
    return _is_zip(start) or is_pickle and start[8:9] != b"{"


def _load_checkpoint(path, data, mmap, map_location):
    try:
        root, objects = _core._read_checkpoint(path, data, mmap)
        return _checkpoint.Reader(objects, mover(map_location), _parameter_class()).object(root)
    except (TypeError, ValueError, RecursionError) as error:
        hint = "" if _is_zip(data or b"") else "; unpickle=True executes a pickle, whose origin you must trust"
        raise _core.FormatError(f"{error}{hint}") from error


def _parameter_class():
    from .nn.parameter import Parameter

    return Parameter


def _unpickle(file, start):
    if _is_zip(start):
        raise _core.FormatError("load(): this is a zip archive, as torch.save of PyTorch writes them, not a pickle")
    return _pickle.load(file)


def _tree(tensors, metadata, map_location):
    move = mover(map_location)
    if _KEY not in metadata:
        return {name: move(tensor) for name, tensor in tensors.items()}
    try:
        return Reader(tensors, move).decode(json.loads(metadata[_KEY]))
    except (LookupError, ArithmeticError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _core.FormatError(f"malformed safetensors data: its description of the containers: {error!r}") from error


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
