"""A `Function`'s own `jvp`, where derivatives in a direction are computed as the gradient of a gradient.

The gradient of an output, for a cotangent u, is linear in u: Jᵀu, whose own gradient by u, for a tangent t, is Jt. So a backward that is made only to be
differentiated by its cotangents, which are zeros, can give zeros for Jᵀu, with a backward that calls `jvp`. What a `Function`'s own backward computes is
wanted as it is, so backwards inside of it are not of that kind.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import NamedTuple

from .. import _core


class _Thread(threading.local):
    """Whether the backward that this thread runs is made only to be differentiated by its cotangents."""

    transposing = False


thread = _Thread()


@contextmanager
def transposing(on=True):
    """A block whose backwards are of that kind, or are not."""
    before, thread.transposing = thread.transposing, on
    try:
        yield
    finally:
        thread.transposing = before


class Like(NamedTuple):
    """What a tensor is like, without the tensor."""

    shape: tuple
    dtype: object
    device: object

    @classmethod
    def of(cls, tensor):
        """What this tensor is like."""
        return cls(tuple(tensor.shape), tensor.dtype, tensor.device)

    def zeros(self):
        """Zeros that are like it."""
        return _core.zeros(self.shape, dtype=self.dtype, device=self.device)


class Call(NamedTuple):
    """A call of a `Function`: how many arguments and outputs it had, which places among them had tensors, and what these were like."""

    cls: type
    ctx: object
    argument_count: int
    output_count: int
    inputs: list
    input_likes: list
    outputs: list
    output_likes: list


def transposed(call, cotangents):
    """Zeros as the gradients of a call's tensors, whose gradient by the cotangents (a tensor, or None, for each tensor among the outputs) is `jvp`."""
    which = [k for k, cotangent in enumerate(cotangents) if cotangent is not None]

    def backward(tangents, needs):
        full = [None] * call.argument_count
        for place, like, tangent in zip(call.inputs, call.input_likes, tangents):
            full[place] = like.zeros() if tangent is None and call.ctx._materialize else tangent
        with call.ctx._running_jvp():
            found = _tangents(call, call.cls.jvp(call.ctx, *full))
        return [found[k] for k in which]

    zeros = [like.zeros() for like in call.input_likes]
    return _core.record_function(f"{call.cls.__name__}Jvp", [cotangents[k] for k in which], zeros, [True] * len(zeros), backward)


def _tangents(call, found):
    """What `jvp` returned for the tensors among the outputs."""
    name = f"{call.cls.__name__}.jvp"
    found = found if isinstance(found, (tuple, list)) else (found,)
    if len(found) != call.output_count:
        raise RuntimeError(f"{name} returned an invalid number of tangents (expected {call.output_count}, got {len(found)})")
    for place, like in zip(call.outputs, call.output_likes):
        tangent = found[place]
        if tangent is not None and not isinstance(tangent, _core.Tensor):
            raise RuntimeError(f"{name} returned {type(tangent).__name__} for output {place}, a Tensor or None expected")
        if tangent is not None and tuple(tangent.shape) != like.shape:
            raise RuntimeError(f"{name} returned a tangent of shape {tuple(tangent.shape)} for output {place}, which has shape {like.shape}")
    return [found[place] for place in call.outputs]
