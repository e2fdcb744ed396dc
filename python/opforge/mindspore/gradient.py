"""Gradients of functions: what `GradOperation`, `grad` and `value_and_grad` are made of.

Differentiation is a function here: nothing is recorded outside of one, and parameters are variables within it only.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager

from .. import _core
from ..autograd import enable_grad
from .bprop import is_recorded
from .parameter import Parameter
from .structure import mapped, tensors_of
from .tensor import Base, adopt

# opforge's flag; a parameter's own `requires_grad` says something else.
_record = Base.requires_grad.__set__


class _Depth(threading.local):
    """How many differentiations are under way: the inner ones are themselves differentiated."""

    value = 0


_depth = _Depth()


def differentiate(fn, args, positions, weights, sens, has_aux=False):
    """Runs `fn` and gives its result, the gradients by the arguments at `positions`, and those by `weights`.

    `sens` is the gradient of the result, None for ones. With `has_aux`, only the first of the results is differentiated.
    """
    nested = _depth.value > 0
    args = list(args)
    for i in positions:
        args[i] = _leaf(args[i])
    wanted = [args[i] for i in positions] + list(weights)
    weights = [weight for weight in weights if _is_trained(weight)]
    _depth.value += 1
    try:
        with enable_grad(), _recorded(weights):
            result = fn(*args)
            grads = _gradients(_differentiated(result, has_aux), wanted, sens, nested)
    finally:
        _depth.value -= 1
    return result if nested else mapped(_detached, result), tuple(grads[: len(positions)]), tuple(grads[len(positions) :])


def _differentiated(result, has_aux):
    """The part of the result that is differentiated."""
    if not has_aux:
        return result
    if not isinstance(result, (tuple, list)) or len(result) < 2:
        raise ValueError("has_aux: the function returned one result (accepted: the one that is differentiated, then others)")
    return result[0]


def _leaf(tensor):
    """The same elements as a variable of their own: what else depends on `tensor` is constant."""
    if not is_differentiable(tensor) or not _is_trained(tensor):
        return tensor
    return tensor.view(tensor.shape) if is_recorded(tensor) else tensor.detach().requires_grad_()


def _is_trained(tensor) -> bool:
    """Whether gradients go to it: those of a parameter that says `requires_grad=False` are zeros."""
    return not isinstance(tensor, Parameter) or tensor.requires_grad


def is_differentiable(tensor) -> bool:
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
    outputs = tensors_of(result)
    given = _given(sens, outputs)
    _check_sens(outputs, given)
    pairs = [(output, grad) for output, grad in zip(outputs, given) if is_recorded(output)]
    inputs = [tensor for tensor in wanted if is_recorded(tensor) and _is_trained(tensor)]
    if not pairs or not inputs:
        return [adopt(_core.zeros_like(tensor)) for tensor in wanted]
    outputs, given = zip(*pairs)
    found = iter(_core.grad(list(outputs), inputs, list(given), create_graph=nested, allow_unused=True))
    grads = [next(found) if is_recorded(tensor) and _is_trained(tensor) else None for tensor in wanted]
    return [adopt(_core.zeros_like(tensor) if grad is None else grad) for tensor, grad in zip(wanted, grads)]


def _given(sens, outputs) -> list:
    """The gradients of the outputs: ones without `sens`; a number stands for a tensor of it."""
    if sens is None:
        return [_core.ones_like(output) for output in outputs]
    if isinstance(sens, (int, float)) and len(outputs) == 1:
        return [_core.full_like(outputs[0], sens)]
    return tensors_of(sens)


def _check_sens(outputs, given):
    if len(given) != len(outputs):
        raise ValueError(f"sens: {len(given)} tensors (accepted: {len(outputs)}, one for each result)")
    for i, (output, grad) in enumerate(zip(outputs, given)):
        if tuple(grad.shape) != tuple(output.shape):
            raise ValueError(f"sens[{i}]: shape {tuple(grad.shape)} (accepted: {tuple(output.shape)}, the result's)")


def _detached(tensor):
    """The tensor without its history."""
    return adopt(tensor.detach())
