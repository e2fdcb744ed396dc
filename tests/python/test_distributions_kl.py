"""Divergences against integrals and sums of the densities, for all registered pairs."""

import itertools

import numpy as np
import pytest

import opforge as torch
from opforge import distributions as D
from opforge.distributions.kl.registry import _KL_REGISTRY

F64 = torch.float64


def S(value):
    return torch.tensor(value, dtype=F64)


# Two of each family, which differ, and the values over which p is integrated or summed.
CONTINUOUS = {
    "Beta": (lambda: D.Beta(S(2.5), 1.7), lambda: D.Beta(S(1.3), 2.0)),
    "Cauchy": (lambda: D.Cauchy(S(0.5), 1.0), lambda: D.Cauchy(S(-1.0), 2.0)),
    "ContinuousBernoulli": (lambda: D.ContinuousBernoulli(S(0.2)), lambda: D.ContinuousBernoulli(S(0.7))),
    "Exponential": (lambda: D.Exponential(S(1.5)), lambda: D.Exponential(S(0.8))),
    "Gamma": (lambda: D.Gamma(S(2.5), 1.5), lambda: D.Gamma(S(1.5), 1.1)),
    "Gumbel": (lambda: D.Gumbel(S(0.5), 1.0), lambda: D.Gumbel(S(-0.3), 1.5)),
    "HalfNormal": (lambda: D.HalfNormal(S(1.0)), lambda: D.HalfNormal(S(2.0))),
    "Laplace": (lambda: D.Laplace(S(0.5), 1.0), lambda: D.Laplace(S(-0.3), 1.5)),
    "Normal": (lambda: D.Normal(S(0.5), 1.0), lambda: D.Normal(S(-0.3), 1.5)),
    "Pareto": (lambda: D.Pareto(S(0.9), 4.0), lambda: D.Pareto(S(0.5), 2.5)),
    "Uniform": (lambda: D.Uniform(S(0.55), 0.95), lambda: D.Uniform(S(0.0), 1.0)),
}
DISCRETE = {
    "Bernoulli": (lambda: D.Bernoulli(S(0.3)), lambda: D.Bernoulli(S(0.6))),
    "Binomial": (lambda: D.Binomial(5, S(0.3)), lambda: D.Binomial(5, S(0.6))),
    "Categorical": (lambda: D.Categorical(S([0.2, 0.3, 0.5])), lambda: D.Categorical(S([0.3, 0.6, 0.1]))),
    "Geometric": (lambda: D.Geometric(S(0.3)), lambda: D.Geometric(S(0.6))),
    "Poisson": (lambda: D.Poisson(S(2.0)), lambda: D.Poisson(S(3.5))),
}
OTHERS = {
    "Dirichlet",
    "ExponentialFamily",
    "Independent",
    "LowRankMultivariateNormal",
    "MultivariateNormal",
    "OneHotCategorical",
    "TransformedDistribution",
}
PAIRS = sorted((p.__name__, q.__name__) for p, q in _KL_REGISTRY)


def _unchecked(distribution):
    distribution._validate_args = False
    return distribution


def _log_density(q, x):
    """`q`'s, and minus infinity outside of its support."""
    inside = q.support.check(x)
    return torch.where(inside, _unchecked(q).log_prob(torch.where(inside, x, q.sample())), -np.inf)


def _integral(p, q):
    """Gauss-Legendre quadrature over pieces between p's quantiles, bisected from samples' extremes outwards."""
    low, high = _reach(p)
    edges = np.unique(np.concatenate([np.linspace(low, high, 60), low + (high - low) * np.geomspace(1e-12, 1, 60), [-0.3, 0.5, 0.0, 1.0]]))
    edges = edges[(edges >= low) & (edges <= high)]
    nodes, weights = np.polynomial.legendre.leggauss(20)
    widths = np.diff(edges)[:, None]
    x = torch.from_numpy((edges[:-1, None] + widths * (nodes + 1) / 2).flatten())
    steps = torch.from_numpy((widths * weights / 2).flatten())
    log_p, log_q = _log_density(p, x), _log_density(q, x)
    terms = torch.where(log_p > -700, log_p.exp() * (log_p - log_q), 0.0)
    return (terms * steps).sum().item()


def _reach(p):
    kinds = {D.Beta: (0, 1), D.ContinuousBernoulli: (0, 1), D.Uniform: (0.55, 0.95), D.Pareto: (0.9, 2e3), D.HalfNormal: (0, 40)}
    return kinds.get(type(p), (0, 60) if type(p) in (D.Exponential, D.Gamma) else (-60, 60))


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if set(pair) <= CONTINUOUS.keys() - {"Cauchy"}], ids=str)
def test_divergences_are_integrals(pair):
    p, q = CONTINUOUS[pair[0]][0](), CONTINUOUS[pair[1]][1]()
    assert D.kl_divergence(p, q).item() == pytest.approx(_integral(p, q), rel=1e-5)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if set(DISCRETE) & set(pair)], ids=str)
def test_divergences_are_sums(pair):
    p, q = DISCRETE[pair[0]][0](), DISCRETE[pair[1]][1]()
    x = p.enumerate_support() if p.has_enumerate_support else torch.arange(0, 120, dtype=F64)
    log_p, log_q = _log_density(p, x), _log_density(q, x)
    assert D.kl_divergence(p, q).item() == pytest.approx((log_p.exp() * (log_p - log_q)).sum().item(), rel=1e-9)


def test_divergence_of_cauchy_distributions():
    p, q = CONTINUOUS["Cauchy"][0](), CONTINUOUS["Cauchy"][1]()
    # Over angles, x = loc + scale tan t, where p is uniform.
    nodes, weights = np.polynomial.legendre.leggauss(100)
    x = p.loc + p.scale * torch.from_numpy(nodes * np.pi / 2).tan()
    wanted = ((p.log_prob(x) - q.log_prob(x)) * torch.from_numpy(weights / 2)).sum().item()
    assert D.kl_divergence(p, q).item() == pytest.approx(wanted, rel=1e-6)


def _normals():
    torch.manual_seed(2)
    root = torch.randn(2, 3, 3, dtype=F64)
    full = [D.MultivariateNormal(torch.randn(3, dtype=F64), r @ r.mT + torch.eye(3, dtype=F64)) for r in root]
    low = [D.LowRankMultivariateNormal(torch.randn(3, dtype=F64), torch.randn(3, 2, dtype=F64), torch.rand(3, dtype=F64) + 0.5) for _ in range(2)]
    return full + low


def test_divergences_of_multivariate_normals_are_the_formula():
    for p, q in itertools.product(_normals(), repeat=2):
        P, Q, change = p.covariance_matrix.numpy(), q.covariance_matrix.numpy(), (q.loc - p.loc).numpy()
        inverse = np.linalg.inv(Q)
        wanted = np.trace(inverse @ P) + change @ inverse @ change - 3 + np.linalg.slogdet(Q)[1] - np.linalg.slogdet(P)[1]
        assert D.kl_divergence(p, q).item() == pytest.approx(wanted / 2, abs=1e-10)
    with pytest.raises(ValueError):
        D.kl_divergence(_normals()[0], D.MultivariateNormal(torch.zeros(2), torch.eye(2)))


MANY = {
    "Dirichlet": (lambda: D.Dirichlet(S([0.5, 1.0, 3.0])), lambda: D.Dirichlet(S([2.0, 1.0, 1.0]))),
    "Wishart": (lambda: D.Wishart(S(4.0), S([[2.0, 0.5], [0.5, 1.0]])), lambda: D.Wishart(S(5.0), S([[1.0, 0.2], [0.2, 1.0]]))),
    "LogNormal": (lambda: D.LogNormal(S(0.0), 1.0), lambda: D.LogNormal(S(0.5), 0.7)),
    "OneHotCategorical": (lambda: D.OneHotCategorical(S([0.2, 0.3, 0.5])), lambda: D.OneHotCategorical(S([0.3, 0.6, 0.1]))),
    "Chi2": (lambda: D.Chi2(S(3.0)), lambda: D.Gamma(S(2.0), 1.0)),
    "Independent": (
        lambda: D.Independent(D.Normal(S([0.0, 1.0]), 1.0), 1),
        lambda: D.Independent(D.Normal(S([0.5, 1.5]), 2.0), 1),
    ),
}


@pytest.mark.parametrize("name", MANY)
def test_divergences_are_means_over_samples(name):
    torch.manual_seed(4)
    p, q = (make() for make in MANY[name])
    x = p.sample((40_000,))
    terms = _unchecked(p).log_prob(x) - _unchecked(q).log_prob(x)
    assert abs(D.kl_divergence(p, q).item() - terms.mean().item()) < 4 * terms.std().item() / 200


def test_every_pair_is_tested():
    tested = {*CONTINUOUS, *DISCRETE, *OTHERS}
    assert {name for pair in PAIRS for name in pair} == tested
    assert len(PAIRS) == 87


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_the_divergence_from_itself_is_0(name):
    p = {**CONTINUOUS, **DISCRETE}[name][0]()
    assert D.kl_divergence(p, p).item() == pytest.approx(0, abs=1e-9)


def test_divergences_where_supports_differ():
    assert D.kl_divergence(D.Bernoulli(S([0.0, 0.5, 1.0])), D.Bernoulli(S([0.0, 1.0, 1.0]))).tolist() == pytest.approx([0, np.inf, 0])
    assert D.kl_divergence(D.Categorical(S([0.0, 1.0])), D.Categorical(S([0.5, 0.5]))).item() == pytest.approx(np.log(2))
    assert D.kl_divergence(D.Categorical(S([0.5, 0.5])), D.Categorical(S([0.0, 1.0]))).item() == np.inf
    assert D.kl_divergence(D.Uniform(S(0.0), 2.0), D.Uniform(S(0.5), 3.0)).item() == np.inf
    assert D.kl_divergence(D.Uniform(S([-1.0, 0.2]), S([0.5, 0.5])), D.Beta(S(2.0), 2.0)).isinf().tolist() == [True, False]
    assert D.kl_divergence(D.Pareto(S(0.5), 1.0), D.Pareto(S(0.9), 1.0)).item() == np.inf
    assert D.kl_divergence(D.Beta(S(2.0), 2.0), D.Uniform(S([0.0, 0.5]), S([1.0, 1.0]))).isinf().tolist() == [False, True]
    assert D.kl_divergence(D.Normal(S([0.0, 1.0]), 1.0), D.Gamma(1.0, 1.0)).tolist() == [np.inf, np.inf]
    assert D.kl_divergence(D.Binomial(4, S(0.5)), D.Binomial(2, S(0.5))).item() == np.inf
    assert D.kl_divergence(D.Poisson(S(0.0)), D.Poisson(S(2.0))).item() == 2


def test_divergences_have_gradients():
    parameters = [S([0.3, 1.0]), S([1.0, 2.0]), S([0.5, 2.0]), S([1.5, 0.7])]
    parameters = [parameter.requires_grad_() for parameter in parameters]
    for kind in (D.Normal, D.Gamma, D.Beta, D.Gumbel, D.Laplace):
        assert torch.autograd.gradcheck(lambda a, b, c, d: D.kl_divergence(kind(a, b), kind(c, d)), parameters), kind


def test_unknown_pairs_are_refused():
    with pytest.raises(NotImplementedError, match="Normal.*Poisson"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))
    with pytest.raises(NotImplementedError):
        D.kl_divergence(D.LogNormal(0.0, 1.0), D.TransformedDistribution(D.Normal(0.0, 1.0), [D.TanhTransform()]))
    with pytest.raises(NotImplementedError):
        D.kl_divergence(D.Binomial(2, S(0.5)), D.Binomial(4, S(0.5)))
    with pytest.raises(TypeError):
        D.register_kl(D.Normal, 3)


def test_pairs_are_registered_for_derived_classes_too():
    class Mine(D.Normal):
        pass

    class Further(Mine):
        pass

    normal, further = D.Normal(0.0, 1.0), Further(1.0, 1.0)
    assert D.kl_divergence(further, normal).item() == pytest.approx(0.5)
    try:
        D.register_kl(Mine, D.Normal)(lambda p, q: "of p")
        assert D.kl_divergence(further, normal) == "of p"
        D.register_kl(D.Normal, Mine)(lambda p, q: "of q")
        with pytest.warns(RuntimeWarning, match="Ambiguous"):
            assert D.kl_divergence(further, further) == "of p"
        D.register_kl(Mine, Mine)(lambda p, q: "of both")
        assert D.kl_divergence(further, further) == "of both"
    finally:
        for pair in [pair for pair in _KL_REGISTRY if Mine in pair]:
            del _KL_REGISTRY[pair]
