"""Pooling."""

from __future__ import annotations

from .... import _core
from ... import ops
from ..configured import configured


def _pool(function, primitive, x, kernel_size, stride, pad_mode, padding, ceil_mode, **options):
    """Windows over the last two axes; `primitive` has those of "same"."""
    if pad_mode.lower() == "same":
        return primitive(kernel_size, stride, "same")(x)
    return function(x, kernel_size, stride, padding if pad_mode.lower() == "pad" else 0, ceil_mode=ceil_mode, **options)


_CELLS = {
    "AdaptiveAvgPool2d": lambda input, *, output_size=1: ops.adaptive_avg_pool2d(input, output_size),
    "AdaptiveMaxPool2d": lambda input, *, output_size=1: ops.adaptive_max_pool2d(input, output_size),
    "AvgPool2d": lambda x, *, kernel_size=1, stride=1, pad_mode="valid", padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, data_format="NCHW": (
        _pool(_core.nn.avg_pool2d, ops.AvgPool, x, kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad=count_include_pad, divisor_override=divisor_override)
    ),
    "MaxPool2d": lambda x, *, kernel_size=1, stride=1, pad_mode="valid", padding=0, dilation=1, return_indices=False, ceil_mode=False, data_format="NCHW": _pool(
        _core.nn.max_pool2d_with_indices if return_indices else _core.nn.max_pool2d,
        ops.MaxPool,
        x,
        kernel_size,
        stride,
        pad_mode,
        padding,
        ceil_mode,
        dilation=dilation,
    ),
}
globals().update(configured(_CELLS, __name__))
__all__ = list(_CELLS)
