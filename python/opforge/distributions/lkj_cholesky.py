"""The distribution of Lewandowski, Kurowicka and Joe of correlation matrices, as Cholesky factors."""

from __future__ import annotations

import math

from .. import _core as _C
from .._tensors.size import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from .beta import Beta
from .distribution import Parametric
from .utils import _standard_normal, broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Parametric):
    """Cholesky factors `L` of `dim` x `dim` correlation matrices of density proportional to `det(L Lᵀ)^(concentration - 1)`: uniform for 1, nearer
    to the identity above (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method",
    2009)."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _constants = ("dim",)

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if not isinstance(dim, int) or dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def sample(self, sample_shape=Size()):
        """The onion method: each row adds a variable, whose direction is uniform on a sphere and whose squared length is a beta variable."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            eta = self.concentration.unsqueeze(-1)
            # Row i, counted from 1 after the first, has i elements before the diagonal.
            i = _C.arange(1, self.dim, dtype=eta.dtype, device=eta.device)
            square = Beta(i / 2, eta + (self.dim - 1 - i) / 2, validate_args=False).sample(sample_shape).unsqueeze(-1)
            direction = _standard_normal(shape, eta.dtype, eta.device)[..., 1:, :].tril(0)
            direction = direction / _C.linalg.vector_norm(direction, dim=-1, keepdim=True)
            # The rest of a row's length, 1, is on its diagonal.
            below = square.sqrt() * direction
            diagonal = (1 - square).clamp(min=_C.finfo(eta.dtype).tiny).sqrt()
            first = _C.zeros_like(below[..., :1, :])
            diagonal = _C.cat([_C.ones_like(diagonal[..., :1, :]), diagonal], -2).squeeze(-1)
            return _C.cat([first, below], -2) + diagonal.diag_embed()

    def log_prob(self, value):
        self._check_value(value)
        eta, n = self.concentration, self.dim
        diagonal = value.diagonal(dim1=-2, dim2=-1)[..., 1:]
        # The Jacobian of L Lᵀ gives each row of the diagonal a power of its own.
        i = _C.arange(1, n, dtype=eta.dtype, device=eta.device)
        power = 2 * (eta.unsqueeze(-1) - 1) + (n - 1 - i)
        return (power * diagonal.log()).sum(-1) - self._log_normalizer()

    def _log_normalizer(self):
        """The sum over rows of the logarithms of `π^(i / 2) Γ(b) / Γ(b + i / 2)`, where `b` is the beta variable's second parameter."""
        eta, n = self.concentration.unsqueeze(-1), self.dim
        i = _C.arange(1, n, dtype=eta.dtype, device=eta.device)
        b = eta + (n - 1 - i) / 2
        return (i / 2 * math.log(math.pi) + b.lgamma() - (b + i / 2).lgamma()).sum(-1)
