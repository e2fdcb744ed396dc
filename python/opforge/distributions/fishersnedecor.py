"""The F-distribution."""

from __future__ import annotations

from .. import _core as _C
from .._tensors.size import Size
from . import constraints
from ._gamma import log_standard_gamma
from .beta import log_beta
from .distribution import Parametric
from .utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Parametric):
    """The ratio of two chi-squared variables of `df1` and `df2` degrees of freedom, each divided by these."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self):
        """NaN where there is none: for `df2` up to 2."""
        return _C.where(self.df2 > 2, self.df2 / (self.df2 - 2), float("nan"))

    @property
    def mode(self):
        """NaN for `df1` up to 2, where the density has no maximum."""
        inner = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return _C.where(self.df1 > 2, inner, float("nan"))

    @property
    def variance(self):
        """NaN where there is none: for `df2` up to 4."""
        a, b = self.df1, self.df2
        return _C.where(b > 4, 2 * b**2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4)), float("nan"))

    def rsample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        above, below = (log_standard_gamma((df / 2).expand(shape)) - df.log() for df in (self.df1, self.df2))
        value = (above - below).exp()
        return value.clamp(min=_C.finfo(value.dtype).tiny)

    def log_prob(self, value):
        self._check_value(value)
        a, b = self.df1 / 2, self.df2 / 2
        ratio = self.df1 / self.df2
        return a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p() - log_beta(a, b)
