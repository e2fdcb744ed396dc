"""Numbers as integers of few bits would hold them, with gradients as if they were not rounded (Jacob et al., "Quantization and training of neural
networks for efficient integer-arithmetic-only inference", 2018)."""

from __future__ import annotations

from .. import _core as _C
from .._calls.arguments import name_arguments
from ..autograd import Function


class _FakeQuantize(Function):
    """`(clamp(round(x / scale) + zero_point, low, high) - zero_point) * scale`, whose gradient passes where nothing is clamped."""

    @staticmethod
    def forward(ctx, x, scale, zero_point, low, high):
        quantized = (x * (1 / scale)).round() + zero_point
        ctx.save_for_backward((quantized >= low) & (quantized <= high))
        return ((quantized.clamp(low, high) - zero_point) * scale).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (is_inside,) = ctx.saved_tensors
        return grad * is_inside, None, None, None, None


def _check(name, input, zero_point, low, high):
    if not input.is_floating_point():
        raise RuntimeError(f"{name}: input of dtype {input.dtype}, expected floats")
    if low > high:
        raise RuntimeError(f"{name}: quant_min {low} above quant_max {high}")
    points = zero_point if isinstance(zero_point, _C.Tensor) else _C.tensor(zero_point)
    if not ((points >= low) & (points <= high)).all().item():
        raise RuntimeError(f"{name}: zero_point {zero_point}, expected {low} to {high}: from quant_min to quant_max")


def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """The nearest numbers to the input's that integers from `quant_min` to `quant_max` stand for: `(integer - zero_point) * scale`. `scale` and `zero_point`
    are numbers or tensors of one element. The gradient is 1 where a number is within the range, else 0.

    >>> opforge.fake_quantize_per_tensor_affine(opforge.tensor([0.26, 9.0]), 0.1, 0, -128, 10).tolist()
    [0.30000001192092896, 1.0]
    """
    _check("fake_quantize_per_tensor_affine", input, zero_point, quant_min, quant_max)
    return _FakeQuantize.apply(input, scale, zero_point, quant_min, quant_max)


def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """[`fake_quantize_per_tensor_affine`] with a scale and a zero point, in vectors, for each place along `axis`."""
    name = "fake_quantize_per_channel_affine"
    _check(name, input, zero_point, quant_min, quant_max)
    if not -input.dim() <= axis < input.dim():
        raise IndexError(f"{name}: axis {axis}, expected {-input.dim()} to {input.dim() - 1}")
    for parameter, vector in (("scale", scale), ("zero_point", zero_point)):
        if vector.shape != (input.shape[axis],):
            raise RuntimeError(f"{name}: {parameter} of shape {tuple(vector.shape)}, expected a number for each of {input.shape[axis]} channels")
    shape = [1] * input.dim()
    shape[axis] = -1
    return _FakeQuantize.apply(input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)


name_arguments(globals())
