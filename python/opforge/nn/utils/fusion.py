"""Batch normalization of evaluation folded into the layer before it."""

from __future__ import annotations

import copy

from ... import _core as _C
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of the convolution that gives what `bn(conv(x))` gives; both are in evaluation, and `bn` has running statistics. `transpose` says
    that the convolution is a transposed one."""
    return _fused(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Weight and bias of a convolution `(out, in, *)`, or `(in, out, *)` if `transpose`, that is followed by batch normalization of this mean, variance,
    epsilon, weight and bias."""
    return _folded(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, int(transpose))


def fuse_linear_bn_eval(linear, bn):
    """A copy of the linear layer that gives what `bn(linear(x))` gives; both are in evaluation, and `bn` has running statistics, of as many features as
    the layer has, or of one."""
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(f"fuse_linear_bn_eval: {bn.num_features} features of bn, expected {linear.out_features} or 1")
    return _fused(linear, bn, fuse_linear_bn_weights)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of a linear layer that is followed by batch normalization of this mean, variance, epsilon, weight and bias."""
    return _folded(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _fused(layer, bn, fold, *options):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Expected bn.running_mean and bn.running_var to be tensors: fusion needs running statistics")
    fused = copy.deepcopy(layer)
    statistics = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    fused.weight, fused.bias = fold(fused.weight, fused.bias, *statistics, *options)
    return fused


def _folded(weight, bias, mean, variance, eps, scale, shift, outputs):
    """`(w x + b - mean) / sqrt(variance + eps) * scale + shift` as one weight and bias; `outputs` is the weight's dimension of outputs."""
    scale = _C.ones_like(mean) if scale is None else scale
    factor = scale * (variance + eps).rsqrt()
    fused_bias = ((-mean if bias is None else bias - mean) * factor).to(weight.dtype)
    fused_bias = fused_bias if shift is None else (fused_bias + shift).to(weight.dtype)
    shape = [-1 if d == outputs else 1 for d in range(weight.dim())]
    fused_weight = weight * factor.reshape(shape).to(weight.dtype)
    return Parameter(fused_weight, weight.requires_grad), Parameter(fused_bias, bias is not None and bias.requires_grad)
