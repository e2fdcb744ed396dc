"""Custom operators of Python's whose arguments a schema of opforge's has no types for: optional values, lists of tensors, devices and the like."""

from __future__ import annotations

import functools
import inspect

from ..autograd import Function
from ..autograd.grad_mode import no_grad


class PythonOp:
    """A function as an operator: nothing inside of it is recorded. Its gradient, of tensors that are arguments themselves, is what `register_autograd` says;
    without, backward through it is a RuntimeError.
    """

    def __init__(self, function, name):
        functools.update_wrapper(self, function)
        self.name, self._qualname = name, name
        self._function = function
        self._signature = inspect.signature(function)
        self._backward = self._setup = None
        self._differentiable = _differentiable(self)

    def register_autograd(self, backward, /, *, setup_context=None):
        """Declares the gradient: see `opforge.custom_op`."""
        self._backward, self._setup = backward, setup_context

    def register_fake(self, function, /):
        """Keeps nothing: the function itself is called for tensors on the device "meta" too, as for any other."""
        return function

    def register_kernel(self, device_types, function=None, /):
        """What it computes on devices of a type; those of others than the CPU are never called."""
        kinds = (device_types,) if isinstance(device_types, str) else device_types

        def tell(function):
            if kinds is None or "cpu" in kinds:
                self._function = function
            return function

        return tell if function is None else tell(function)

    def __call__(self, *args, **kwargs):
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return self._differentiable.apply(bound.kwargs, *bound.args)

    def __repr__(self):
        return f"<PythonOp {self.name}>"


def _differentiable(op):
    """The operator as a function with a backward: of the keywords, then the positional arguments."""

    class Differentiable(Function):
        @staticmethod
        def forward(ctx, keywords, *args):
            with no_grad():
                output = op._function(*args, **keywords)
            if op._setup is not None:
                options = {"keyword_only_inputs": keywords} if keywords else {}
                op._setup(ctx, args, output, **options)
            return output

        @staticmethod
        def backward(ctx, *grads):
            if op._backward is None:
                raise RuntimeError(f"Trying to backward through {op.name} but no autograd formula was registered; see register_autograd")
            given = op._backward(ctx, *grads)
            return (None, *(given if isinstance(given, tuple) else (given,)))

    Differentiable.__name__ = op.__name__
    return Differentiable
