"""Batch normalization."""

from __future__ import annotations

from .. import functional as F
from ._norm import _NormBase
from ._sync_batchnorm import group_of, sync_batch_norm


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # a plain average over all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        updates = self.training and self.track_running_stats
        reads = not self.training or updates
        running = (self.running_mean, self.running_var) if reads else (None, None)
        return self._normalized(input, *running, self.training or self.running_mean is None, momentum)

    def _normalized(self, input, running_mean, running_var, by_batch, momentum):
        return F.batch_norm(input, running_mean, running_var, self.weight, self.bias, by_batch, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """`(x - mean) / sqrt(var + eps) * weight + bias` with the mean and variance of each channel of `(N, C)` or `(N, C, L)`.

    In training they are the batch's (Ioffe and Szegedy, 2015), and the running ones move towards them by `momentum` of the way, or, where it
    is None, average them; in evaluation they are the running ones.
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """[`BatchNorm1d`] of `(N, C, H, W)`."""

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """[`BatchNorm1d`] of `(N, C, D, H, W)`."""

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """[`BatchNorm1d`] of `(N, C, ..)` over the batches of all ranks of `process_group`, of the world if it is None, in training. Their batches may have
    different lengths, and be empty. All ranks call it, and differentiate what it gives, in the same order; gradients cannot be differentiated again.

    Without `distributed.init_process_group`, or in a group of one, the batch is the process's own.
    """

    def __init__(
        self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None, device=None, dtype=None, *,
        bias=True,
    ):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _normalized(self, input, running_mean, running_var, by_batch, momentum):
        group = group_of(input, self.process_group) if self.training else None
        if group is None:
            return super()._normalized(input, running_mean, running_var, by_batch, momentum)
        return sync_batch_norm(input, running_mean, running_var, self.weight, self.bias, momentum, self.eps, group)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with a SyncBatchNorm, of the same parameters and statistics, in the place of each of its batch normalizations."""
        converted = module
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            converted = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group)
            converted._parameters.update(module._parameters)
            converted._buffers.update(module._buffers)
            converted.train(module.training)
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted
