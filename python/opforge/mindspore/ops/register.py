"""What a custom operator declares of itself: `CustomRegOp`, `DataType`, `custom_info_register`."""

from __future__ import annotations


class CustomRegOp:
    """Declares an operator's inputs, outputs, accepted dtypes, attributes and device, each method returning the declaration itself:

    >>> info = (
    ...     CustomRegOp("scale")
    ...     .input(0, "x")
    ...     .output(0, "y")
    ...     .dtype_format(DataType.F32_Default, DataType.F32_Default)
    ...     .attr("factor", "required", "float", value=2.0)
    ...     .target("CPU")
    ...     .get_op_info()
    ... )
    >>> info["target"]
    'CPU'
    """

    def __init__(self, op_name="Custom"):
        _check("CustomRegOp", "op_name", op_name, str)
        self._op_name, self._target, self._fusion = op_name, "UnKnown", ""
        self._inputs, self._outputs, self._attributes, self._dtypes = [], [], [], []

    def input(self, index=None, name=None, param_type="required", **kwargs):
        """The next input: `param_type` is `"required"`, `"optional"`, or `"dynamic"` for any number of tensors."""
        self._inputs.append(_operand("input", index, name, param_type, kwargs))
        return self

    def output(self, index=None, name=None, param_type="required", **kwargs):
        """The next output."""
        self._outputs.append(_operand("output", index, name, param_type, kwargs))
        return self

    def dtype_format(self, *args):
        """One accepted combination of dtypes, a member of `DataType` for each input and output. Raises `ValueError` for another number."""
        expected = len(self._inputs) + len(self._outputs)
        if len(args) != expected:
            raise ValueError(f"dtype_format: {len(args)} dtypes (accepted: {expected}, one for each input and output)")
        for arg in args:
            if not isinstance(arg, tuple) or len(arg) not in (2, 3) or not all(isinstance(part, str) for part in arg):
                raise ValueError(f"dtype_format: {arg!r} (accepted: members of DataType, pairs of a dtype and a format)")
        self._dtypes.append(args)
        return self

    def attr(self, name=None, param_type=None, value_type=None, default_value=None, **kwargs):
        """An attribute. With `value=` it has that value; without, it is a further positional argument of each call."""
        described = {"name": name, "paramType": param_type, "type": value_type, "defaultValue": default_value}
        for key, value in described.items():
            _check("attr", key, value, (str, type(None)))
        self._attributes.append({**{key: value for key, value in described.items() if value is not None}, **kwargs})
        return self

    def target(self, target=None):
        """The device: `"CPU"`, `"GPU"` or `"Ascend"`."""
        _check("target", "target", target, (str, type(None)))
        self._target = target
        return self

    def fusion_type(self, fusion_type):
        """Kept in the declaration; without effect."""
        self._fusion = fusion_type
        return self

    def get_op_info(self) -> dict:
        """The declaration, for `Custom`'s `reg_info`."""
        return {
            "op_name": self._op_name,
            "inputs": list(self._inputs),
            "outputs": list(self._outputs),
            "attr": list(self._attributes),
            "fusion_type": self._fusion,
            "dtype_format": list(self._dtypes),
            "target": self._target,
        }


def _operand(kind, index, name, param_type, options):
    _check(kind, "index", index, (int, type(None)))
    _check(kind, "name", name, (str, type(None)))
    _check(kind, "param_type", param_type, (str, type(None)))
    described = {"index": index, "name": name, "paramType": param_type}
    return {**{key: value for key, value in described.items() if value is not None}, **options}


def _check(function, argument, value, accepted):
    if not isinstance(value, accepted):
        names = accepted.__name__ if isinstance(accepted, type) else f"{accepted[0].__name__} or None"
        raise TypeError(f"{function}: {argument} must be {names}, not {type(value).__name__}")


def custom_info_register(*reg_info):
    """Attaches declarations to a function, for a `Custom` made of it without `reg_info`.

    >>> @custom_info_register(CustomRegOp().input(0, "x").output(0, "y").target("CPU").get_op_info())
    ... def double(x):
    ...     return x * 2
    """

    def attach(function):
        function.reg_info = reg_info
        return function

    return attach


class DataType:
    """Pairs of a dtype and a format, such as `F32_Default`, for `CustomRegOp.dtype_format`. `None_None` accepts everything.

    Formats say how the memory is to be read; opforge's kernels always get contiguous memory and look at the dtype alone.
    """


_DTYPES = {
    "None": "",
    "BOOL": "bool",
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "BF16": "bfloat16",
    "C64": "complex64",
    "C128": "complex128",
}
_FORMATS = {
    "None": ("",),
    "Default": ("DefaultFormat",),
    "Default_Tuple": ("DefaultFormat", "tuple"),
    "Default_List": ("DefaultFormat", "list"),
    "5HD": ("NC1HWC0",),
    "FracZ": ("FRACTAL_Z",),
    "FracNZ": ("FRACTAL_NZ",),
    "FRACTAL_Z_3D": ("FRACTAL_Z_3D",),
    "FracZNLSTM": ("FRACTAL_ZN_LSTM",),
    "FracZNRNN": ("FRACTAL_ZN_RNN",),
    "ND_RNNBIAS": ("ND_RNN_BIAS",),
    **{name: (name,) for name in ("C1HWNCoC0", "ChannelLast", "DHWCN", "HWCN", "NC1HWC0", "NCDHW", "NCHW", "NDC1HWC0", "NDHWC", "NHWC")},
}
for _dtype, _name in _DTYPES.items():
    for _format, _parts in _FORMATS.items():
        setattr(DataType, f"{_dtype}_{_format}", (_name, *_parts))
