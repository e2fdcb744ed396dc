"""PyTorch's older names of tensors and storages by dtype: `FloatTensor`, `LongStorage`, and so on.

    torch.LongTensor([1, 2])                      tensor(.., dtype=int64)
    torch.FloatTensor(2, 3)                       empty(2, 3)
    isinstance(x, torch.FloatTensor)              x is a tensor of float32 on the CPU
"""

from __future__ import annotations

import numbers

from .. import _core
from .._absent.accelerators import DeviceAbsentError
from .layouts import is_dense

_DTYPES = {
    "BFloat16": _core.bfloat16, "Bool": _core.bool, "Byte": _core.uint8, "Char": _core.int8, "Double": _core.float64, "Float": _core.float32,
    "Half": _core.float16, "Int": _core.int32, "Long": _core.int64, "Short": _core.int16,
}  # fmt: skip


class _TensorType(type):
    """The type of these names. Nothing is made by them but plain tensors."""

    def __instancecheck__(cls, value):
        return isinstance(value, _core.Tensor) and value.dtype is cls.dtype and value.device.type == cls._device and is_dense(value)

    def __call__(cls, *args):
        place = {"dtype": cls.dtype, "device": cls._need_device(cls.__name__)}
        if all(isinstance(arg, numbers.Integral) for arg in args):
            return _core.empty(tuple(args) or (0,), **place)
        [data] = args
        if isinstance(data, _core.Tensor):
            if not isinstance(data, cls):
                raise TypeError(f"{cls.__name__}(): expected a tensor of {cls.dtype}, but got one of {data.dtype}")
            return data.view_as(data)
        return _core.empty(data, **place) if isinstance(data, _size()) else _core.tensor(data, **place)

    def _need_device(cls, caller):
        """The device's name, where it is there."""
        if cls._device == "cuda" and not _core._cuda_count():
            raise DeviceAbsentError(f"{caller}(): there is no device of type cuda")
        return cls._device

    def __repr__(cls):
        return f"<class 'torch.{'' if cls._device == 'cpu' else cls._device + '.'}{cls.__name__}'>"


def _size():
    from .size import Size

    return Size


def _tensor_type(name, dtype, device="cpu"):
    doc = f"Tensors of {dtype} on the device {device!r}: `isinstance` looks for both."
    return _TensorType(name, (), {"dtype": dtype, "_device": device, "is_cuda": device == "cuda", "__doc__": doc})


def types_on(device):
    """The types of tensors on a type of devices, by their names."""
    return {f"{name}Tensor": _tensor_type(f"{name}Tensor", dtype, device) for name, dtype in _DTYPES.items()}


globals().update(types_on("cpu"))
NAMES = [f"{name}Tensor" for name in _DTYPES]


def set_default_tensor_type(t):
    """Has new floating point tensors be of a type such as `FloatTensor`, or the text "torch.FloatTensor"."""
    kind = _named(t) if isinstance(t, str) else t
    if not isinstance(kind, _TensorType) or not kind.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _core.set_default_device(kind._need_device("set_default_tensor_type"))
    _core.set_default_dtype(kind.dtype)


# The names of other dtypes, which there are no types of.
_OTHERS = {
    "ComplexDouble": _core.complex128, "ComplexFloat": _core.complex64, "Float8_e4m3fn": _core.float8_e4m3fn,
    "Float8_e5m2": _core.float8_e5m2, "UInt16": _core.uint16, "UInt32": _core.uint32, "UInt64": _core.uint64,
}  # fmt: skip


def type_name(tensor):
    """The name of a tensor's type: "torch.FloatTensor", "torch.cuda.FloatTensor"."""
    package = "torch.cuda" if tensor.is_cuda else "torch"
    return next(f"{package}.{name}Tensor" for name, dtype in (_DTYPES | _OTHERS).items() if dtype is tensor.dtype)


def _named(name):
    """The type of that name; None where there is none."""
    package, _, kind = name.rpartition(".")
    if package == "torch.cuda":
        from .. import cuda

        return getattr(cuda, kind, None)
    return globals().get(kind) if package == "torch" else None


def place_of(kind):
    """The dtype and the type of devices of a type of tensors, or of its name; of `Tensor` the default dtype, and of a dtype itself, on any device: None."""
    if isinstance(kind, str):
        found = _named(kind)
        if not isinstance(found, _TensorType):
            raise ValueError(f"invalid type: {kind!r}")
        kind = found
    if kind is _core.Tensor:
        return _core.get_default_dtype(), None
    return (kind.dtype, kind._need_device("type")) if isinstance(kind, _TensorType) else (kind, None)


def typename(obj):
    """The name of an object's type: "torch.FloatTensor" for tensors, with its module for others."""
    if isinstance(obj, _core.Tensor):
        return type_name(obj)
    kind = obj if isinstance(obj, type) else type(obj)
    module = "" if kind.__module__ in ("builtins", None) else kind.__module__ + "."
    return module + kind.__qualname__
