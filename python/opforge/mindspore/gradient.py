"""Gradients of functions: what `GradOperation`, `grad` and `value_and_grad` are made of.

Differentiation is a function here: nothing is recorded outside of one, and parameters are variables within it only.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager

from .. import _core
from ..autograd import Function, enable_grad
from .tensor import Base, adopt

# opforge's flag; a parameter's own `requires_grad` says something else.
is_recorded = Base.requires_grad.__get__
_record = Base.requires_grad.__set__


class _Depth(threading.local):
    """How many differentiations are under way: the inner ones are themselves differentiated."""

    value = 0


_depth = _Depth()


def differentiate(fn, args, kwargs, positions, weights, sens, has_aux=False):
    """Runs `fn` and gives its result, the gradients by the arguments at `positions`, and those by `weights`.

    `sens` is the gradient of the result, None for ones. With `has_aux`, only the first of the results is differentiated.
    """
    nested = _depth.value > 0
    args = list(args)
    for i in positions:
        args[i] = _leaf(args[i])
    wanted = [args[i] for i in positions] + list(weights)
    _depth.value += 1
    try:
        with enable_grad(), _recorded(weights):
            result = fn(*args, **kwargs)
            grads = _gradients(result[0] if has_aux else result, wanted, sens, nested)
    finally:
        _depth.value -= 1
    return result if nested else _detached(result), tuple(grads[: len(positions)]), tuple(grads[len(positions) :])


def _leaf(tensor):
    """The same elements as a variable of their own: what else depends on `tensor` is constant."""
    if not _is_differentiable(tensor):
        return tensor
    return tensor.view(tensor.shape) if is_recorded(tensor) else tensor.detach().requires_grad_()


def _is_differentiable(tensor) -> bool:
    return Base.is_floating_point(tensor) or Base.is_complex(tensor)


@contextmanager
def _recorded(weights):
    """Within, what is computed from `weights` is recorded."""
    constant = [weight for weight in weights if not is_recorded(weight)]
    for weight in constant:
        _record(weight, True)
    try:
        yield
    finally:
        for weight in constant:
            _record(weight, False)


def _gradients(result, wanted, sens, nested):
    """The gradients of `result` by the tensors in `wanted`; zeros where it does not depend on one."""
    outputs = _tensors(result)
    given = [_core.ones_like(output) for output in outputs] if sens is None else _tensors(sens)
    _check_sens(outputs, given)
    pairs = [(output, grad) for output, grad in zip(outputs, given) if is_recorded(output)]
    inputs = [tensor for tensor in wanted if is_recorded(tensor)]
    if not pairs or not inputs:
        return [adopt(_core.zeros_like(tensor)) for tensor in wanted]
    outputs, given = zip(*pairs)
    found = iter(_core.grad(list(outputs), inputs, list(given), create_graph=nested, allow_unused=True))
    grads = [next(found) if is_recorded(tensor) else None for tensor in wanted]
    return [adopt(_core.zeros_like(tensor) if grad is None else grad) for tensor, grad in zip(wanted, grads)]


def _tensors(result) -> list:
    """The tensors in nested tuples and lists."""
    if isinstance(result, (tuple, list)):
        return [tensor for item in result for tensor in _tensors(item)]
    return [result] if isinstance(result, Base) else []


def _check_sens(outputs, given):
    if len(given) != len(outputs):
        raise ValueError(f"sens: {len(given)} tensors (accepted: {len(outputs)}, one for each result)")
    for i, (output, grad) in enumerate(zip(outputs, given)):
        if tuple(grad.shape) != tuple(output.shape):
            raise ValueError(f"sens[{i}]: shape {tuple(grad.shape)} (accepted: {tuple(output.shape)}, the result's)")


def _detached(result):
    """The result without its history."""
    if isinstance(result, (tuple, list)):
        return type(result)(map(_detached, result))
    return adopt(result.detach()) if isinstance(result, Base) else result


class WithBprop(Function):
    """`run`, differentiated by `bprop(*args, out, dout)`."""

    @staticmethod
    def forward(ctx, name, run, bprop, *args):
        ctx.name, ctx.bprop = name, bprop
        ctx.is_tensor = [isinstance(arg, Base) for arg in args]
        ctx.constants = [None if tensor else arg for tensor, arg in zip(ctx.is_tensor, args)]
        result = run(*args)
        ctx.several = isinstance(result, (tuple, list))
        outputs = tuple(Base.detach(output) for output in (result if ctx.several else (result,)))
        ctx.count = len(outputs)
        ctx.save_for_backward(*outputs, *(arg for tensor, arg in zip(ctx.is_tensor, args) if tensor))
        return outputs if ctx.several else outputs[0]

    @staticmethod
    def backward(ctx, *grads):
        saved = adopt(ctx.saved_tensors)
        tensors = iter(saved[ctx.count :])
        args = [next(tensors) if tensor else constant for tensor, constant in zip(ctx.is_tensor, ctx.constants)]
        out, dout = saved[: ctx.count], adopt(grads)
        found = ctx.bprop(*args, out if ctx.several else out[0], dout if ctx.several else dout[0])
        return (None, None, None, *checked_gradients(ctx.name, ctx.is_tensor, found))

    @classmethod
    def call(cls, name, run, bprop, args):
        """The result of `run(*args)`, with that gradient."""
        return adopt(cls.apply(name, run, bprop, *args))


def checked_gradients(name, is_tensor, found):
    """The gradients that a bprop returned, one for each argument; it may leave out, or give, those of arguments that are no tensors."""
    found = found if isinstance(found, (tuple, list)) else (found,)
    if len(found) == sum(is_tensor):
        grads = iter(found)
        return [next(grads) if tensor else None for tensor in is_tensor]
    if len(found) != len(is_tensor):
        raise RuntimeError(f"{name}: bprop returned {len(found)} gradients (accepted: {len(is_tensor)}, one for each input)")
    return [grad if tensor else None for tensor, grad in zip(is_tensor, found)]
