"""Batch normalization over the batches of all ranks of a process group.

Ranks exchange counts, means and sums of squares about the means in forward, as Chan, Golub and LeVeque (1979) put them together: parts of any sizes, empty
ones too, and no cancellation where means are large. In backward they add up two sums of each channel.
"""

from __future__ import annotations

from ... import _core as _C
from ..._calls.tracing import refuse
from ...autograd.function import Function, once_differentiable
from .. import functional as F


def group_of(input, process_group):
    """The group of several ranks, this one among them, that this input is a part of the batch of; None if there is none."""
    from ... import distributed

    if not distributed.is_initialized() or _C._is_global(input):
        return None
    found = distributed._state.resolve(process_group)
    return found if found is not None and found.size() > 1 else None


def sync_batch_norm(input, running_mean, running_var, weight, bias, momentum, eps, group):
    """`F.batch_norm` in training of the batch that the group's ranks have together: all of them make this call, and that of its gradient. Running
    statistics, if given, move towards the whole batch's. Gradients of `weight` and `bias` are of this rank's part."""
    refuse("ranks put the statistics of their batches together, and graphs are of one process")
    count, mean, var = _moments(input, group)
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape} and none on other ranks")
    output = _Normalization.apply(input, weight, bias, mean, var, count, eps, group)
    if running_mean is not None and count > 0:
        for running, new in (running_mean, mean), (running_var, var * (count / (count - 1))):
            running.detach().mul_(1 - momentum).add_(new.to(running.dtype), alpha=momentum)
    return output


def _moments(input, group):
    """How many values a channel has on all ranks, their mean and their variance, without the correction: the same bits on all ranks."""
    values, dims = _wide(input.detach()), _others(input)
    channels, count = input.size(1), input.numel() // max(input.size(1), 1)
    mean, square = _C.zeros(2, channels, dtype=_C.float64).unbind()
    if count:
        var, mean = (part.to("cpu", _C.float64) for part in _C.var_mean(values, dims, correction=0))
        square = var * count
    parts = _gathered(_C.cat([_C.tensor([count], dtype=_C.float64), mean, square]), group)
    counts, means, squares = parts[:, :1], parts[:, 1 : channels + 1], parts[:, channels + 1 :]
    total = counts.sum()
    mean = (counts * means).sum(0) / total.clamp(min=1)
    var = (squares + counts * (means - mean) ** 2).sum(0) / total.clamp(min=1)
    return int(total), mean.to(input.device, values.dtype), var.to(input.device, values.dtype)


def _gathered(vector, group):
    from ... import distributed

    parts = vector.new_empty(group.size(), vector.numel())
    distributed.all_gather_into_tensor(parts, vector, group)
    return parts


def _wide(tensor):
    """In the dtype in which sums are taken: float32 at least."""
    return tensor.float() if tensor.dtype in (_C.float16, _C.bfloat16) else tensor


def _others(tensor):
    """The dimensions but the channels', 1."""
    return [0, *range(2, tensor.dim())]


class _Normalization(Function):
    """`(input - mean) / sqrt(var + eps) * weight + bias`, `mean` and `var` being those of all ranks' inputs."""

    @staticmethod
    def forward(ctx, input, weight, bias, mean, var, count, eps, group):
        ctx.save_for_backward(input, weight, bias, mean, (var + eps).rsqrt())
        ctx.count, ctx.group = count, group
        return F.batch_norm(input, mean, var, weight, bias, False, 0.0, eps)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        input, weight, bias, mean, scale = ctx.saved_tensors
        shape, dims = [-1] + [1] * (input.dim() - 2), _others(input)
        grad, centred = _wide(grad), _wide(input) - mean.reshape(shape)
        sums = _C.stack([grad.sum(dims), (grad * centred).sum(dims)])
        of_weight = None if weight is None else (sums[1] * scale).to(weight.dtype)
        of_bias = None if bias is None else sums[0].to(bias.dtype)
        of_input = None
        if ctx.needs_input_grad[0]:
            means = _reduced(sums, ctx.group) / max(ctx.count, 1)
            slope = scale if weight is None else scale * weight.to(scale.dtype)
            by_value = means[1] * scale * scale
            of_input = (grad - means[0].reshape(shape) - centred * by_value.reshape(shape)) * slope.reshape(shape)
            of_input = of_input.to(input.dtype)
        return of_input, of_weight, of_bias, None, None, None, None, None


def _reduced(sums, group):
    """The sums of all ranks."""
    from ... import distributed

    total = sums.to("cpu", _C.float64, copy=True)
    distributed.all_reduce(total, group=group)
    return total.to(sums.device, sums.dtype)
