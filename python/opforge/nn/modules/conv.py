"""Convolutions and their transposes."""

from __future__ import annotations

import math

from ... import _core as _C
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from .utils import ntuple

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share; a subclass says its number of spatial dimensions and whether it is transposed."""

    _dims: int
    _transposed = False

    def __init__(
        self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, output_padding=0,
        device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'")
        tuple_of = ntuple(self._dims)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = tuple_of(kernel_size)
        self.stride = tuple_of(stride)
        self.padding = padding if isinstance(padding, str) else tuple_of(padding)
        self.dilation = tuple_of(dilation)
        self.transposed = self._transposed
        self.output_padding = tuple_of(output_padding)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check_string_padding()
        channels = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(_C.empty((*channels, *self.kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(_C.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check_string_padding(self):
        if not isinstance(self.padding, str):
            return
        if self.padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {{'valid', 'same'}}")
        if self.padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")

    def reset_parameters(self):
        """Draws weight and bias from `U(-k, k)` with `k = 1 / sqrt(fan_in)`."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            init.uniform_bound_(self.bias, math.prod(self.weight.shape[1:]))

    def _paddings(self):
        """(before, after) of every dimension, the last first: what `F.pad` takes."""
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            pairs = [(total // 2, total - total // 2) for total in totals]
        else:
            pairs = [(0, 0)] * self._dims if self.padding == "valid" else [(p, p) for p in self.padding]
        return [p for pair in reversed(pairs) for p in pair]

    def extra_repr(self):
        zeros = (0,) * self._dims
        ones = (1,) * self._dims
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != zeros:
            text += f", padding={self.padding}"
        if self.dilation != ones:
            text += f", dilation={self.dilation}"
        if self.output_padding != zeros:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
        device=None, dtype=None,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device=device, dtype=dtype
        )

    def forward(self, input):
        convolve = getattr(F, f"conv{self._dims}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._paddings(), mode=self.padding_mode)
            padding = (0,) * self._dims
        return convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Cross-correlation of `(N, C_in, L)` with `out_channels` kernels: `(N, C_out, L_out)`.

    Each spatial length becomes `floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1)`; `padding` may be "same" or "valid".
    """

    _dims = 1


class Conv2d(_Conv):
    """Cross-correlation of `(N, C_in, H, W)` with `out_channels` kernels: `(N, C_out, H_out, W_out)`. See [`Conv1d`] for the lengths.

    >>> opforge.nn.Conv2d(3, 8, kernel_size=3, padding=1)(opforge.randn(2, 3, 16, 16)).shape
    torch.Size([2, 8, 16, 16])
    """

    _dims = 2


class Conv3d(_Conv):
    """Cross-correlation of `(N, C_in, D, H, W)` with `out_channels` kernels. See [`Conv1d`] for the lengths."""

    _dims = 3


class _ConvTransposeNd(_ConvNd):
    _transposed = True

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
        padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, output_padding, device, dtype
        )

    def forward(self, input, output_size=None):
        convolve = getattr(F, f"conv_transpose{self._dims}d")
        output_padding = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return convolve(input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation)

    def _output_padding(self, input, output_size):
        """What has to be added at the end to come to `output_size`, which a stride leaves open."""
        dims = self._dims
        if len(output_size) not in (dims, input.dim()):
            raise ValueError(
                f"{type(self).__name__}: for {input.dim()}D input, output_size must have {dims} or {input.dim()} elements "
                f"(got {len(output_size)})"
            )
        settings = zip(
            output_size[-dims:], input.shape[-dims:], self.stride, self.padding, self.dilation, self.kernel_size
        )
        extra = []
        for wanted, length, stride, padding, dilation, kernel in settings:
            smallest = (length - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1
            if not smallest <= wanted < smallest + stride:
                raise ValueError(f"requested an output size of {wanted}, but valid sizes range from {smallest} to {smallest + stride - 1}")
            extra.append(wanted - smallest)
        return tuple(extra)


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of [`Conv1d`] with respect to its input, as a layer: `(N, C_in, L)` to `(N, C_out, L_out)`.

    `L_out = (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1`; `output_size` of the call chooses the last term.
    """

    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of [`Conv2d`] with respect to its input, as a layer. See [`ConvTranspose1d`] for the lengths."""

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of [`Conv3d`] with respect to its input, as a layer. See [`ConvTranspose1d`] for the lengths."""

    _dims = 3
