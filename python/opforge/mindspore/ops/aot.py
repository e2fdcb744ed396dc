"""Custom operators of compiled libraries: MindSpore's declarations, as `_core.CustomOp` takes them."""

from __future__ import annotations

from ... import _core
from .. import dtype as mstype
from ..gradient import checked_gradients
from ..tensor import adopt
from . import rules

_LISTS = {"listInt": int, "listFloat": float}
_TYPES = {"bool": bool, "int": int, "float": float, "str": str}


def native_operator(func, out_shape, out_dtype, bprop, info, accepted):
    """The operator `func`, called with the inputs and then the attributes that `info` declares without a value."""
    attributes = [attr for attr in info.get("attr", ()) if "name" in attr]
    form = _Form(out_shape, out_dtype, bprop, [attr for attr in attributes if "value" not in attr])
    inputs = info.get("inputs", ())
    # An input that is "dynamic" is any number of tensors, and one that is "optional" none or one: combinations of dtypes say nothing of theirs.
    is_fixed = all(item.get("paramType", "required") == "required" for item in inputs)
    op = _core.CustomOp(
        func,
        name=info.get("op_name"),
        inputs=len(inputs) if inputs and is_fixed else None,
        outputs=form.count(info),
        shapes=form.shapes if callable(out_shape) else form.shapes() if out_shape is not None else None,
        dtypes=form.dtypes if callable(out_dtype) else form.dtypes() if out_dtype is not None else None,
        accepts=accepted if is_fixed else None,
        attributes={attr["name"]: _converted(attr) for attr in attributes if "value" in attr},
        positional=form.positional,
        gradient=None if bprop is None else form.gradient,
    )
    return op if is_fixed and not form.call_attributes else lambda *args: op(*form.arguments(args))


class _Form:
    """What `Custom` was given, in the form of `_core.CustomOp`."""

    def __init__(self, out_shape, out_dtype, bprop, call_attributes):
        self.out_shape, self.out_dtype, self.bprop = out_shape, out_dtype, bprop
        self.call_attributes = call_attributes
        self.positional = [attr["name"] for attr in call_attributes]
        self.several = False

    def arguments(self, args):
        """A call's tensors, one by one where a list or tuple of them is given, then its attributes as values of their declared types."""
        count = len(args) - len(self.call_attributes)
        tensors = [tensor for arg in args[:count] for tensor in (arg if isinstance(arg, (list, tuple)) else (arg,))]
        return tensors + [_as_declared(attr, value) for attr, value in zip(self.call_attributes, args[count:])]

    def count(self, info):
        """How many outputs are declared, None if only shapes or dtypes tell."""
        return len(info.get("outputs", ())) or None

    def shapes(self, *inputs):
        """`out_shape` of the inputs' shapes; an attribute's is []."""
        return self._one_or_several(rules.shapes(self.out_shape, [*inputs, *([] for _ in self.positional)]))

    def dtypes(self, *inputs):
        """`out_dtype` of the inputs' dtypes, which are opforge's, and of the attributes' types."""
        given = [mstype.OF_CORE[core] for core in inputs]
        given += [mstype.pytype_to_dtype(_TYPES.get(attr.get("type"), float)) for attr in self.call_attributes]
        return self._one_or_several(rules.dtypes(self.out_dtype, given))

    def _one_or_several(self, found):
        values, several = found
        self.several = self.several or several
        return tuple(values) if several else values[0]

    def gradient(self, inputs, outputs, grads, attributes, needs):
        """`bprop`, called with the inputs, the attributes of the call, the result and its gradient."""
        args = [*adopt(inputs), *(attributes[name] for name in self.positional)]
        several = self.several or len(outputs) > 1
        out, dout = adopt(outputs), adopt(grads)
        found = self.bprop(*args, out if several else out[0], dout if several else dout[0])
        is_tensor = [True] * len(inputs) + [False] * len(self.positional)
        return checked_gradients("bprop", is_tensor, found)[: len(inputs)]


def _converted(attr):
    """An attribute's value as its declared type; of another type than those named, as it is."""
    value, kind = attr["value"], attr.get("type")
    if kind in _LISTS:
        return [_LISTS[kind](item) for item in value]
    return _TYPES[kind](value) if kind in _TYPES else value


def _as_declared(attr, value):
    """A call's value as the attribute's declared type; what cannot be one, such as a tensor, as it is, for the operator to take or refuse."""
    try:
        return value if isinstance(value, _core.Tensor) else _converted({**attr, "value": value})
    except (TypeError, ValueError):
        return value
