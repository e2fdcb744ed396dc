"""MindSpore's dtypes: `mindspore.float32` is written `Float32`, and stands for opforge's `float32`.

>>> from opforge.mindspore import dtype as mstype
>>> print(mstype.float32)
Float32
"""

from __future__ import annotations

import numpy as np

from .. import _core


class Type:
    """A dtype under MindSpore's name; `core` is opforge's."""

    __slots__ = ("core", "_title")

    def __init__(self, title: str):
        self.core = getattr(_core, title.lower())
        self._title = title

    @property
    def name(self) -> str:
        """The name that kernels get, such as `float32`."""
        return self._title.lower()

    def __str__(self):
        return self._title

    def __repr__(self):
        return f"mindspore.{self.name}"

    def __reduce__(self):
        return "bool_" if self.name == "bool" else self.name


class Kind:
    """What is no dtype of tensors: kinds of dtypes (`int_`, `float_`, `number`), and of other values."""

    __slots__ = ("_title",)

    def __init__(self, title):
        self._title = title

    def __str__(self):
        return self._title

    def __repr__(self):
        return f"mindspore.{self._title.lower()}"


class TensorType(Kind):
    """The type of tensors of a dtype.

    >>> TensorType(float32)
    mindspore.tensor[float32]
    """

    __slots__ = ("_element",)

    def __init__(self, element):
        super().__init__(f"Tensor[{element}]")
        self._element = element

    def element_type(self):
        """The dtype."""
        return self._element


bool_ = Type("Bool")
int8 = byte = Type("Int8")
int16 = short = Type("Int16")
int32 = intc = Type("Int32")
int64 = long = intp = Type("Int64")
uint8 = ubyte = Type("UInt8")
uint16 = ushort = Type("UInt16")
uint32 = uintc = Type("UInt32")
uint64 = uintp = Type("UInt64")
float16 = half = Type("Float16")
bfloat16 = Type("BFloat16")
float8_e4m3fn = Type("Float8_E4M3FN")
float8_e5m2 = Type("Float8_E5M2")
float32 = single = Type("Float32")
float64 = double = Type("Float64")
complex64 = cfloat = Type("Complex64")
complex128 = cdouble = Type("Complex128")

int_, uint, float_, number = Kind("Int"), Kind("UInt"), Kind("Float"), Kind("Number")
string, tuple_, list_, type_none, tensor_type = Kind("String"), Kind("Tuple"), Kind("List"), Kind("None"), Kind("Tensor")

# By opforge's dtypes, each once.
OF_CORE = {value.core: value for value in list(globals().values()) if type(value) is Type}
__all__ = [name for name, value in list(globals().items()) if isinstance(value, (Type, Kind))]
__all__ += ["TensorType", "Type", "dtype_to_nptype", "dtype_to_pytype", "pytype_to_dtype"]
_OF_NAME = {value.name: value for value in OF_CORE.values()}
_OF_PYTHON = {bool: bool_, int: int64, float: float64, complex: complex128, str: string}


def to_core(dtype):
    """opforge's dtype for one of MindSpore's, for its name (`"float32"`), for a type of Python's or numpy's, or for opforge's own."""
    if type(dtype) is Type:
        return dtype.core
    if isinstance(dtype, _core.dtype):
        return dtype
    if isinstance(dtype, str) and dtype in _OF_NAME:
        return _OF_NAME[dtype].core
    if isinstance(dtype, (type, np.dtype)) and type(made := pytype_to_dtype(dtype)) is Type:
        return made.core
    raise TypeError(f"dtype must be one of {', '.join(map(repr, OF_CORE.values()))}, not {dtype!r}")


def dtype_to_nptype(type_):
    """The numpy type of a dtype; those that numpy lacks, `bfloat16` and those of 8 bits, have `float32`.

    >>> dtype_to_nptype(int8)
    <class 'numpy.int8'>
    """
    return np.float32 if type_ in (bfloat16, float8_e4m3fn, float8_e5m2) else np.dtype(type_.name).type


def dtype_to_pytype(type_):
    """The Python type of a dtype's numbers: `bool`, `int`, `float` or `complex`."""
    return type(np.dtype(dtype_to_nptype(type_)).type().item())


def pytype_to_dtype(obj):
    """The dtype of a Python or numpy type.

    >>> print(pytype_to_dtype(float))
    Float64
    """
    if obj in _OF_PYTHON:
        return _OF_PYTHON[obj]
    try:
        return _OF_NAME[np.dtype(obj).name]
    except (KeyError, TypeError):
        raise NotImplementedError(f"there is no dtype for {obj!r}") from None


def dtype_of_number(kind):
    """The dtype of a tensor that is made of a number of a Python or numpy type: floats of Python are Float32 there.

    >>> print(dtype_of_number(float))
    Float32
    """
    return float32 if kind is float else pytype_to_dtype(kind)
