"""Kullback-Leibler divergences: `kl_divergence`, and `register_kl` for further pairs of distributions.

The formulas of pairs are in this package's other modules, by what they have in common.
"""

from . import cross, families, multivariate  # noqa: F401
from .registry import kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
