"""`Custom`: operators that users bring."""

from __future__ import annotations

import json

from ... import CustomOpError
from .. import context
from ..dtype import Type, to_core
from ..tensor import Base, Tensor, adopt
from .aot import native_operator
from .operations import Primitive
from .pyfunc import PythonOperator


class Custom(Primitive):
    """An operator that is given by a function.

    - `func_type="aot"`: `func` is `"path:Name"`, a compiled library, or a source file (`.c`, `.cc`, `.cpp`, `.cu`), which is compiled.
    - `func_type="pyfunc"`: `func` is a Python function of numpy arrays.

    `out_shape` and `out_dtype` are the output's shape and dtype; a tuple of them for several outputs (a tuple of one makes the result a
    tuple of one); or a Python function of the inputs' shapes or dtypes. With neither, the library's own inference is asked.
    `bprop(*inputs, out, dout)` returns the gradients by the inputs, a tuple; it may call other operators. `reg_info` is what `CustomRegOp`
    made, or several of these for different devices.

    Calls take the inputs, then the attributes that were declared without a value. Raises `CustomOpError` where the operator fails, and
    `TypeError` for dtypes that `reg_info` does not list.

    >>> add = Custom(lambda x, y: x + y, lambda x, _: x, lambda x, _: x, "pyfunc")
    >>> print(add(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
    [4. 6.]
    """

    def __init__(self, func, out_shape=None, out_dtype=None, func_type="pyfunc", bprop=None, reg_info=None):
        _check(func, out_shape, out_dtype, func_type, bprop)
        infos = _infos(getattr(func, "reg_info", None) if reg_info is None else reg_info)
        self.func, self.func_type, self.out_shape, self.out_dtype, self.bprop = func, func_type, out_shape, out_dtype, bprop
        info = _for_target(infos)
        accepted = _accepted_dtypes(info or {})
        if infos and info is None:
            self._op = self._refuse
            self._targets = ", ".join(str(info.get("target")) for info in infos)
        elif func_type == "aot":
            self._op = native_operator(func, out_shape, out_dtype, bprop, info or {}, accepted)
        else:
            name = (info or {}).get("op_name") or getattr(func, "__name__", "Custom")
            self._op = PythonOperator(name, func, out_shape, out_dtype, bprop, accepted)

    def __call__(self, *args):
        result = self._op(*args)
        if result.__class__ is Base:
            result.__class__ = Tensor
            return result
        return adopt(result)

    def _refuse(self, *args):
        device = context.get_context("device_target")
        raise CustomOpError(f"{self.func}: registered for {self._targets}, but the device is {device} (see set_device)")


def _accepted_dtypes(info):
    """The registered combinations of dtypes, of inputs and then outputs: opforge's, or None for any."""
    return [[to_core(name) if name else None for name, *_ in combination] for combination in info.get("dtype_format", ())]


def _check(func, out_shape, out_dtype, func_type, bprop):
    if func_type not in ("aot", "pyfunc"):
        raise ValueError(f"Custom: func_type must be 'aot' or 'pyfunc', not {func_type!r}")
    if func_type == "aot" and not (isinstance(func, str) and ":" in func):
        raise TypeError(f"Custom: func must be 'path:Name' for func_type 'aot', not {func!r}")
    if func_type == "pyfunc" and not callable(func):
        raise TypeError(f"Custom: func must be a function for func_type 'pyfunc', not {func!r}")
    if not (out_shape is None or callable(out_shape) or isinstance(out_shape, (tuple, list))):
        raise TypeError(f"Custom: out_shape must be a tuple, a list or a function, not {type(out_shape).__name__}")
    if not (out_dtype is None or callable(out_dtype) or isinstance(out_dtype, (Type, tuple, list))):
        raise TypeError(f"Custom: out_dtype must be a mindspore.dtype, a tuple of them or a function, not {type(out_dtype).__name__}")
    if not (bprop is None or callable(bprop)):
        raise TypeError(f"Custom: bprop must be a function, not {type(bprop).__name__}")


def _infos(reg_info) -> list:
    """The declarations, as dictionaries."""
    if reg_info is None:
        return []
    if isinstance(reg_info, (tuple, list)):
        return [info for item in reg_info for info in _infos(item)]
    info = json.loads(reg_info) if isinstance(reg_info, str) else reg_info
    if not isinstance(info, dict):
        raise TypeError(f"Custom: reg_info must be what get_op_info returns, or its JSON text, not {type(reg_info).__name__}")
    return [info]


def _for_target(infos):
    """The declaration for the device that is set; one without a device is for all."""
    device = context.get_context("device_target")
    return next((info for info in infos if info.get("target") in (device, None, "", "UnKnown")), None)
