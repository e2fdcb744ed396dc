"""Pooling."""

from __future__ import annotations

from .. import functional as F
from .module import Module
from .utils import ntuple


class _MaxPoolNd(Module):
    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input):
        pool = getattr(F, f"max_pool{self._dims}d")
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window of `(N, C, L)`; with `return_indices` also where it was."""

    _dims = 1


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of `(N, C, H, W)`; with `return_indices` also where it was.

    >>> opforge.nn.MaxPool2d(2)(opforge.arange(16.0).reshape(1, 1, 4, 4)).flatten().tolist()
    [5.0, 7.0, 13.0, 15.0]
    """

    _dims = 2


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of `(N, C, D, H, W)`; with `return_indices` also where it was."""

    _dims = 3


class _MaxUnpoolNd(Module):
    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        of = ntuple(self._dims)
        self.kernel_size = of(kernel_size)
        self.stride = of(kernel_size if stride is None else stride)
        self.padding = of(padding)

    def forward(self, input, indices, output_size=None):
        unpool = getattr(F, f"max_unpool{self._dims}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts maxima back where [`MaxPool1d`] found them, zeros elsewhere."""

    _dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts maxima back where [`MaxPool2d`] found them, zeros elsewhere."""

    _dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts maxima back where [`MaxPool3d`] found them, zeros elsewhere."""

    _dims = 3


class _AvgPoolNd(Module):
    """What averages of windows have in common."""

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of `(N, C, L)`."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        of = ntuple(1)
        self.kernel_size = of(kernel_size)
        self.stride = of(kernel_size if stride is None else stride)
        self.padding = of(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _WideAvgPool(_AvgPoolNd):
    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input):
        pool = getattr(F, f"avg_pool{self._dims}d")
        return pool(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override
        )


class AvgPool2d(_WideAvgPool):
    """The mean of each window of `(N, C, H, W)`; `count_include_pad` counts padding zeros, `divisor_override` divides by itself instead."""

    _dims = 2


class AvgPool3d(_WideAvgPool):
    """[`AvgPool2d`] of `(N, C, D, H, W)`."""

    _dims = 3


class _LPPoolNd(Module):
    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input):
        pool = getattr(F, f"lp_pool{self._dims}d")
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """`(Σ x^p)^(1/p)` of each window of `(N, C, L)`, `p` being `norm_type`."""

    _dims = 1


class LPPool2d(_LPPoolNd):
    """[`LPPool1d`] of `(N, C, H, W)`."""

    _dims = 2


class LPPool3d(_LPPoolNd):
    """[`LPPool1d`] of `(N, C, D, H, W)`."""

    _dims = 3


class _AdaptiveMaxPoolNd(Module):
    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input):
        pool = getattr(F, f"adaptive_max_pool{self._dims}d")
        return pool(input, self.output_size, return_indices=self.return_indices)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maximum of each of `output_size` windows that cover `(N, C, L)`; None as a size keeps the length."""

    _dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """[`AdaptiveMaxPool1d`] of `(N, C, H, W)`."""

    _dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """[`AdaptiveMaxPool1d`] of `(N, C, D, H, W)`."""

    _dims = 3


class _AdaptiveAvgPoolNd(Module):
    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return getattr(F, f"adaptive_avg_pool{self._dims}d")(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each of `output_size` windows that cover `(N, C, L)`; None as a size keeps the length."""

    _dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """[`AdaptiveAvgPool1d`] of `(N, C, H, W)`."""

    _dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """[`AdaptiveAvgPool1d`] of `(N, C, D, H, W)`."""

    _dims = 3


class _FractionalMaxPool(Module):
    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError("exactly one of output_size and output_ratio must be given")
        each = lambda size: tuple(size) if isinstance(size, (tuple, list)) else (size,) * self._dims  # noqa: E731
        self.kernel_size = each(kernel_size)
        self.return_indices = return_indices
        self.output_size = None if output_size is None else each(output_size)
        self.output_ratio = None if output_ratio is None else each(output_ratio)
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input):
        pool = getattr(F, f"fractional_max_pool{self._dims}d")
        return pool(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maximum of each of `output_size` windows of `(N, C, H, W)`, or of `output_ratio` times as many as elements, that begin at random
    distances (Graham, "Fractional max-pooling", 2014)."""

    _dims = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """[`FractionalMaxPool2d`] of `(N, C, D, H, W)`."""

    _dims = 3
