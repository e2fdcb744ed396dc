"""Custom operators under the names that PyTorch has: see `opforge.custom_op`.

Operators that are declared with a name, "namespace::name", are found by it in `opforge.ops`. Functions here take an operator or its name.
"""

from __future__ import annotations

from .._core import ArgumentError
from ._definition import Definition
from ._python_op import PythonOp
from ..custom import CustomOp as CustomOpDef
from ..custom import custom_op as _custom_op

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "impl", "impl_abstract", "register_autograd", "register_fake", "register_kernel", "triton_op",
]  # fmt: skip

# By "namespace::name": custom operators, and those that are declared part by part.
_operators: dict[str, CustomOpDef | Definition] = {}


def find(name):
    """The operator of that name, or None where it is not defined."""
    op = _operators.get(name)
    return None if isinstance(op, Definition) and op.schema is None else op


def _of(op):
    """An operator, or the one of that name."""
    if not isinstance(op, str):
        return getattr(op, "_function", op)
    if op not in _operators:
        raise RuntimeError(f"library: there is no operator {op!r}; define it first")
    return _operators[op]


def custom_op(name, fn=None, /, *, mutates_args=(), device_types=None, schema=None, tags=None):
    """`opforge.custom_op` with a name, by which `opforge.ops` finds the operator. The function is called on tensors of any device.

    A function whose arguments are of other types than schemas have, such as optional ones, is an operator too (`_python_op`), but no part of graphs.
    """
    if not isinstance(name, str):
        return _custom_op(name, fn, mutates_args=mutates_args, schema=schema)

    def declare(function):
        try:
            op = _custom_op(name, function, mutates_args=() if mutates_args == "unknown" else mutates_args, schema=schema)
        except ArgumentError:
            op = PythonOp(function, name)
        _operators[name] = op
        return op

    return declare if fn is None else declare(fn)


triton_op = custom_op


def define(qualname, schema, *, lib=None, tags=()):
    """Declares an operator by its name and schema, "(Tensor x, int n) -> Tensor". What it computes is told by `impl`."""
    if "::" not in qualname:
        raise ValueError(f"define(): {qualname!r} is no name of the form namespace::name")
    early = _operators.get(qualname)
    if isinstance(early, Definition) and early.schema is None:
        early.define(schema)
    else:
        _operators[qualname] = Definition(qualname, schema)


def impl(qualname, types, func=None, *, lib=None):
    """Tells what an operator computes on devices of some types ("cpu", "default"); also as a decorator."""
    kinds = (types,) if isinstance(types, str) else tuple(types)

    def tell(function):
        for kind in kinds:
            _of(qualname).implement(function, kind)
        return function

    return tell if func is None else tell(func)


register_kernel = impl


def register_fake(op, func=None, /, *, lib=None, allow_override=False):
    """Declares what a custom operator gives for tensors on the device "meta"; also as a decorator. A name may be defined later."""
    if isinstance(op, str) and op not in _operators:
        _operators[op] = Definition(op)
    op = _of(op)
    return op.register_fake if func is None else op.register_fake(func)


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Declares a custom operator's gradient."""
    _of(op).register_autograd(backward, setup_context=setup_context)


class Library:
    """The operators of a namespace: `kind` is "DEF" for a new one, "FRAGMENT" and "IMPL" for one that others may declare too."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported library type: {kind}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        """Declares an operator: "name(Tensor x) -> Tensor". Returns its name."""
        name, bracket, rest = schema.partition("(")
        define(f"{self.ns}::{name.strip()}", bracket + rest)
        return name.strip()

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Tells what an operator computes, for a dispatch key such as "CPU", "Meta" or "CompositeImplicitAutograd"."""
        name = op_name if isinstance(op_name, str) else op_name._qualified_name
        name = name if "::" in name else f"{self.ns}::{name}"
        if name not in _operators and name.startswith("aten::"):
            raise NotImplementedError(f"Library.impl(): {name}: opforge's own operators cannot be replaced")
        _of(name).implement(fn, dispatch_key or self.dispatch_key or "CompositeImplicitAutograd")

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        register_fake(op_name if "::" in op_name else f"{self.ns}::{op_name}", fn)

    def _destroy(self):
        """Nothing happens: operators stay as long as the program."""
