"""Exponential families: what follows from natural parameters and the log-normaliser alone."""

from __future__ import annotations

from ..autograd import grad
from ..autograd.grad_mode import enable_grad
from .distribution import Parametric
from .utils import _sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Parametric):
    """A distribution of density `exp(t(x) · θ - F(θ) + k(x))`, with natural parameters `θ`, log-normaliser `F`, sufficient statistics `t` and
    carrier measure `k`.

    Subclasses define `_natural_params`, a tuple of tensors, `_log_normalizer`, a function of them, and `_mean_carrier_measure`, the
    expectation of `k`.
    """

    @property
    def _natural_params(self):
        raise NotImplementedError(f"{type(self).__name__} has no _natural_params")

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError(f"{type(self).__name__} has no _log_normalizer")

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError(f"{type(self).__name__} has no _mean_carrier_measure")

    def _normalizer_and_means(self):
        """The natural parameters, the log-normaliser there, and its gradient: the means of the sufficient statistics."""
        with enable_grad():
            parameters = [p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params]
            normalizer = self._log_normalizer(*parameters)
            return parameters, normalizer, grad(normalizer.sum(), parameters, create_graph=True)

    def entropy(self):
        """`F(θ) - θ · ∇F(θ) - E[k]`, a Bregman divergence (Nielsen and Nock, "Entropies and cross-entropies of exponential families", 2010)."""
        carrier = self._mean_carrier_measure
        parameters, normalizer, means = self._normalizer_and_means()
        return normalizer - carrier - self._dot(parameters, means)

    def _dot(self, parameters, means):
        """The products of parameters and statistics, summed over what belongs to one event."""
        return sum(_sum_rightmost(p * m, p.dim() - len(self._batch_shape)) for p, m in zip(parameters, means))
