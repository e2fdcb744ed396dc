"""Samples of distributions: their laws, by tests of goodness of fit with fixed seeds, and their gradients."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import opforge as torch
from opforge import distributions as D
from opforge.distributions._gamma import log_derivative, log_standard_gamma
from opforge.distributions._rejection import binomial

F64 = torch.float64


def T(*values):
    return torch.tensor(values, dtype=F64)


def S(value):
    return torch.tensor(value, dtype=F64)


CONTINUOUS = {
    "Beta": (lambda: D.Beta(S(0.4), 2.0), stats.beta(0.4, 2)),
    "Cauchy": (lambda: D.Cauchy(S(1.0), 2.0), stats.cauchy(1, 2)),
    "Chi2": (lambda: D.Chi2(S(3.0)), stats.chi2(3)),
    "ContinuousBernoulli": (lambda: D.ContinuousBernoulli(logits=S(-3.0)), stats.truncexpon(3, scale=1 / 3)),
    "ContinuousBernoulli 1/2": (lambda: D.ContinuousBernoulli(S(0.5)), stats.uniform()),
    "Exponential": (lambda: D.Exponential(S(2.0)), stats.expon(scale=0.5)),
    "FisherSnedecor": (lambda: D.FisherSnedecor(S(3.0), 5.0), stats.f(3, 5)),
    "Gamma": (lambda: D.Gamma(S(2.5), 2.0), stats.gamma(2.5, scale=0.5)),
    "Gamma below 1": (lambda: D.Gamma(S(0.3), 1.0), stats.gamma(0.3)),
    "Gamma of 10000": (lambda: D.Gamma(S(1e4), 1.0), stats.gamma(1e4)),
    "GeneralizedPareto": (lambda: D.GeneralizedPareto(S(1.0), 2.0, 0.3), stats.genpareto(0.3, loc=1, scale=2)),
    "Gumbel": (lambda: D.Gumbel(S(1.0), 2.0), stats.gumbel_r(1, 2)),
    "HalfCauchy": (lambda: D.HalfCauchy(S(2.0)), stats.halfcauchy(scale=2)),
    "HalfNormal": (lambda: D.HalfNormal(S(2.0)), stats.halfnorm(scale=2)),
    "InverseGamma": (lambda: D.InverseGamma(S(3.0), 2.0), stats.invgamma(3, scale=2)),
    "Laplace": (lambda: D.Laplace(S(1.0), 2.0), stats.laplace(1, 2)),
    "LogNormal": (lambda: D.LogNormal(S(1.0), 0.5), stats.lognorm(0.5, scale=np.e)),
    "Normal": (lambda: D.Normal(S(1.0), 2.0), stats.norm(1, 2)),
    "Pareto": (lambda: D.Pareto(S(1.5), 3.0), stats.pareto(3, scale=1.5)),
    "StudentT": (lambda: D.StudentT(S(2.5), 1.0, 2.0), stats.t(2.5, 1, 2)),
    "Uniform": (lambda: D.Uniform(S(1.0), 3.0), stats.uniform(1, 2)),
    "VonMises": (lambda: D.VonMises(S(0.0), 2.0), stats.vonmises(2)),
    "VonMises, nearly even": (lambda: D.VonMises(S(0.0), 1e-7), stats.vonmises(1e-7)),
    "Weibull": (lambda: D.Weibull(S(2.0), 1.5), stats.weibull_min(1.5, scale=2)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_samples_have_the_distribution_function(name):
    torch.manual_seed(17)
    make, reference = CONTINUOUS[name]
    sample = make().sample((20_000,))
    assert sample.dtype == F64 and not sample.requires_grad
    assert stats.kstest(sample.numpy(), reference.cdf).pvalue > 1e-3


def test_samples_of_kumaraswamy_and_relaxed_bernoulli_have_their_own_distribution_functions():
    torch.manual_seed(8)
    for distribution in (D.Kumaraswamy(S(0.7), 2.0), D.RelaxedBernoulli(S(0.7), S(0.3))):
        x = torch.linspace(1e-6, 1 - 1e-6, 4001, dtype=F64)
        grid = integrate.cumulative_trapezoid(distribution.log_prob(x).exp().numpy(), x.numpy(), initial=0)
        sample = distribution.sample((20_000,)).numpy()
        assert np.abs(np.interp(np.sort(sample), x.numpy(), grid) - np.linspace(0, 1, 20_000)).max() < 0.02


DISCRETE = {
    "Bernoulli": (lambda: D.Bernoulli(S(0.3)), stats.bernoulli(0.3)),
    "Binomial, few": (lambda: D.Binomial(7, S(0.3)), stats.binom(7, 0.3)),
    "Binomial, many": (lambda: D.Binomial(200, S(0.3)), stats.binom(200, 0.3)),
    "Binomial, likely": (lambda: D.Binomial(90, S(0.8)), stats.binom(90, 0.8)),
    "Categorical": (lambda: D.Categorical(T(1.0, 2.0, 5.0)), stats.rv_discrete(values=([0, 1, 2], [0.125, 0.25, 0.625]))),
    "Geometric": (lambda: D.Geometric(S(0.3)), stats.geom(0.3, loc=-1)),
    "NegativeBinomial": (lambda: D.NegativeBinomial(S(2.5), S(0.6)), stats.nbinom(2.5, 0.4)),
    "Poisson": (lambda: D.Poisson(S(3.5)), stats.poisson(3.5)),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_samples_have_the_probabilities(name):
    torch.manual_seed(9)
    make, reference = DISCRETE[name]
    n = 20_000
    values, counts = np.unique(make().sample((n,)).numpy(), return_counts=True)
    expected = reference.pmf(values) * n
    common = expected > 10
    observed = [*counts[common], n - counts[common].sum()]
    wanted = [*expected[common], n - expected[common].sum()]
    keep = np.array(wanted) > 1
    observed, wanted = np.array(observed)[keep], np.array(wanted)[keep]
    assert stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3


VECTORS = {
    "Dirichlet": lambda: D.Dirichlet(T(0.5, 1.0, 3.0)),
    "LowRankMultivariateNormal": lambda: D.LowRankMultivariateNormal(T(1.0, 2.0), T([1.0], [-1.0]), T(0.5, 2.0)),
    "Mixture": lambda: D.MixtureSameFamily(D.Categorical(T(0.2, 0.8)), D.Normal(T(-2.0, 1.0), T(0.5, 1.0))),
    "Multinomial": lambda: D.Multinomial(6, T(0.2, 0.3, 0.5)),
    "MultivariateNormal": lambda: D.MultivariateNormal(T(1.0, 2.0), T([2.0, 0.7], [0.7, 1.0])),
    "OneHotCategorical": lambda: D.OneHotCategorical(T(0.2, 0.3, 0.5)),
    "Wishart": lambda: D.Wishart(S(4.0), T([2.0, 0.7], [0.7, 1.0])),
}


@pytest.mark.parametrize("name", VECTORS)
def test_samples_have_the_moments(name):
    torch.manual_seed(10)
    distribution = VECTORS[name]()
    sample = distribution.sample((20_000,))
    error = (sample.mean(0) - distribution.mean).abs() / (distribution.variance / 20_000).sqrt()
    assert (error < 4).all()
    assert torch.allclose(sample.var(0), distribution.variance, rtol=0.06)


def test_multivariate_normals_have_the_covariance():
    torch.manual_seed(11)
    for make in (VECTORS["MultivariateNormal"], VECTORS["LowRankMultivariateNormal"]):
        sample = make().sample((20_000,))
        assert torch.allclose(sample.mT.cov(), make().covariance_matrix, atol=0.05)


@pytest.mark.parametrize("eta", [0.7, 1.0, 5.0])
def test_correlations_of_lkj_are_beta_variables(eta):
    """Any correlation of d variables is, from -1 to 1, a beta variable with both parameters `eta + d / 2 - 1`."""
    torch.manual_seed(12)
    factor = D.LKJCholesky(4, S(eta)).sample((5000,))
    correlation = factor @ factor.mT
    reference = stats.beta(eta + 1, eta + 1, loc=-1, scale=2)
    for i, j in ((1, 0), (3, 0), (3, 2)):
        assert stats.kstest(correlation[:, i, j].numpy(), reference.cdf).pvalue > 1e-3


def test_samples_are_the_seeds():
    for make in (lambda: D.Gamma(T(0.3, 5.0), 1.0), lambda: D.Binomial(50, T(0.2, 0.9)), lambda: D.VonMises(T(0.0, 1.0), 3.0)):
        torch.manual_seed(1)
        first = make().sample((3,))
        torch.manual_seed(1)
        assert torch.equal(first, make().sample((3,)))


def test_small_concentrations_do_not_underflow():
    torch.manual_seed(0)
    tiny = torch.full((1000, 3), 1e-3)
    on_simplex = D.Dirichlet(tiny).sample()
    assert on_simplex.isfinite().all() and torch.allclose(on_simplex.sum(-1), torch.ones(1000))
    assert D.Beta(tiny, tiny).log_prob(D.Beta(tiny, tiny).sample()).isfinite().all()
    assert (D.Gamma(tiny, 1.0).sample() > 0).all()
    logs = log_standard_gamma(torch.full((4000,), 1e-3, dtype=F64)) * 1e-3
    # a log z tends to the logarithm of a uniform variable.
    assert stats.kstest(-logs.numpy(), stats.expon.cdf).pvalue > 1e-3


def test_samplers_of_no_valid_parameter_give_nan():
    wrong = T(-1.0, 0.0, float("nan"))
    assert log_standard_gamma(wrong).isnan().all()
    drawn = binomial(T(5.0, 5.0, -1.0, 5.0), T(-0.1, float("nan"), 0.5, 1.0))
    assert drawn.isnan().tolist() == [True, True, True, False] and drawn[3].item() == 5
    assert D.Binomial(T(0.0, 4.0), T(0.5, 0.0)).sample().tolist() == [0, 0]
    assert D.NegativeBinomial(T(0.0), T(0.5)).sample().tolist() == [0]


def test_samplers_are_functions_too():
    generator = torch.Generator().manual_seed(5)
    first = torch.binomial(torch.full((3,), 50.0), torch.tensor(0.3), generator), torch._standard_gamma(T(0.3, 4.0), generator)
    generator.manual_seed(5)
    again = torch.binomial(torch.full((3,), 50.0), torch.tensor(0.3), generator), torch._standard_gamma(T(0.3, 4.0), generator)
    assert all(map(torch.equal, first, again)) and first[0].dtype == torch.float32
    assert torch._sample_dirichlet(torch.ones(2, 3)).sum(-1).tolist() == pytest.approx([1, 1])


@pytest.mark.parametrize("a", [1e-3, 0.05, 0.5, 0.9, 1.5, 3.0, 20.0, 300.0, 1e4, 1e6])
def test_gamma_samples_follow_their_concentration(a):
    """At a fixed probability the quantile's derivative, which the inverse of scipy's incomplete gamma function has by differences."""
    u = np.array([1e-3, 0.05, 0.3, 0.5, 0.7, 0.95, 0.999])
    z = special.gammaincinv(a, u)
    u, z = u[z > 1e-200], z[z > 1e-200]
    h = 1e-5 * a
    wanted = (np.log(special.gammaincinv(a + h, u)) - np.log(special.gammaincinv(a - h, u))) / (2 * h)
    got = log_derivative(torch.full((len(z),), a, dtype=F64), torch.from_numpy(np.log(z)))
    np.testing.assert_allclose(got.numpy(), wanted, rtol=3e-6)


def test_the_derivative_at_one_is_known():
    """`∂P(a, z) / ∂a` at `a = 1` is `-exp(-z) log z - E1(z) - γ exp(-z)`, integrated by parts."""
    z = np.array([0.01, 0.5, 0.999, 1.001, 2.0, 10.0])
    slope = -np.exp(-z) * np.log(z) - special.exp1(z) - np.euler_gamma * np.exp(-z)
    got = log_derivative(torch.ones(6, dtype=F64), torch.from_numpy(np.log(z)))
    np.testing.assert_allclose(got.numpy(), -slope / (np.exp(-z) * z), rtol=1e-10)


# d E[f(x)] / d parameters, of many samples, where the expectation has a formula.
GRADIENTS = {
    "Beta": (D.Beta, (0.7, 2.0), lambda x: x, lambda a, b: a / (a + b)),
    "Beta, log": (D.Beta, (3.0, 2.0), lambda x: x.log(), lambda a, b: a.digamma() - (a + b).digamma()),
    "Chi2": (D.Chi2, (1.5,), lambda x: x, lambda df: df),
    "ContinuousBernoulli": (lambda p: D.ContinuousBernoulli(p), (0.3,), lambda x: x, lambda p: D.ContinuousBernoulli(p).mean),
    "Exponential": (D.Exponential, (2.0,), lambda x: x, lambda rate: 1 / rate),
    "FisherSnedecor": (D.FisherSnedecor, (3.0, 9.0), lambda x: x, lambda a, b: b / (b - 2) + 0 * a),
    "Gamma": (D.Gamma, (0.6, 2.0), lambda x: x, lambda a, b: a / b),
    "Gamma, log": (D.Gamma, (5.0, 2.0), lambda x: x.log(), lambda a, b: a.digamma() - b.log()),
    "GeneralizedPareto": (D.GeneralizedPareto, (1.0, 2.0, 0.1), lambda x: x, lambda m, s, k: m + s / (1 - k)),
    "Gumbel": (D.Gumbel, (1.0, 2.0), lambda x: x, lambda m, s: m + s * np.euler_gamma),
    "InverseGamma": (D.InverseGamma, (5.0, 2.0), lambda x: x, lambda a, b: b / (a - 1)),
    "Kumaraswamy": (D.Kumaraswamy, (1.5, 2.0), lambda x: x, lambda a, b: D.Kumaraswamy(a, b).mean),
    "Laplace": (D.Laplace, (1.0, 2.0), lambda x: x**2, lambda m, s: m**2 + 2 * s**2),
    "LogNormal": (D.LogNormal, (0.5, 0.3), lambda x: x, lambda m, s: (m + s**2 / 2).exp()),
    "Normal": (D.Normal, (1.0, 2.0), lambda x: x**2, lambda m, s: m**2 + s**2),
    "Pareto": (D.Pareto, (1.0, 6.0), lambda x: x, lambda s, a: s * a / (a - 1)),
    "StudentT": (D.StudentT, (8.0, 1.0, 2.0), lambda x: x**2, lambda n, m, s: m**2 + s**2 * n / (n - 2)),
    "Uniform": (D.Uniform, (1.0, 2.0), lambda x: x**2, lambda a, b: (a * a + a * b + b * b) / 3),
    "Weibull": (D.Weibull, (2.0, 1.5), lambda x: x, lambda s, k: s * (1 + 1 / k).lgamma().exp()),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_samples_are_those_of_expectations(name):
    torch.manual_seed(13)
    make, values, function, expectation = GRADIENTS[name]
    parameters = [S(value).requires_grad_() for value in values]
    n = 20_000
    separate = [parameter.detach().expand(n).clone().requires_grad_() for parameter in parameters]
    function(make(*separate).rsample()).sum().backward()
    wanted = torch.autograd.grad(expectation(*parameters), parameters, allow_unused=True)
    for each, exact in zip(separate, wanted):
        error = each.grad.std().item() / n**0.5
        assert abs(each.grad.mean().item() - exact.item()) <= 5 * error + 1e-9


def test_gradients_of_dirichlet_samples():
    torch.manual_seed(14)
    alpha = T(0.4, 1.0, 3.0)
    separate = alpha.expand(40_000, 3).clone().requires_grad_()
    weights = T(1.0, 2.0, -1.0)
    (D.Dirichlet(separate).rsample() * weights).sum().backward()
    exact = alpha.clone().requires_grad_()
    (D.Dirichlet(exact).mean * weights).sum().backward()
    error = separate.grad.std(0) / 200
    assert ((separate.grad.mean(0) - exact.grad).abs() < 5 * error).all()


def test_gradients_of_wishart_samples():
    torch.manual_seed(15)
    df, root = S(4.0).requires_grad_(), T([1.5, 0.0], [0.5, 1.0]).requires_grad_()
    sample = D.Wishart(df, scale_tril=root, validate_args=False).rsample((20_000,))
    (sample.sum((-1, -2)).mean()).backward()
    assert df.grad.item() == pytest.approx((root @ root.mT).sum().item(), rel=0.05)


def test_straight_through_samples_have_the_gradient_of_the_probabilities():
    logits = T(0.1, 0.5, -1.0).requires_grad_()
    sample = D.OneHotCategoricalStraightThrough(logits=logits).rsample()
    assert sorted(sample.tolist()) == pytest.approx([0, 0, 1])
    (sample * T(1.0, 2.0, 3.0)).sum().backward()
    exact = logits.detach().requires_grad_()
    (exact.softmax(-1) * T(1.0, 2.0, 3.0)).sum().backward()
    assert torch.allclose(logits.grad, exact.grad)


def test_gradients_are_not_differentiated_again_by_mistake():
    a = S(2.0).requires_grad_()
    (slope,) = torch.autograd.grad(D.Gamma(a, 1.0).rsample(), a, create_graph=True)
    with pytest.raises(RuntimeError):
        slope.backward()


def test_samples_compile_where_nothing_is_read():
    @torch.compile(fullgraph=True)
    def loss(loc, scale):
        x = D.Normal(loc, scale, validate_args=False).rsample((100,))
        return x.mean(), D.Gumbel(loc, scale, validate_args=False).rsample().sum()

    torch.manual_seed(0)
    mean, other = loss(torch.zeros(1000), torch.ones(1000))
    assert abs(mean.item()) < 0.02 and other.isfinite()


def test_beta_is_made_of_a_dirichlet():
    beta = torch.distributions.Beta(torch.tensor([2.0, 3.0]), 1.0)
    beta._dirichlet.concentration = torch.tensor([[1.0, 4.0], [1.0, 1.0]])
    assert beta.concentration1.tolist() == [1, 1] and beta.concentration0.tolist() == [4, 1]
    wide = beta.expand((3, 2))
    assert wide.batch_shape == (3, 2) and wide.concentration0.shape == (3, 2) and wide.sample().shape == (3, 2)
