"""Gradients in the form of PyTorch's `register_autograd`."""

from __future__ import annotations

from .. import _core
from .signature import arguments, parameters


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

    def gradient(inputs, outputs, grads, attributes, needs):
        if schema is None:
            args, is_tensor = list(inputs), [True] * len(inputs)
        else:
            positional, named = arguments(schema, inputs, attributes)
            args, is_tensor = [*positional, *named.values()], [tensor for _, tensor, _ in parameters(schema)]
        wanted = iter(needs)
        ctx = Context((*inputs, *outputs), tuple(tensor and next(wanted) for tensor in is_tensor))
        if setup_context is not None:
            setup_context(ctx, tuple(args), outputs[0] if len(outputs) == 1 else outputs)
        found = backward(ctx, *grads)
        found = (found,) if found is None or isinstance(found, _core.Tensor) else tuple(found)
        if len(found) == len(is_tensor) != len(inputs):
            return tuple(grad for grad, tensor in zip(found, is_tensor) if tensor)
        return found

    return gradient
