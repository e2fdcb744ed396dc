"""Gradients of convolutions as functions: by the input, of a given size, and by the weight."""

from __future__ import annotations

from .. import _core as _C
from ..autograd.grad_mode import enable_grad
from . import functional as F


def _gradient(dims, place, size, other, grad_output, stride, padding, dilation, groups):
    """The gradient of a convolution's argument in a place, 0 the input and 1 the weight, which is linear in it."""
    record = _C.is_grad_enabled()
    with enable_grad():
        asked = _C.zeros(size, dtype=other.dtype, device=other.device, requires_grad=True)
        arguments = (asked, other) if place == 0 else (other, asked)
        output = getattr(F, f"conv{dims}d")(*arguments, None, stride, padding, dilation, groups)
        return _C.grad([output], [asked], [grad_output], create_graph=record)[0]


def _of_input(dims):
    def conv_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return _gradient(dims, 0, input_size, weight, grad_output, stride, padding, dilation, groups)

    conv_input.__name__ = conv_input.__qualname__ = f"conv{dims}d_input"
    conv_input.__doc__ = f"The gradient of `conv{dims}d` by its input, which has a size."
    return conv_input


def _of_weight(dims):
    def conv_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        return _gradient(dims, 1, weight_size, input, grad_output, stride, padding, dilation, groups)

    conv_weight.__name__ = conv_weight.__qualname__ = f"conv{dims}d_weight"
    conv_weight.__doc__ = f"The gradient of `conv{dims}d` by its weight, which has a size."
    return conv_weight


conv1d_input, conv2d_input, conv3d_input = map(_of_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_of_weight, (1, 2, 3))
