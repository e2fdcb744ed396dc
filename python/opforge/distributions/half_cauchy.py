"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from .. import _core as _C
from . import constraints
from .cauchy import Cauchy
from .half_normal import Folded

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """Magnitudes of Cauchy variables around 0: infinite mean and variance."""

    arg_constraints = {"scale": constraints.positive}

    def __init__(self, scale, validate_args=None):
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    @property
    def mean(self):
        return _C.full_like(self.scale, math.inf)

    @property
    def variance(self):
        return _C.full_like(self.scale, math.inf)
