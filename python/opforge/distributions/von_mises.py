"""The von Mises distribution."""

from __future__ import annotations

import math

from .. import _core as _C
from .._tensors.size import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from ._rejection import until_accepted
from .distribution import Located
from .utils import broadcast_all

__all__ = ["VonMises"]


class VonMises(Located):
    """Angles of density proportional to `exp(concentration cos(x - loc))`; samples lie from -π to π, and `mean` and `variance` are the circular ones."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def variance(self):
        """The circular variance, `1 - I₁(k) / I₀(k)`."""
        return 1 - _C.special.i1e(self.concentration) / _C.special.i0e(self.concentration)

    def sample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            concentration = self.concentration.double().expand(shape).flatten()
            angle = until_accepted(_propose, concentration, _envelope(concentration)).reshape(shape)
            wrapped = (angle + self.loc.double() + math.pi) % (2 * math.pi) - math.pi
            return wrapped.to(self.loc.dtype)

    def log_prob(self, value):
        self._check_value(value)
        k = self.concentration
        # cos(x) - 1 and exp(-k) I₀(k), so that nothing grows with the concentration.
        return k * (_C.cos(value - self.loc) - 1) - math.log(2 * math.pi) - _C.special.i0e(k).log()


def _envelope(k):
    """The parameter `r` of the wrapped Cauchy distribution around which Best and Fisher ("Efficient simulation of the von Mises distribution",
    1979) draw; for small concentrations its limit, since the formula loses its digits there."""
    tau = 1 + (1 + 4 * k * k).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * k)
    return _C.where(k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))


def _propose(k, r):
    u = _C.rand((3, *k.shape), dtype=k.dtype, device=k.device)
    z = (math.pi * u[0]).cos()
    f = (1 + r * z) / (r + z)
    c = k * (r - f)
    accepted = (c * (2 - c) > u[1]) | ((c / u[1]).log() + 1 >= c) | ~k.isfinite()
    return (u[2] - 0.5).sign() * f.clamp(-1, 1).acos(), accepted
