"""Functions of layers with the parameters that `torch` itself gives them: in another order than in `nn.functional`, every one of them there, and
reductions and modes as numbers: 0 is none, which is the default here, 1 mean, 2 sum. The `native_` ones return the statistics or masks that they used
too."""

from __future__ import annotations

from .. import _core as _C
from .._calls.arguments import name_arguments
from .._calls.outputs import takes_out
from ..nn import functional as F

_REDUCTIONS = ("none", "mean", "sum")


def _chosen(name, parameter, number, words):
    """The word that a number stands for; words stand for themselves."""
    if number in words:
        return number
    if not isinstance(number, int):
        raise TypeError(f"{name}: {parameter}: an int expected, got {number!r}")
    if not 0 <= number < len(words):
        raise ValueError(f"{name}: {parameter}={number}, expected 0 to {len(words) - 1}: {', '.join(words)}")
    return words[number]


def affine_grid_generator(theta, size, align_corners):
    """`nn.functional.affine_grid`."""
    return F.affine_grid(theta, list(size), align_corners)


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """`nn.functional.grid_sample`: interpolation 0 is bilinear, 1 nearest, 2 bicubic; padding 0 zeros, 1 border, 2 reflection."""
    mode = _chosen("grid_sampler", "interpolation_mode", interpolation_mode, ("bilinear", "nearest", "bicubic"))
    padding = _chosen("grid_sampler", "padding_mode", padding_mode, ("zeros", "border", "reflection"))
    return F.grid_sample(input, grid, mode, padding, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """`nn.functional.batch_norm`."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """`nn.functional.instance_norm`."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """`nn.functional.group_norm`."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def _moments(rows, eps):
    """The mean of each row, and 1 over the standard deviation."""
    return rows.mean(-1), (rows.var(-1, correction=0) + eps).rsqrt()


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """`layer_norm`, and the means and the reciprocal standard deviations that it took."""
    kept = input.dim() - len(normalized_shape)
    mean, scale = _moments(input.flatten(kept), eps) if normalized_shape else (input, input)
    shape = [*input.shape[:kept], *[1] * len(normalized_shape)]
    return _C.layer_norm(input, list(normalized_shape), weight, bias, eps), mean.reshape(shape), scale.reshape(shape)


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """`group_norm` of an input of `N` samples, `C` channels and `HxW` places, and the means and the reciprocal standard deviations of groups."""
    if input.numel() != N * C * HxW:
        raise RuntimeError(f"native_group_norm: input of {input.numel()} elements, expected N * C * HxW = {N * C * HxW}")
    mean, scale = _moments(input.reshape(N, group, C * HxW // group), eps)
    return F.group_norm(input, group, weight, bias, eps), mean, scale


def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """`batch_norm`, and the means and the reciprocal standard deviations of the batch; without elements where running ones are used."""
    output = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return output, input.new_empty(0), input.new_empty(0)
    return output, *_moments(input.transpose(0, 1).flatten(1), eps)


def native_dropout(input, p, train):
    """`dropout`, and the mask of what it kept; `train=None` stands for training."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"native_dropout: p={p}, expected 0 to 1")
    if train is False or p == 0:
        return input.clone(), _C.ones_like(input, dtype=_C.bool)
    mask = _C.rand(input.shape, device=input.device) >= p
    return (input * mask * (0.0 if p == 1 else 1 / (1 - p))).to(input.dtype), mask


def dropout_(input, p, train):
    """`dropout` in place."""
    F.dropout(input, p, train, True)
    return input


def alpha_dropout_(input, p, train):
    """`alpha_dropout` in place."""
    F.alpha_dropout(input, p, train, True)
    return input


def feature_alpha_dropout_(input, p, train):
    """`feature_alpha_dropout` in place."""
    F.feature_alpha_dropout(input, p, train, True)
    return input


def feature_dropout_(input, p, train):
    """Dropout of whole channels in place."""
    return input.copy_(_C.feature_dropout(input, p, train))


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` at `indices`. The row `padding_idx`, counted from 0, gets no gradient; gradients are dense."""
    if padding_idx >= 0 or scale_grad_by_freq:
        return F.embedding(indices, weight, padding_idx if padding_idx >= 0 else None, scale_grad_by_freq=scale_grad_by_freq)
    return F.embedding(indices, weight)


def embedding_renorm_(input, indices, max_norm, norm_type):
    """Scales the rows at `indices` that are longer than `max_norm` down to it, in place; `norm_type` is the order of norms."""
    rows = indices.reshape(-1).unique()
    with_history = input.detach()
    chosen = with_history.index_select(0, rows)
    norms = _C.linalg.vector_norm(chosen, norm_type, [1], keepdim=True)
    scale = _C.where(norms > max_norm, max_norm / (norms + 1e-7), _C.ones_like(norms))
    with_history.index_copy_(0, rows, chosen * scale)
    return input


def rrelu(input, lower=0.125, upper=1 / 3, training=False, generator=None):
    """`nn.functional.rrelu`."""
    return F.rrelu(input, lower, upper, training) if generator is None else _rrelu_with(input, lower, upper, training, generator)


def rrelu_(input, lower=0.125, upper=1 / 3, training=False, generator=None):
    """`rrelu` in place."""
    return input.copy_(rrelu(input, lower, upper, training, generator))


def _rrelu_with(input, lower, upper, training, generator):
    if not training:
        return F.rrelu(input, lower, upper)
    slope = _C.empty_like(input, requires_grad=False).uniform_(lower, upper, generator=generator)
    return input * slope.masked_fill_(input.detach() >= 0, 1.0)


def bilinear(input1, input2, weight, bias=None):
    """`nn.functional.bilinear`."""
    return F.bilinear(input1, input2, weight, bias)


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    """`nn.functional.binary_cross_entropy_with_logits`."""
    reduction = _chosen("binary_cross_entropy_with_logits", "reduction", reduction, _REDUCTIONS)
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=reduction)


def kl_div(input, target, reduction=0, *, log_target=False):
    """`nn.functional.kl_div`."""
    return F.kl_div(input, target, reduction=_chosen("kl_div", "reduction", reduction, _REDUCTIONS), log_target=log_target)


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """`nn.functional.poisson_nll_loss`."""
    reduction = _chosen("poisson_nll_loss", "reduction", reduction, _REDUCTIONS)
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=reduction)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    """`nn.functional.ctc_loss`."""
    reduction = _chosen("ctc_loss", "reduction", reduction, _REDUCTIONS)
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0, *, out=None):
    """`nn.functional.cosine_embedding_loss`."""
    reduction = _chosen("cosine_embedding_loss", "reduction", reduction, _REDUCTIONS)
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=reduction, out=out)


def hinge_embedding_loss(input, target, margin=1.0, reduction=0, *, out=None):
    """`nn.functional.hinge_embedding_loss`."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_chosen("hinge_embedding_loss", "reduction", reduction, _REDUCTIONS), out=out)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0, *, out=None):
    """`nn.functional.margin_ranking_loss`."""
    reduction = _chosen("margin_ranking_loss", "reduction", reduction, _REDUCTIONS)
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=reduction, out=out)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, reduction=0, *, out=None):
    """`nn.functional.triplet_margin_loss`."""
    reduction = _chosen("triplet_margin_loss", "reduction", reduction, _REDUCTIONS)
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=reduction, out=out)


def _segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """`segment_reduce`, whose maxima and minima are "amax" and "amin" here too; it checks what it is given, `unsafe` or not."""
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    return _C.segment_reduce(data, reduce, lengths=lengths, indices=indices, offsets=offsets, axis=axis, initial=initial)


def conv_tbc(input, weight, bias, pad=0):
    """The convolution of `(time, batch, in)` with `(width, in, out)`: `(time, batch, out)`."""
    return F.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


def constant_pad_nd(input, pad, value=0):
    """`nn.functional.pad` with a constant."""
    return F.pad(input, list(pad), "constant", value)


def native_channel_shuffle(input, groups):
    """`channel_shuffle`."""
    return F.channel_shuffle(input, groups)


@takes_out
def frobenius_norm(input, dim=None, keepdim=False):
    """The root of the sum of squares, of all elements or along `dim`."""
    return _C.linalg.vector_norm(input, 2, dim, keepdim)


@takes_out
def nuclear_norm(input, dim=None, keepdim=False):
    """The sum of the singular values of matrices: of the only one, or of those along two dimensions."""
    return _C.linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else tuple(dim), keepdim)


def _weight_norm(v, g, dim=0):
    """`g v / ‖v‖`, with a norm for each index along `dim`."""
    return v * (g / norm_except_dim(v, 2, dim))


def norm_except_dim(v, pow=2, dim=0):
    """The norms over all dimensions but `dim`, or over all for -1."""
    from ..nn.utils.weight_norm import norm_except_dim

    return norm_except_dim(v, pow, dim)


def binomial(count, prob, generator=None):
    """Numbers of successes in `count` trials, each of probability `prob`, in the dtype of `count`."""
    from ..distributions._rejection import binomial

    if not (count.is_floating_point() and prob.is_floating_point()):
        raise ValueError(f"binomial: count of dtype {count.dtype} and prob of {prob.dtype}, expected floating point numbers")
    return binomial(count.detach(), prob.detach(), generator)


def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of `softmax` along `dim` by its argument, which had a dtype."""
    weighted = grad_output * output
    return (weighted - output * weighted.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of `log_softmax` along `dim` by its argument, which had a dtype."""
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


name_arguments(globals())
