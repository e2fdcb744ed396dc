"""Convolutions."""

from __future__ import annotations

import math

from ... import ops
from ...common.initializer import HeUniform, initializer, scaled_uniform
from ...dtype import float32
from ...parameter import Parameter
from ..cell import Cell

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


class _Convolution(Cell):
    """A convolution over the last axes. `pad_mode` is `"same"` (outputs have the input's size divided by the stride, rounded up), `"valid"` (no padding) or
    `"pad"` (`padding` zeros on each side)."""

    dims, function = 2, None

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        pad_mode="same",
        padding=0,
        dilation=1,
        group=1,
        has_bias=False,
        weight_init=None,
        bias_init=None,
        data_format="NCHW",
        dtype=float32,
    ):
        super().__init__()
        if data_format not in ("NCHW", "NCDHW"):
            raise ValueError(f"{type(self).__name__}: data_format {data_format!r} (accepted: channels before the axes, 'NCHW')")
        self.in_channels, self.out_channels, self.has_bias, self.pad_mode = in_channels, out_channels, has_bias, pad_mode
        self.kernel_size, self.stride, self.dilation = map(self._of_axes, (kernel_size, stride, dilation))
        self.padding, self.group = padding, group
        shape = [out_channels, in_channels // group, *self.kernel_size]
        self.weight = Parameter(initializer(HeUniform(math.sqrt(5)) if weight_init is None else weight_init, shape, dtype), name="weight")
        if has_bias:
            start = scaled_uniform(math.prod(shape[1:])) if bias_init is None else bias_init
            self.bias = Parameter(initializer(start, [out_channels], dtype), name="bias")

    def _of_axes(self, value):
        return (value,) * self.dims if isinstance(value, int) else tuple(value)

    def construct(self, x):
        bias = self.bias if self.has_bias else None
        return type(self).function(x, self.weight, bias, self.stride, self.pad_mode, self.padding, self.dilation, self.group)

    def extend_repr(self):
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"pad_mode={self.pad_mode}, padding={self.padding}, dilation={self.dilation}, group={self.group}, has_bias={self.has_bias}"
        )


class Conv1d(_Convolution):
    __doc__ = _Convolution.__doc__
    dims, function = 1, staticmethod(ops.conv1d)


class Conv2d(_Convolution):
    __doc__ = _Convolution.__doc__
    dims, function = 2, staticmethod(ops.conv2d)


class Conv3d(_Convolution):
    __doc__ = _Convolution.__doc__
    dims, function = 3, staticmethod(ops.conv3d)
