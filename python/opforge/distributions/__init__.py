"""Probability distributions: sampling, also with gradients, densities, entropies and divergences, under the names that PyTorch has.

>>> from opforge.distributions import Normal, kl_divergence
>>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 2.0))
"""

from __future__ import annotations

import importlib as _importlib

# The modules, and what the package shows of each.
_MODULES = {
    "bernoulli": "Bernoulli",
    "beta": "Beta",
    "binomial": "Binomial",
    "categorical": "Categorical",
    "cauchy": "Cauchy",
    "chi2": "Chi2",
    "constraint_registry": "biject_to transform_to",
    "constraints": "",
    "continuous_bernoulli": "ContinuousBernoulli",
    "dirichlet": "Dirichlet",
    "distribution": "Distribution",
    "exp_family": "ExponentialFamily",
    "exponential": "Exponential",
    "fishersnedecor": "FisherSnedecor",
    "gamma": "Gamma",
    "generalized_pareto": "GeneralizedPareto",
    "geometric": "Geometric",
    "gumbel": "Gumbel",
    "half_cauchy": "HalfCauchy",
    "half_normal": "HalfNormal",
    "independent": "Independent",
    "inverse_gamma": "InverseGamma",
    "kl": "kl_divergence register_kl",
    "kumaraswamy": "Kumaraswamy",
    "laplace": "Laplace",
    "lkj_cholesky": "LKJCholesky",
    "log_normal": "LogNormal",
    "logistic_normal": "LogisticNormal",
    "lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "mixture_same_family": "MixtureSameFamily",
    "multinomial": "Multinomial",
    "multivariate_normal": "MultivariateNormal",
    "negative_binomial": "NegativeBinomial",
    "normal": "Normal",
    "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "pareto": "Pareto",
    "poisson": "Poisson",
    "relaxed_bernoulli": "RelaxedBernoulli",
    "relaxed_categorical": "RelaxedOneHotCategorical",
    "studentT": "StudentT",
    "transformed_distribution": "TransformedDistribution",
    "transforms": (
        "AbsTransform AffineTransform CatTransform ComposeTransform CorrCholeskyTransform CumulativeDistributionTransform ExpTransform "
        "IndependentTransform LowerCholeskyTransform PositiveDefiniteTransform PowerTransform ReshapeTransform SigmoidTransform "
        "SoftmaxTransform SoftplusTransform StackTransform StickBreakingTransform TanhTransform Transform identity_transform"
    ),
    "uniform": "Uniform",
    "utils": "",
    "von_mises": "VonMises",
    "weibull": "Weibull",
    "wishart": "Wishart",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str):
    """Imports modules, and what they hold, when they are first used."""
    if name in _MODULES:
        return _importlib.import_module(f".{name}", __name__)
    if name in _HOME:
        value = getattr(_importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_MODULES, *_HOME})
