"""Functions of data types: what operands promote to, casts, and limits."""

from __future__ import annotations

from functools import reduce
from numbers import Integral, Number, Real
from typing import NamedTuple

from opforge import _core

from .data_types import COMPLEX, FURTHER, dtypes_of

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]


def astype(x, dtype, /, *, copy=True, device=None):
    """The elements in another dtype. With `copy=False`, `x` itself where nothing changes. Complex numbers become none that are real: say `real(x)`
    or `imag(x)`."""
    if x.dtype.is_complex and not dtype.is_complex and dtype is not _core.bool:
        raise TypeError(f"astype: x of {x.dtype} to {dtype}, expected a complex dtype or bool; take real(x) or imag(x) first")
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


def can_cast(from_, to, /):
    """Whether a dtype, or an array's, promotes to another."""
    return _core.promote_types(_dtype(from_), to) == to


class finfo_object(NamedTuple):
    """The limits of a dtype of floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: _core.dtype


def finfo(type, /):
    """The limits of a dtype of floats, or of an array's; of complex numbers those of their parts."""
    dtype = _REAL_PART.get(_dtype(type), _dtype(type))
    limits = _core.finfo(dtype)
    return finfo_object(limits.bits, limits.eps, limits.max, limits.min, limits.smallest_normal, dtype)


class iinfo_object(NamedTuple):
    """The limits of a dtype of integers."""

    bits: int
    max: int
    min: int
    dtype: _core.dtype


def iinfo(type, /):
    """The limits of a dtype of integers, or of an array's."""
    limits = _core.iinfo(_dtype(type))
    return iinfo_object(limits.bits, limits.max, limits.min, _dtype(type))


def isdtype(dtype, kind):
    """Whether a dtype is another, or of a kind: `'bool'`, `'signed integer'`, `'unsigned integer'`, `'integral'`, `'real floating'`, `'complex
    floating'` or `'numeric'`; or of one of a tuple. float16 and bfloat16 are real floating, too."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        return dtype in dtypes_of(kind) + FURTHER.get(kind, ())
    return dtype == kind


def result_type(*arrays_and_dtypes):
    """The dtype that arrays, dtypes and Python scalars promote to. Scalars lend their kind only, so that 1.5 with float32 is float32; arrays without
    dimensions count like others."""
    dtypes = [_dtype(x) for x in arrays_and_dtypes if not isinstance(x, _SCALARS)]
    if not dtypes:
        raise ValueError("no array or dtype among the operands, expected at least one")
    scalars = [x for x in arrays_and_dtypes if isinstance(x, _SCALARS)]
    return reduce(_with_scalar, scalars, reduce(_core.promote_types, dtypes))


# numpy's scalars are numbers, too, and lend their kind only.
_SCALARS = (bool, int, float, complex, Number)
_REAL_PART = {_core.complex64: _core.float32, _core.complex128: _core.float64}


def _dtype(x):
    """The dtype that an array has, or that is given itself."""
    if isinstance(x, _core.dtype):
        return x
    if isinstance(x, _core.Tensor):
        return x.dtype
    raise TypeError(f"expected an array, a dtype or a Python scalar, got {type(x).__name__}")


def _with_scalar(dtype, scalar):
    """What a dtype and a Python scalar promote to."""
    if isinstance(scalar, bool) or dtype in COMPLEX:
        return dtype
    if isinstance(scalar, Integral):
        return _core.int64 if dtype is _core.bool else dtype
    if not dtype.is_floating_point:
        dtype = _core.get_default_dtype()
    if isinstance(scalar, Real):
        return dtype
    return _core.complex128 if dtype is _core.float64 else _core.complex64
