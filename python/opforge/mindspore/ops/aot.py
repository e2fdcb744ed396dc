"""Custom operators of compiled libraries: MindSpore's declarations, as `_core.CustomOp` takes them."""

from __future__ import annotations

from ... import _core
from .. import dtype as mstype
from ..bprop import checked_gradients
from ..structure import Slot, filled, mapped
from ..tensor import Base, Tensor, adopt
from . import rules
from .formats import fitting

_LISTS = {"listInt": int, "listFloat": float}
_TYPES = {"bool": bool, "int": int, "float": float, "str": str}
_NUMBERS = {bool: _core.bool, int: _core.int64, float: _core.float32}


class NativeOperator:
    """The operator `func`, called with the inputs and then the attributes that `info` declares without a value.

    An input may be a number, which the kernel gets as a tensor of rank 0, or a list or tuple of tensors, which it gets one by one; rules and `bprop` see it
    as it was given. Inputs are converted to registered dtypes, and outputs from these to the declared ones.
    """

    def __init__(self, func, out_shape, out_dtype, bprop, info, registered, attributes):
        declared = [attr for attr in info.get("attr", ()) if "name" in attr]
        self.func, self.info = func, info
        self.out_shape, self.out_dtype, self.bprop = out_shape, out_dtype, bprop
        self.call_attributes = [attr for attr in declared if "value" not in attr]
        fixed = {attr["name"]: _converted(attr) for attr in declared if attr.get("value") is not None}
        self.attributes = {**fixed, **attributes}
        # An input that is "dynamic" is any number of tensors, and one that is "optional" none or one: combinations of dtypes say nothing of theirs.
        inputs = info.get("inputs", ())
        is_fixed = all(item.get("paramType", "required") == "required" for item in inputs)
        self.inputs = len(inputs) if inputs and is_fixed else None
        self.is_fixed = is_fixed
        self.registered = registered if is_fixed else []
        self.made = {}
        self.plain = _Form(self).operator(self.registered or None)

    def __call__(self, *args):
        if not self.registered and not self.call_attributes:
            for arg in args:
                if not isinstance(arg, Tensor):
                    break
            else:
                return self.plain(*args)
        return self._called_as_given(args)

    def _called_as_given(self, args):
        """A call that converts or takes apart its inputs: by an operator that knows how they were given."""
        count = self._count_of_inputs(args)
        is_number = [type(arg) in _NUMBERS for arg in args[:count]]
        if len(args) > count + len(self.call_attributes) or self.call_attributes and any(is_number):
            return self.plain(*args)
        values = []
        skeleton = tuple(_taken_apart(arg, values) for arg in args[:count])
        attributes = [_as_declared(attr, value) for attr, value in zip(self.call_attributes, args[count:])]
        given = tuple(Base.dtype.__get__(value) for value in values)
        combination = fitting(self.registered, given) if self.inputs in (None, len(values)) else None
        if combination is None and all(isinstance(item, Slot) and not item.is_number for item in skeleton):
            return self.plain(*values, *attributes)
        key = repr(skeleton), given
        form, op = self.made.get(key) or self.made.setdefault(key, self._made(skeleton, given, combination))
        return form.declared(op(*form.registered(values), *attributes))

    def _made(self, skeleton, given, combination):
        form = _Form(self, skeleton, given, combination)
        return form, form.operator(None)

    def _count_of_inputs(self, args) -> int:
        """How many of the arguments are inputs; attributes at the end may be left out."""
        if self.inputs is not None:
            return min(self.inputs, len(args))
        return max(len(args) - len(self.call_attributes), 1)


class _Form:
    """An operator's declarations for inputs that are given in one form: nested as `skeleton`, of dtypes that are converted to a registered `combination`."""

    def __init__(self, of, skeleton=None, given=None, combination=None):
        self.of, self.skeleton, self.given, self.combination = of, skeleton, given, combination
        self.positional = [attr["name"] for attr in of.call_attributes]
        self.name = of.info.get("op_name") or of.func.rpartition(":")[2]
        self.several = False

    def operator(self, accepted):
        """The operator of the library."""
        of = self.of
        shapes, dtypes = of.out_shape, of.out_dtype
        return _core.CustomOp(
            of.func,
            name=of.info.get("op_name"),
            inputs=of.inputs if self.skeleton is None else None,
            outputs=len(of.info.get("outputs", ())) or None,
            shapes=self.shapes if callable(shapes) else self.shapes() if shapes is not None else None,
            dtypes=self.dtypes if callable(dtypes) else self.dtypes() if dtypes is not None else None,
            accepts=accepted,
            attributes=of.attributes,
            positional=self.positional,
            gradient=None if of.bprop is None else self.gradient,
        )

    def shapes(self, *inputs):
        """`out_shape` of the inputs' shapes; an attribute's is []."""
        declared = self.of.out_shape
        given = [*self._nested([*map(list, inputs)]), *([] for _ in self.positional)] if callable(declared) else ()
        return self._one_or_several(rules.shapes(declared, given))

    def dtypes(self, *inputs):
        """What the kernel writes: the registered dtypes of outputs, or those that `out_dtype` declares."""
        values, several = self._declared_dtypes(inputs)
        if self.combination is not None:
            registered = self.combination[len(self.given) :]
            values = [core or declared for core, declared in zip(registered, values)] + values[len(registered) :]
        return self._one_or_several((values, several))

    def _declared_dtypes(self, inputs):
        """`out_dtype` of the inputs' dtypes before they are converted, and of the attributes' types."""
        if not callable(self.of.out_dtype):
            return rules.dtypes(self.of.out_dtype, ())
        given = self._nested([mstype.OF_CORE[core] for core in self.given or inputs])
        given += [_type_of(attr) for attr in self.of.call_attributes]
        return rules.dtypes(self.of.out_dtype, given)

    def _one_or_several(self, found):
        values, several = found
        self.several = self.several or several
        return tuple(values) if several else values[0]

    def _nested(self, values) -> list:
        """Values of the inputs, nested as these are; those of "dynamic" inputs one by one."""
        return list(values if self.skeleton is None or not self.of.is_fixed else filled(self.skeleton, values))

    def registered(self, tensors) -> list:
        """The inputs in the registered dtypes."""
        if self.combination is None:
            return tensors
        wanted = zip(tensors, self.given, self.combination)
        return [tensor if core in (None, dtype) else Base.to(tensor, core) for tensor, dtype, core in wanted]

    def declared(self, outputs):
        """The outputs in the declared dtypes."""
        if self.combination is None or self.of.out_dtype is None:
            return outputs
        left = iter(self._declared_dtypes(self.given)[0])
        return mapped(lambda output: Base.to(output, next(left)), outputs)

    def gradient(self, inputs, outputs, grads, attributes, needs):
        """`bprop`, called with the inputs, the attributes of the call, the result and its gradient, as they were before they were converted."""
        several = self.several or len(outputs) > 1
        if self.combination is not None:
            inputs = [Base.to(tensor, dtype) for tensor, dtype in zip(inputs, self.given)]
        out, dout = (adopt(self.declared(tuple(values))) for values in (outputs, grads))
        tensors = adopt(list(inputs))
        given = tensors if self.skeleton is None else filled(self.skeleton, tensors)
        args = [*given, *(attributes[name] for name in self.positional)]
        found = self.of.bprop(*args, out if several else out[0], dout if several else dout[0])
        skeleton = tuple(map(Slot, range(len(inputs)))) if self.skeleton is None else self.skeleton
        return checked_gradients(self.name, (*skeleton, *(None for _ in self.positional)), found)


def _taken_apart(arg, values):
    """`arg` with slots in place of tensors and numbers, which are added to `values` as tensors."""
    if isinstance(arg, (list, tuple)):
        items = [_taken_apart(item, values) for item in arg]
        return items if isinstance(arg, list) else tuple(items)
    is_number = type(arg) in _NUMBERS
    if not is_number and not isinstance(arg, Base):
        raise TypeError(f"Custom: an input is a {type(arg).__name__} (accepted: tensors, numbers, and lists and tuples of them)")
    values.append(adopt(_core.tensor(arg, dtype=_NUMBERS[type(arg)])) if is_number else arg)
    return Slot(len(values) - 1, is_number)


def _type_of(attr):
    """The dtype that `out_dtype` gets for an attribute of the call."""
    kind = _TYPES.get(attr.get("type"), float)
    return mstype.string if kind is str else mstype.dtype_of_number(kind)


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
