"""Names for annotations."""

from __future__ import annotations

import builtins
import os
from typing import IO, Union

from ._core import Tensor, UntypedStorage, device, dtype
from ._tensors.size import Size

__all__ = ["BoolLikeType", "Device", "FileLike", "FloatLikeType", "IntLikeType", "Number", "Size", "Storage", "SymBool", "SymFloat", "SymInt", "Tensor"]

Number = Union[int, float, bool]
Device = Union[device, str, int, None]
FileLike = Union[str, os.PathLike, IO[bytes]]
Storage = UntypedStorage
_bool, _int, _float, _complex, _device, _dtype = builtins.bool, builtins.int, builtins.float, builtins.complex, device, dtype
_size = Union[Size, list[int], tuple[int, ...]]
_TensorOrTensors = Union[Tensor, "tuple[Tensor, ...]"]


def _symbolic(name, kind):
    doc = f"A {kind} that is known when a program runs. Traces know all sizes: nothing is an instance of this."
    return type(name, (), {"__doc__": doc, "__module__": "opforge"})


SymInt, SymFloat, SymBool = _symbolic("SymInt", "int"), _symbolic("SymFloat", "float"), _symbolic("SymBool", "bool")
IntLikeType, FloatLikeType, BoolLikeType = Union[int, SymInt], Union[float, SymFloat], Union[bool, SymBool]
PySymType, py_sym_types = Union[SymInt, SymFloat, SymBool], (SymInt, SymFloat, SymBool)
