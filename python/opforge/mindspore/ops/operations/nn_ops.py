"""Operators of networks that are made with arguments."""

from __future__ import annotations

from .... import _core
from .. import function
from ..function.nn_func import classes, convolved, padded_same
from .configured import configured

_nn = _core.nn


def _pooled(pool, x, kernel_size, strides, pad_mode, outside):
    """Windows over the last two axes; "same" puts `outside` around the input, so that the output has its size divided by the stride, rounded up."""
    window, step = ((item, item) if isinstance(item, int) else tuple(item)[-2:] for item in (kernel_size, strides))
    x = padded_same(x, window, step, 1, outside) if pad_mode.lower() == "same" else x
    return pool(x, window, step)


def _averaged(x, kernel_size, strides, pad_mode):
    """Averages of windows; those at the edges of "same" are of the elements that are there."""
    found = _pooled(_nn.avg_pool2d, x, kernel_size, strides, pad_mode, 0.0)
    return found if pad_mode.lower() != "same" else found / _pooled(_nn.avg_pool2d, _core.ones_like(x), kernel_size, strides, pad_mode, 0.0)


def _with_logits(logits, labels):
    """The losses of rows of logits whose labels are probabilities, and their gradients."""
    return _core.sum(-labels * _nn.log_softmax(logits, -1), -1), _nn.softmax(logits, -1) - labels


def _dropped(x, keep_prob):
    """The elements, each kept with a probability and divided by it, and which are kept."""
    mask = _core.bernoulli(_core.full_like(x, keep_prob))
    return x * mask / keep_prob, mask


_OPERATORS = {
    "AvgPool": lambda x, *, kernel_size=1, strides=1, pad_mode="VALID", data_format="NCHW": _averaged(x, kernel_size, strides, pad_mode),
    "BiasAdd": lambda input_x, bias, *, data_format="NCHW": function.bias_add(input_x, bias),
    "Conv2D": lambda x, weight, *, out_channel=..., kernel_size=..., mode=1, pad_mode="valid", pad=0, stride=1, dilation=1, group=1, data_format="NCHW": convolved(
        _nn.conv2d, x, weight, None, stride, pad_mode, pad, dilation, group
    ),
    "Dropout": lambda x, *, keep_prob=0.5, Seed0=0, Seed1=0: _dropped(x, keep_prob),
    "Elu": lambda input_x, *, alpha=1.0: _nn.elu(input_x, alpha),
    "Flatten": lambda input_x: _core.flatten(input_x, 1 if input_x.ndim > 1 else 0),
    "GeLU": lambda input: _nn.gelu(input, approximate="tanh"),
    "L2Loss": lambda input_x: _core.sum(_core.square(input_x)) / 2,
    "L2Normalize": lambda input_x, *, axis=0, epsilon=1e-4: _nn.normalize(input_x, 2.0, axis[0] if isinstance(axis, (list, tuple)) else axis, epsilon**0.5),
    "LayerNorm": lambda input_x, gamma, beta, *, begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7: _normalized(
        input_x, gamma, beta, begin_norm_axis, epsilon
    ),
    "LeakyReLU": lambda input, *, alpha=0.2: _nn.leaky_relu(input, alpha),
    "LogSoftmax": lambda logits, *, axis=-1: _nn.log_softmax(logits, axis),
    "MaxPool": lambda x, *, kernel_size=1, strides=1, pad_mode="valid", data_format="NCHW": _pooled(_nn.max_pool2d, x, kernel_size, strides, pad_mode, float("-inf")),
    "Softmax": lambda input, *, axis=-1: _nn.softmax(input, axis[0] if isinstance(axis, (list, tuple)) else axis),
    "SoftmaxCrossEntropyWithLogits": lambda logits, labels: _with_logits(logits, labels),
    "SparseSoftmaxCrossEntropyWithLogits": lambda logits, labels, *, is_grad=False: _nn.cross_entropy(logits, classes(labels)),
}


def _normalized(x, gamma, beta, begin, epsilon):
    """The normalized tensor, the means and the variances along the axes from `begin` on."""
    axes = tuple(range(begin % x.ndim, x.ndim))
    mean, variance = _core.mean(x, axes, True), _core.var(x, axes, correction=0, keepdim=True)
    return (x - mean) * _core.rsqrt(variance + epsilon) * gamma + beta, mean, variance


globals().update(configured(_OPERATORS, __name__))
__all__ = list(_OPERATORS)
