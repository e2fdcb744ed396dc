"""`Custom`: operators that users bring."""

from __future__ import annotations

import json

from .... import CustomOpError
from ... import context
from ...dtype import TensorType, Type
from ...tensor import Base, Tensor, adopt
from ..aot import NativeOperator
from ..formats import registered
from ..primitive import PrimitiveWithInfer
from ..pyfunc import PythonOperator
from ..register import custom_info_register as custom_info_register


class Custom(PrimitiveWithInfer):
    """An operator that is given by a function.

    - `func_type="aot"`: `func` is `"path:Name"`, a compiled library, or a source file (`.c`, `.cc`, `.cpp`, `.cu`), which is compiled.
    - `func_type="pyfunc"`: `func` is a Python function of numpy arrays.

    `out_shape` and `out_dtype` are the output's shape and dtype; a tuple of them for several outputs (a tuple of one makes the result a
    tuple of one); or a Python function of the inputs' shapes or dtypes. With neither, the library's own inference is asked.
    `bprop(*inputs, out, dout)` returns the gradients by the inputs, a tuple; it may call other operators. `reg_info` is what `CustomRegOp`
    made, or several of these for different devices.

    Calls take the inputs, then the attributes that were declared without a value. Inputs of a library may be numbers, and lists and tuples of tensors.
    Where only `int32` is registered for an input, `int16` and `int64` are converted to it, and `float16` and `float64` to `float32`; outputs are converted
    from their registered dtype to the one that `out_dtype` gives. `add_prim_attr` gives a library's kernel further attributes. Raises `CustomOpError` where
    the operator fails, and `TypeError` for dtypes that `reg_info` does not list.

    >>> add = Custom(lambda x, y: x + y, lambda x, _: x, lambda x, _: x, "pyfunc")
    >>> print(add(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
    [4. 6.]
    """

    def __init__(self, func, out_shape=None, out_dtype=None, func_type="pyfunc", bprop=None, reg_info=None):
        super().__init__("Custom")
        _check(func, out_shape, out_dtype, func_type, bprop)
        infos = _infos(getattr(func, "reg_info", None) if reg_info is None else reg_info)
        self.func, self.func_type, self.out_shape, self.out_dtype, self.bprop = func, func_type, out_shape, out_dtype, bprop
        self._info = _for_target(infos)
        self._targets = ", ".join(str(info.get("target")) for info in infos)
        self._declared = {attr["name"]: attr["value"] for attr in (self._info or {}).get("attr", ()) if attr.get("value") is not None and "name" in attr}
        for name, value in self._declared.items():
            super().add_prim_attr(name, value)
        self._op = self._made()

    def _made(self):
        """What runs the calls."""
        if self._targets and self._info is None:
            return self._refuse
        info = self._info or {}
        given = self.func, self.out_shape, self.out_dtype, self.bprop
        if self.func_type == "aot":
            # Names of inputs and outputs are lists of texts, which kernels cannot get.
            added = {name: value for name, value in self.attrs.items() if self._declared.get(name, ...) is not value}
            attributes = {name: value for name, value in added.items() if name not in ("input_names", "output_names")}
            return NativeOperator(*given, info, registered(info), attributes)
        name = info.get("op_name") or getattr(self.func, "__name__", "Custom")
        return PythonOperator(name, *given, registered(info))

    def add_prim_attr(self, name, value):
        """Adds an attribute, which a library's kernel gets as well; returns the operator."""
        super().add_prim_attr(name, value)
        self._op = self._made()
        return self

    def __call__(self, *args):
        result = self._op(*args)
        if result.__class__ is Base:
            result.__class__ = Tensor
            return result
        return adopt(result)

    def _refuse(self, *args):
        device = context.get_context("device_target")
        raise CustomOpError(f"{self.func}: registered for {self._targets}, but the device is {device} (see set_device)")


def _check(func, out_shape, out_dtype, func_type, bprop):
    if func_type not in ("aot", "pyfunc"):
        raise ValueError(f"Custom: func_type must be 'aot' or 'pyfunc', not {func_type!r}")
    if func_type == "aot" and not (isinstance(func, str) and ":" in func):
        raise TypeError(f"Custom: func must be 'path:Name' for func_type 'aot', not {func!r}")
    if func_type == "pyfunc" and not callable(func):
        raise TypeError(f"Custom: func must be a function for func_type 'pyfunc', not {func!r}")
    if not (out_shape is None or callable(out_shape) or isinstance(out_shape, (tuple, list))):
        raise TypeError(f"Custom: out_shape must be a tuple, a list or a function, not {type(out_shape).__name__}")
    if not (out_dtype is None or callable(out_dtype) or isinstance(out_dtype, (Type, TensorType, tuple, list))):
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
