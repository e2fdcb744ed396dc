"""Tensors kept for backward: as they are, or as the pack hooks in force have them."""

from __future__ import annotations

import threading
from contextlib import contextmanager

from .. import _core
from .grad_mode import enable_grad, no_grad


class _Thread(threading.local):
    """This thread's pack and unpack hooks, the innermost last (None: none), and why there may be no more of them."""

    hooks = (None,)
    refusal = None


thread = _Thread()


@contextmanager
def hooked(hooks):
    """What is saved in the block goes through these hooks; None for no hooks."""
    before, thread.hooks = thread.hooks, (*thread.hooks, hooks)
    try:
        yield
    finally:
        thread.hooks = before


def save(tensor, is_output=False):
    """A tensor for backward: with `unpack()`, and with `bind(recorded)` for an output once it is recorded."""
    hooks = thread.hooks[-1]
    return _core.SavedTensor(tensor, is_output) if hooks is None else _Packed(hooks, tensor, is_output)


class _Packed:
    """What a pack hook made of a tensor, and a tensor of its place in the graph that takes no memory."""

    def __init__(self, hooks, tensor, is_output):
        self._hooks = hooks
        with no_grad(), hooked(None):
            self._packed = hooks.pack(tensor.detach())
        self._place = None
        if is_output:
            self._place = _core.SavedTensor(_weightless(tensor), True)
        elif tensor.requires_grad:
            self._place = _core.SavedTensor(_edge(tensor))

    def bind(self, recorded):
        """Tells a saved output's place in the graph."""
        self._place.bind(recorded)

    def unpack(self):
        """What the unpack hook makes of it, in the graph where the tensor was."""
        with no_grad(), hooked(None):
            tensor = self._hooks.unpack(self._packed)
        if not isinstance(tensor, _core.Tensor):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(tensor)}")
        place = None if self._place is None else self._place.unpack()
        return tensor if place is None or not place.requires_grad else _linked(tensor, place)


def _weightless(tensor):
    """A tensor of the same shape and dtype that has one element in memory."""
    return _core.zeros((), dtype=tensor.dtype, device=tensor.device).expand(tensor.shape)


def _edge(tensor):
    """A weightless tensor whose gradient is the given one's."""
    return _core.record_function("SavedTensor", [tensor], [_weightless(tensor)], [True], lambda grads, needs: grads)[0]


@enable_grad()
def _linked(tensor, place):
    """The elements of one tensor with the history of another."""
    return _core.record_function("UnpackedTensor", [place], [tensor.detach()], [True], lambda grads, needs: grads)[0]
