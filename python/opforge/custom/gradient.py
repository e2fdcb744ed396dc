"""Gradients in the form of PyTorch's `register_autograd`."""

from __future__ import annotations

from .. import _core
from .signature import Arguments


class Context:
    """What a call leaves for its backward."""

    def __init__(self, saved, needs):
        self.saved_tensors = saved
        self.needs_input_grad = needs

    def save_for_backward(self, *tensors):
        """Names what backward reads as `saved_tensors`."""
        self.saved_tensors = tensors


def from_autograd(schema, backward, setup_context):
    """The gradient as a function of inputs, outputs, gradients, attributes and needs."""

    arguments = schema and Arguments(schema)

    def gradient(inputs, outputs, grads, attributes, needs):
        args, are_tensors = list(inputs), [True] * len(inputs)
        if arguments:
            positional, named = arguments.of(inputs, attributes)
            args, are_tensors = [*positional, *named.values()], arguments.are_tensors
        wanted = iter(needs)
        ctx = Context((*inputs, *outputs), tuple(is_tensor and next(wanted) for is_tensor in are_tensors))
        if setup_context is not None:
            setup_context(ctx, tuple(args), outputs[0] if len(outputs) == 1 else outputs)
        found = backward(ctx, *grads)
        found = (found,) if found is None or isinstance(found, _core.Tensor) else tuple(found)
        if len(found) == len(are_tensors) != len(inputs):
            return tuple(grad for grad, is_tensor in zip(found, are_tensors) if is_tensor)
        return found

    return gradient
