"""Instance normalization."""

from __future__ import annotations

from .. import functional as F
from ._norm import _NormBase


class _InstanceNorm(_NormBase):
    def __init__(
        self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *,
        bias=True,
    ):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input):
        self._check_input_dim(input)
        unbatched = input.dim() == self._ranks[0]
        channels = input.size(0 if unbatched else 1)
        if self.affine and channels != self.num_features:
            raise ValueError(f"expected input's size at dim=1 to match num_features ({self.num_features}), but got: {channels}.")
        output = F.instance_norm(
            input.unsqueeze(0) if unbatched else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return output.squeeze(0) if unbatched else output


class InstanceNorm1d(_InstanceNorm):
    """Normalization of each channel of each sample of `(N, C, L)` or `(C, L)` (Ulyanov et al., 2016)."""

    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """[`InstanceNorm1d`] of `(N, C, H, W)` or `(C, H, W)`."""

    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """[`InstanceNorm1d`] of `(N, C, D, H, W)` or `(C, D, H, W)`."""

    _ranks = (4, 5)
