"""The class of custom operators, and the function that makes them."""

from __future__ import annotations

import sys

from .. import _core
from .._calls.tracing import refuse
from .gradient import from_autograd
from .signature import Arguments, schema_of


class CustomOp(_core.CustomOp):
    """An operator that a user brought; call it with tensors and attributes. `custom_op` makes them."""

    def register_fake(self, function, /):
        """Declares, by a decorated function of the operator's arguments, what the operator gives for tensors on the device "meta".

        >>> @add.register_fake
        ... def _(x, y):
        ...     return torch.empty_like(x)
        """
        self._declare(fake=_called(self.schema, function))
        return function

    def register_autograd(self, backward, /, *, setup_context=None):
        """Declares the gradient: `backward(ctx, *grads)` returns a gradient or None for each argument, or for each tensor alone.

        `setup_context(ctx, inputs, output)` sees the call's arguments and results and saves what backward needs; without it,
        `ctx.saved_tensors` are the call's tensors, then its results.

        >>> mul.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]))
        """
        self._declare(gradient=from_autograd(self.schema, backward, setup_context))


def custom_op(func, function=None, /, *, mutates_args=(), schema=None, name=None, **options):
    """An operator of your own.

    From a library or source file: `func` is "path:Name", the file and the kernel's main function. Files that end in .c, .cc, .cpp and .cxx are
    compiled by the system's compiler, .cu by nvcc; any other is a library. The kernel is called as `opforge/kernel.h` in
    `opforge.include_dir()` states. Options:

    - `schema`: parameters and results, such as "(Tensor x, Tensor y, *, int axis=0) -> Tensor"; types are Tensor, bool, int, float, str, int[],
      float[], int[][], float[][]; `Tensor(a!)` is changed in place. Without a schema calls give tensors, then attributes by name.
    - `shapes`: of the outputs; the number of an input that they are like, a shape, a tuple of shapes, or a function of the inputs' shapes.
      None, as at first, asks the kernel's InferShape.
    - `dtypes`: of the outputs; a dtype, a tuple of dtypes, or a function of the inputs' dtypes. None asks the kernel's InferType, or is
      the first input's.
    - `inputs`, `outputs`: their numbers, where no schema, shapes or `accepts` tell. Calls with another number of tensors are errors.
    - `attributes`: a dict of values; `positional`: names of attributes that calls give by position behind the tensors.
    - `accepts`: combinations of dtypes of inputs and outputs, such as [(float32, float32, float32)]; None is any dtype.
    - `gradient`: another custom operator, of inputs, outputs and the outputs' gradients, which returns the inputs' gradients.
    - `axes`: how axes flow, such as "mk,kn->mn", with `roles={"k": "sum"}`: how the operator may be split. Roles are map (unless given), sum, product, max, min, any, all
      and whole; a dimension that is a dot, and everything without `axes`, is needed whole.
    - `effects`: whether calls do more than compute.
    - `isolate`: whether it runs in a process of its own, so that no mistake of its harms this process. It may take `timeout` seconds and allocate
      `memory` bytes (the memory limit, unless given) besides the tensors; it can send no signals and reach no other process's memory. What it could
      do to files and networks it still can.
    - `flags`, `include`, `flavour`, `cache`: how sources are compiled. Where the environment has an allow-list (OPFORGE_CUSTOM_ALLOW,
      MS_CUSTOM_AOT_WHITE_LIST), flags that name further files or programs are refused, and headers and needed libraries are held to it. `cache`
      is a folder that nobody else may write to.
    - `reload`: whether calls look for changes of the file.

    As a decorator of a Python function, whose annotations are its schema:

    >>> @opforge.custom_op
    ... def scaled(x: Tensor, factor: float = 2.0) -> Tensor:
    ...     return x * factor

    or with a name, and the arguments that it changes: `@opforge.custom_op("mine::fill", mutates_args=("x",))`.
    """
    if isinstance(func, str) and "::" not in func and (":" in func or function is None):
        options.setdefault("search", [folder for folder in sys.path if folder])
        return CustomOp(func, schema=schema, name=name, **options)
    if isinstance(func, str):
        name = func

    def declare(body):
        declared = schema or schema_of(body, mutates_args)
        return CustomOp(_body(declared, body), schema=declared, name=name or body.__name__, **options)

    body = func if callable(func) else function
    return declare if body is None else declare(body)


def _body(schema, function):
    """What computes an operator of a Python function. Where its results are known without it, graphs call it each time that they run; others would keep what it
    computed when it was traced, so functions that are compiled and call it run as they are."""
    call, name = _called(schema, function), getattr(function, "__name__", "custom_op")

    def run(tensors, attributes):
        refuse(f"{name} is computed by a Python function, and nothing tells what it gives; register_fake declares it")
        return call(tensors, attributes)

    run.__name__ = name
    return run


def _called(schema, function):
    """A function of tensors and attributes that calls one of the operator's arguments."""

    arguments = Arguments(schema)

    def run(tensors, attributes):
        positional, named = arguments.of(tensors, attributes)
        result = function(*positional, **named)
        if result is None:
            return ()
        return (result,) if isinstance(result, _core.Tensor) else tuple(result)

    return run
