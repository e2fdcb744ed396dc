"""Functions of networks: activations, losses, convolutions, pooling, normalization."""

from __future__ import annotations

from .... import _core
from ...adapters import adapted, taken
from ...operators import Base, core_dtype
from .array_func import _number

_nn = _core.nn
_SAME = """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d cosine_similarity dropout1d dropout2d
    dropout3d embedding fold grid_sample group_norm hardsigmoid hardswish hardtanh huber_loss interpolate layer_norm pixel_shuffle pixel_unshuffle
    relu silu softplus softshrink tanhshrink unfold
"""
_ADAPTED = {
    "avg_pool2d": lambda input_x, kernel_size=1, stride=1, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=0: _nn.avg_pool2d(
        input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override or None
    ),
    "batch_norm": lambda input_x, running_mean, running_var, weight, bias, training=False, momentum=0.1, eps=1e-5: _nn.batch_norm(
        input_x, running_mean, running_var, weight, bias, training, momentum, eps
    ),
    "bias_add": lambda input_x, bias: _core.add(input_x, bias.reshape((-1,) + (1,) * (input_x.ndim - 2))),
    "binary_cross_entropy": lambda logits, labels, weight=None, reduction="mean": _nn.binary_cross_entropy(logits, labels, weight, reduction=reduction),
    "binary_cross_entropy_with_logits": lambda logits, label, weight=None, pos_weight=None, reduction="mean": _nn.binary_cross_entropy_with_logits(
        logits, label, weight, pos_weight=pos_weight, reduction=reduction
    ),
    "celu": lambda x, alpha=1.0: _nn.celu(x, alpha),
    "conv1d": lambda input, weight, bias=None, stride=1, pad_mode="valid", padding=0, dilation=1, groups=1: convolved(
        _nn.conv1d, input, weight, bias, stride, pad_mode, padding, dilation, groups
    ),
    "conv2d": lambda input, weight, bias=None, stride=1, pad_mode="valid", padding=0, dilation=1, groups=1: convolved(
        _nn.conv2d, input, weight, bias, stride, pad_mode, padding, dilation, groups
    ),
    "conv3d": lambda input, weight, bias=None, stride=1, pad_mode="valid", padding=0, dilation=1, groups=1: convolved(
        _nn.conv3d, input, weight, bias, stride, pad_mode, padding, dilation, groups
    ),
    "cross_entropy": lambda input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0: _nn.cross_entropy(
        input, classes(target), weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    ),
    "dense": lambda input, weight, bias=None: _nn.linear(input, weight, bias),
    "dropout": lambda input, p=0.5, training=True, seed=None: _nn.dropout(input, p, training),
    "elu": lambda input_x, alpha=1.0: _nn.elu(input_x, alpha),
    "fast_gelu": lambda x: x * _core.sigmoid(1.702 * x),
    "gelu": lambda input, approximate="none": _nn.gelu(input, approximate=approximate),
    "glu": lambda x, axis=-1: _nn.glu(x, axis),
    "hinge_embedding_loss": lambda inputs, targets, margin=1.0, reduction="mean": _nn.hinge_embedding_loss(inputs, targets, margin, reduction=reduction),
    "kl_div": lambda logits, labels, reduction="mean": _nn.kl_div(logits, labels, reduction=reduction),
    "l1_loss": lambda input, target, reduction="mean": _nn.l1_loss(input, target, reduction=reduction),
    "leaky_relu": lambda input, alpha=0.2: _nn.leaky_relu(input, alpha),
    "log_softmax": lambda logits, axis=-1: _nn.log_softmax(logits, axis),
    "logsigmoid": lambda x: _nn.logsigmoid(x),
    "margin_ranking_loss": lambda input1, input2, target, margin=0.0, reduction="mean": _nn.margin_ranking_loss(input1, input2, target, margin, reduction=reduction),
    "max_pool2d": lambda x, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False: (
        _nn.max_pool2d_with_indices if return_indices else _nn.max_pool2d
    )(x, kernel_size, stride, padding, dilation, ceil_mode),
    "mish": lambda x: _nn.mish(x),
    "mse_loss": lambda input, target, reduction="mean": _nn.mse_loss(input, target, reduction=reduction),
    "nll_loss": lambda inputs, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0: _nll_loss(
        inputs, classes(target), weight, ignore_index, reduction, label_smoothing
    ),
    "pad": lambda input_x, padding, mode="constant", value=None: _nn.pad(input_x, [int(_number(item)) for item in padding], mode, value),
    "prelu": lambda input, weight: _nn.prelu(input, weight),
    "relu6": lambda x: _nn.relu6(x),
    "rms_norm": lambda x, gamma, epsilon=1e-6: _rms_norm(x, gamma, epsilon),
    "selu": lambda input_x: _nn.selu(input_x),
    "smooth_l1_loss": lambda input, target, beta=1.0, reduction="none": _nn.smooth_l1_loss(input, target, reduction=reduction, beta=beta),
    "softmax": lambda input, axis=-1, *, dtype=None: _nn.softmax(input if dtype is None else Base.to(input, dtype), axis),
    "softmin": lambda x, axis=-1, *, dtype=None: _nn.softmin(x if dtype is None else Base.to(x, dtype), axis),
    "softsign": lambda x: _nn.softsign(x),
    "threshold": lambda input, thr, value: _nn.threshold(input, thr, value),
}


def classes(target):
    """Numbers of classes as opforge's losses take them, Int64; probabilities as they are."""
    return target if Base.is_floating_point(target) else Base.to(target, _core.int64)


def convolved(function, input, weight, bias, stride, pad_mode, padding, dilation, groups):
    """A convolution whose padding is chosen by `pad_mode`: "same" gives an output of the input's size divided by the stride, rounded up."""
    dims = weight.ndim - 2
    if pad_mode == "same":
        input, padding = padded_same(input, weight.shape[2:], stride, dilation, 0.0), 0
    elif pad_mode == "valid":
        padding = 0
    elif pad_mode != "pad":
        raise ValueError(f"convolution: pad_mode must be 'same', 'valid' or 'pad', not {pad_mode!r}")
    if isinstance(padding, (tuple, list)) and len(padding) == 2 * dims:
        # Before and after each axis, the last one first.
        sides = [side for axis in reversed(range(dims)) for side in padding[2 * axis : 2 * axis + 2]]
        input, padding = _nn.pad(input, sides), 0
    return function(input, weight, bias, stride, padding, dilation, groups)


def padded_same(input, kernel, stride, dilation, value):
    """The input with `value` around it, so that windows at each stride cover it; an odd one more comes after it."""
    dims = len(kernel)
    stride, dilation = (tuple(item) if isinstance(item, (tuple, list)) else (item,) * dims for item in (stride, dilation))
    sides = []
    for size, window, step, apart in reversed(list(zip(input.shape[-dims:], kernel, stride, dilation))):
        missing = max((-(-size // step) - 1) * step + (window - 1) * apart + 1 - size, 0)
        sides += [missing // 2, missing - missing // 2]
    return _nn.pad(input, sides, "constant", value)


def _nll_loss(input, target, weight, ignore_index, reduction, label_smoothing):
    loss = _nn.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0.0:
        return loss
    raise NotImplementedError("nll_loss: label_smoothing other than 0 (see cross_entropy)")


def _rms_norm(x, gamma, epsilon):
    """The normalized tensor, and the reciprocal of the root of the mean of squares."""
    axes = tuple(range(-gamma.ndim, 0))
    factor = _core.rsqrt(_core.mean(_core.square(x.to(_core.float32)), axes, True) + epsilon)
    return (x * factor.to(core_dtype(x))) * gamma, factor


FUNCTIONS = taken(_SAME, _nn) | adapted(_ADAPTED, _nn)
