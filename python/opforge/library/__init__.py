"""Operators that are declared in Python, under the names that PyTorch has: `custom_op` makes one of a function, `define` and `Library` of a schema.

They are found in `opforge.ops` by their names, "namespace::name". Functions here that tell more of one (`register_autograd`, `register_fake`, ..) take an
operator or its name, which may be defined later. Kernels in C, C++, CUDA and Rust are `opforge.custom_op`'s.

>>> @opforge.library.custom_op("mine::sine", mutates_args=())
... def sine(x: opforge.Tensor) -> opforge.Tensor:
...     return opforge.from_numpy(numpy.sin(x.numpy()))
>>> sine.register_autograd(lambda ctx, grad: grad * ctx.saved_tensors[0].cos(), setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
>>> opforge.ops.mine.sine(opforge.zeros(1)).tolist()
[0.0]
"""

from __future__ import annotations

import functools

from . import registry
from .namespaces import Library, _scoped_library, define_operator, fallthrough_kernel  # noqa: F401
from .opcheck import OpCheckError, opcheck
from .operator import CustomOpDef
from .parsing import parse
from .schema import REQUIRED
from .signatures import of_function
from ..custom import custom_op as _custom_op

__all__ = [
    "CustomOpDef", "Library", "OpCheckError", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl", "impl_abstract", "infer_schema", "opcheck",
    "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch", "register_vmap", "triton_op",
]  # fmt: skip


def custom_op(name, fn=None, /, *, mutates_args=REQUIRED, device_types=None, schema=None, tags=None):
    """An operator made of a function whose annotations are its schema, unless one is given; also as a decorator.

    `mutates_args` names the arguments that the function changes in place, or is "unknown", which stands for all tensors; results have memory of their own.
    `device_types` are those of the tensors that it takes ("cpu", "cuda"), None for any. An operator of that name that `custom_op` made before is replaced.
    Tags tell compilers of PyTorch's what nothing here asks for.

    A function in the place of the name, or the path of a kernel, is what `opforge.custom_op` takes.
    """
    if not isinstance(name, str) or "::" not in name:
        return _custom_op(name, fn, schema=schema, **({} if mutates_args is REQUIRED else {"mutates_args": mutates_args}))
    if mutates_args is REQUIRED:
        raise TypeError(f"custom_op({name!r}): misses mutates_args (accepted: the names of the arguments that are changed, () for none)")
    registry.split(name)

    def declare(function):
        op = CustomOpDef(name, _schema_of(name, function, mutates_args, schema), function)
        op.register_kernel(device_types, function)
        before = registry.find(name)
        registry.add(op, replaces=before is not None and before.is_of_function)
        return op

    return declare if fn is None else declare(fn)


def _schema_of(name, function, mutates_args, text):
    found = of_function(function, mutates_args, name) if text is None else parse(text, name)
    changed = {parameter.name for parameter in found.parameters if parameter.changes}
    if text is not None and mutates_args != "unknown" and changed != set(mutates_args):
        raise ValueError(f"custom_op({name!r}): mutates_args {sorted(mutates_args)}, but by the schema {text!r} it changes {sorted(changed)}")
    if any(parameter.by_name and parameter.kind.startswith("Tensor") for parameter in found.parameters):
        raise NotImplementedError(f"custom_op({name!r}): tensors that are given by name, as in {found} (accepted: tensors by position)")
    return found


triton_op = custom_op


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The text of the schema that a function's annotations state.

    >>> def scaled(x: opforge.Tensor, factor: float = 2.0) -> opforge.Tensor: ...
    >>> infer_schema(scaled, mutates_args=())
    '(Tensor x, float factor=2.0) -> Tensor'
    """
    return str(of_function(prototype_function, mutates_args, op_name or ""))


@functools.singledispatch
def define(qualname, schema, *, lib=None, tags=()):
    """Defines an operator by its name and schema, "(Tensor x, int n) -> Tensor". What it computes is told by `impl`.

    `define(library, "name(Tensor x) -> Tensor")` decorates what computes it.
    """
    if not schema.lstrip().startswith("("):
        raise ValueError(f"define({qualname!r}): schema {schema!r} (accepted: a text such as \"(Tensor x, int n=1) -> Tensor\", without a name)")
    define_operator(qualname, schema)


@define.register
def _(lib: Library, schema, alias_analysis=""):
    def decorate(function):
        lib.impl(lib.define(schema, alias_analysis), function)
        return function

    return decorate


@functools.singledispatch
def impl(qualname, types, func=None, *, lib=None):
    """Tells what an operator computes on devices of some types ("cpu", "default"), or for dispatch keys; also as a decorator.

    `impl(library, name, dispatch_key)` decorates what `Library.impl` takes.
    """
    kinds = (types,) if isinstance(types, str) else tuple(types)

    def tell(function):
        library = Library(registry.split(qualname)[0], "IMPL")
        for kind in kinds:
            library.impl(qualname, function, kind)
        return function

    return tell if func is None else tell(func)


@impl.register
def _(lib: Library, name, dispatch_key=""):
    def decorate(function):
        lib.impl(name, function, dispatch_key)
        return function

    return decorate


def _name_of(op):
    """The name of an operator, which may be given by it, or as `opforge.ops` has it."""
    name = op if isinstance(op, str) else getattr(op, "_qualname", None)
    if name is None:
        raise ValueError(f"library: {op!r} is no operator (accepted: a name, an operator of opforge.library or of opforge.ops)")
    return name


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Declares what computes an operator on devices of some types; also as a decorator. See `CustomOpDef.register_kernel`."""

    def register(function):
        registry.declare(_name_of(op), lambda op: op.register_kernel(device_types, function))
        return function

    return register if func is None else register(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """Declares what an operator gives for tensors on the device "meta"; also as a decorator.

    With `allow_override=False` it is a RuntimeError if that is declared already.
    """

    def register(function):
        registry.declare(_name_of(op), lambda op: op.implement(function, "Meta", allow_override))
        return function

    return register if func is None else register(func)


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Declares an operator's gradient: see `CustomOpDef.register_autograd`."""
    registry.declare(_name_of(op), lambda op: op.register_autograd(backward, setup_context=setup_context))


def register_vmap(op, func=None, /, *, lib=None):
    """Accepts a rule of batches, which `vmap` needs none of: see `CustomOpDef.register_vmap`."""
    registry.declare(_name_of(op), lambda op: None)
    return (lambda function: function) if func is None else func


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Declares the dtype in which autocast gives an operator its float tensors: see `CustomOpDef.register_autocast`."""
    registry.declare(_name_of(op), lambda op: op.register_autocast(device_type, cast_inputs))


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Not there: opforge has no `__torch_dispatch__`, a NotImplementedError."""
    registry.declare(_name_of(op), lambda op: op.register_torch_dispatch(torch_dispatch_class, func))


def get_ctx():
    """What a function for the device "meta" asks for sizes that depend on elements: a RuntimeError, as tensors there have sizes that are known."""
    raise RuntimeError("get_ctx(): sizes that depend on elements; tensors on the device 'meta' have none, and opforge no other tensors without elements")
