"""Functions with a derivative that is given, a `bprop`: of cells and of custom operators."""

from __future__ import annotations

from .. import _core
from ..autograd import Function
from .structure import Slot, emptied, filled
from .tensor import Base, adopt

is_recorded = Base.requires_grad.__get__


def call_with_bprop(name, run, bprop, args):
    """The result of `run(*args)`, with the gradients that `bprop(*args, out, dout)` gives by `args`, a tuple of one for each.

    Arguments and results may be nested; gradients and `dout` are nested as they are. Raises TypeError for gradients that are no tensors, and RuntimeError
    for another number of them, when it is differentiated.
    """
    skeleton, tensors = emptied(tuple(args))
    if not _core.is_grad_enabled() or not any(map(is_recorded, tensors)):
        return run(*args)
    call = _Call(name, run, bprop, skeleton)
    outputs = _WithBprop.apply(call, *tensors)
    return filled(call.result, adopt(outputs if isinstance(outputs, tuple) else (outputs,)))


class _Call:
    """A call's function, gradient and what it takes and gives, without the tensors."""

    def __init__(self, name, run, bprop, args):
        self.name, self.run, self.bprop, self.args, self.result = name, run, bprop, args, None


class _WithBprop(Function):
    @staticmethod
    def forward(ctx, call, *tensors):
        call.result, outputs = emptied(call.run(*filled(call.args, tensors)))
        outputs = tuple(map(Base.detach, outputs))
        ctx.call, ctx.count = call, len(outputs)
        ctx.save_for_backward(*outputs, *tensors)
        return outputs

    @staticmethod
    def backward(ctx, *grads):
        call, saved = ctx.call, adopt(ctx.saved_tensors)
        args = filled(call.args, saved[ctx.count :])
        out, dout = filled(call.result, saved[: ctx.count]), filled(call.result, adopt(grads))
        return (None, *checked_gradients(call.name, call.args, call.bprop(*args, out, dout)))


def checked_gradients(name, args, found):
    """The gradients that a bprop returned, one for each slot in `args`; it may leave out, or give, those of arguments without tensors."""
    found = found if isinstance(found, (tuple, list)) else (found,)
    has_tensors = [any(not slot.is_number for slot in _slots(arg)) for arg in args]
    if len(found) == sum(has_tensors):
        left = iter(found)
        found = [next(left) if given else None for given in has_tensors]
    if len(found) != len(args):
        raise RuntimeError(f"{name}: bprop returned {len(found)} gradients (accepted: {len(args)}, one for each input)")
    return [grad for i, (arg, given) in enumerate(zip(args, found)) for grad in _of_input(name, i, arg, given)]


def _of_input(name, i, arg, given) -> list:
    """The gradients by an input's slots, given as the input is nested."""
    slots = _slots(arg)
    if not slots or given is None:
        return [None] * len(slots)
    if isinstance(arg, Slot):
        return [None if arg.is_number else _checked(name, i, given)]
    if isinstance(arg, dict) and isinstance(given, dict):
        return [grad for key, item in arg.items() for grad in _of_input(name, i, item, given.get(key))]
    if isinstance(given, (tuple, list)) and len(given) == len(arg):
        return [grad for item, part in zip(arg, given) for grad in _of_input(name, i, item, part)]
    raise TypeError(f"{name}: bprop returned a {type(given).__name__} for input {i} (accepted: gradients nested as the input, {len(arg)} of them)")


def _checked(name, i, given):
    if not isinstance(given, Base):
        raise TypeError(f"{name}: bprop returned a {type(given).__name__} for input {i} (accepted: a Tensor, or None)")
    return given


def _slots(value) -> list:
    if isinstance(value, Slot):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [slot for item in items for slot in _slots(item)]
