"""What batch and instance normalization share."""

from __future__ import annotations

from ... import _core as _C
from .. import init
from ..parameter import Parameter
from .module import Module


class _NormBase(Module):
    """Normalization by statistics of channels, with running statistics and a trained scale and shift, each of them optional."""

    _version = 2  # 2 saves num_batches_tracked
    _ranks: tuple[int, ...]

    def __init__(
        self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *,
        bias=True,
    ):  # fmt: skip
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in ("weight", affine), ("bias", affine and bias):
            self.register_parameter(name, Parameter(_C.empty(num_features, device=device, dtype=dtype)) if wanted else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", _C.zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", _C.ones(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", _C.tensor(0, dtype=_C.int64, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forgets what was seen: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Scale 1, shift 0, and no statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input):
        if input.dim() not in self._ranks:
            expected = " or ".join(f"{rank}D" for rank in self._ranks)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        key = f"{prefix}num_batches_tracked"
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats and key not in state_dict:
            state_dict[key] = _C.tensor(0, dtype=_C.int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)
