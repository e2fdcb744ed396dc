"""Batch normalization."""

from __future__ import annotations

from .. import functional as F
from ._norm import _NormBase


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # a plain average over all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        updates = self.training and self.track_running_stats
        reads = not self.training or updates
        return F.batch_norm(
            input,
            self.running_mean if reads else None,
            self.running_var if reads else None,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            momentum,
            self.eps,
        )


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
