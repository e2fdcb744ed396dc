"""Densities, distribution functions, moments and entropies of distributions against scipy; shapes, expansion and checks."""

import numpy as np
import pytest
from scipy import stats

import opforge as torch
from opforge import distributions as D


def T(*values):
    return torch.tensor(values, dtype=torch.float64)


A, B = np.array([0.3, 1.0, 2.7]), np.array([2.5, 0.7, 1.2])
LOC, P = np.array([-1.3, 0.0, 2.2]), np.array([0.1, 0.5, 0.9])
a, b, loc, p = (torch.from_numpy(x) for x in (A, B, LOC, P))
REAL, POSITIVE, UNIT = [-2.0, -0.5, 0.0, 0.7, 3.0], [1e-3, 0.2, 1.0, 2.5, 9.0], [0.01, 0.2, 0.5, 0.77, 0.99]
COUNTS = [0.0, 1.0, 2.0, 5.0]

# Each distribution, scipy's, and values.
CASES = {
    "Bernoulli": (lambda: D.Bernoulli(p), stats.bernoulli(P), [0.0, 1.0]),
    "Beta": (lambda: D.Beta(a, b), stats.beta(A, B), UNIT),
    "Binomial": (lambda: D.Binomial(5, p), stats.binom(5, P), COUNTS),
    "Cauchy": (lambda: D.Cauchy(loc, a), stats.cauchy(LOC, A), REAL),
    "Chi2": (lambda: D.Chi2(a), stats.chi2(A), POSITIVE),
    "Exponential": (lambda: D.Exponential(a), stats.expon(scale=1 / A), POSITIVE),
    "FisherSnedecor": (lambda: D.FisherSnedecor(2 * a, 4 + b), stats.f(2 * A, 4 + B), POSITIVE),
    "Gamma": (lambda: D.Gamma(a, b), stats.gamma(A, scale=1 / B), POSITIVE),
    "GeneralizedPareto": (
        lambda: D.GeneralizedPareto(T(-1.0, 0.0, -2.0), b, T(0.3, 0.0, -0.05)),
        stats.genpareto([0.3, 0.0, -0.05], loc=[-1, 0, -2], scale=B),
        POSITIVE,
    ),
    "Geometric": (lambda: D.Geometric(p), stats.geom(P, loc=-1), COUNTS),
    "Gumbel": (lambda: D.Gumbel(loc, a), stats.gumbel_r(LOC, A), REAL),
    "HalfCauchy": (lambda: D.HalfCauchy(a), stats.halfcauchy(scale=A), POSITIVE),
    "HalfNormal": (lambda: D.HalfNormal(a), stats.halfnorm(scale=A), POSITIVE),
    "InverseGamma": (lambda: D.InverseGamma(a + 2, b), stats.invgamma(A + 2, scale=B), POSITIVE),
    "Laplace": (lambda: D.Laplace(loc, a), stats.laplace(LOC, A), REAL),
    "LogNormal": (lambda: D.LogNormal(loc, a), stats.lognorm(A, scale=np.exp(LOC)), POSITIVE),
    "NegativeBinomial": (lambda: D.NegativeBinomial(b, p), stats.nbinom(B, 1 - P), COUNTS),
    "Normal": (lambda: D.Normal(loc, a), stats.norm(LOC, A), REAL),
    "Pareto": (lambda: D.Pareto(T(1e-3, 5e-4, 1e-4), a + 2), stats.pareto(A + 2, scale=[1e-3, 5e-4, 1e-4]), POSITIVE),
    "Poisson": (lambda: D.Poisson(a), stats.poisson(A), COUNTS),
    "StudentT": (lambda: D.StudentT(a + 2, loc, b), stats.t(A + 2, LOC, B), REAL),
    "Uniform": (lambda: D.Uniform(loc, loc + 5), stats.uniform(LOC, 5), [2.2, 3.0, 3.5]),
    "VonMises": (lambda: D.VonMises(loc, a), stats.vonmises(A, LOC), REAL),
    "Weibull": (lambda: D.Weibull(a, b), stats.weibull_min(B, scale=A), POSITIVE),
}
NO_ENTROPY = {"FisherSnedecor", "NegativeBinomial", "Poisson", "VonMises"}


@pytest.mark.parametrize("name", CASES)
def test_log_prob_is_scipys(name):
    make, reference, values = CASES[name]
    values = np.array(values)[:, None]
    wanted = reference.logpmf if hasattr(reference.dist, "logpmf") else reference.logpdf
    np.testing.assert_allclose(make().log_prob(torch.from_numpy(values)).numpy(), wanted(values), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_distribution_function_is_scipys_and_its_inverse_inverts_it(name):
    make, reference, values = CASES[name]
    values = torch.tensor(values, dtype=torch.float64).unsqueeze(-1)
    try:
        got = make().cdf(values)
    except NotImplementedError:
        return
    np.testing.assert_allclose(got.numpy(), reference.cdf(values.numpy()), rtol=1e-9, atol=1e-12)
    probabilities = torch.tensor([[0.01], [0.3], [0.5], [0.9]], dtype=torch.float64)
    try:
        quantiles = make().icdf(probabilities)
    except NotImplementedError:
        return
    np.testing.assert_allclose(quantiles.numpy(), reference.ppf(probabilities.numpy()), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"VonMises", "Cauchy", "HalfCauchy"}))
def test_moments_are_scipys(name):
    make, reference, _ = CASES[name]
    np.testing.assert_allclose(make().mean.numpy(), reference.mean(), rtol=1e-9)
    np.testing.assert_allclose(make().variance.numpy(), reference.var(), rtol=1e-7)
    np.testing.assert_allclose(make().stddev.numpy(), reference.std(), rtol=1e-7)


@pytest.mark.parametrize("name", sorted(CASES.keys() - NO_ENTROPY))
def test_entropy_is_scipys(name):
    make, reference, _ = CASES[name]
    np.testing.assert_allclose(make().entropy().numpy(), reference.entropy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", sorted(NO_ENTROPY))
def test_entropies_without_a_formula_are_refused(name):
    with pytest.raises(NotImplementedError):
        CASES[name][0]().entropy()


@pytest.mark.parametrize("name", CASES)
def test_modes_are_where_the_density_is_greatest(name):
    distribution = CASES[name][0]()
    mode = distribution.mode
    inside = distribution.support.check(mode) & mode.isfinite()
    best = distribution.log_prob(torch.where(inside, mode, distribution.sample()))
    others = distribution.log_prob(distribution.sample((200,))).amax(0)
    assert ((best >= others - 1e-9) | ~inside).all()


def test_quantiles_of_the_tails_keep_their_digits():
    small = torch.tensor([1e-30, 1e-10])
    np.testing.assert_allclose(D.Normal(0.0, 1.0).icdf(small).numpy(), stats.norm.ppf(small.numpy()), rtol=1e-5)
    np.testing.assert_allclose(D.Exponential(1.0).icdf(small).numpy(), small.numpy(), rtol=1e-6)


def test_moments_that_do_not_exist():
    student = D.StudentT(T(0.5, 1.5, 3.0))
    assert student.mean.isnan().tolist() == [True, False, False]
    assert student.variance.isnan().tolist() == [True, False, False] and student.variance[1].item() == np.inf
    assert D.Cauchy(0.0, 1.0).mean.isnan() and D.HalfCauchy(1.0).mean.item() == np.inf
    assert D.Pareto(1.0, 1.0).mean.item() == np.inf and D.InverseGamma(0.5, 1.0).mean.item() == np.inf
    assert D.FisherSnedecor(1.0, 2.0).mean.isnan() and D.Categorical(T(0.5, 0.5)).mean.isnan()


@pytest.mark.parametrize("logits", [-80.0, -3.0, -1e-3, -1e-9, 0.0, 1e-4, 0.5, 30.0, 500.0])
def test_continuous_bernoulli_is_a_truncated_exponential_distribution(logits):
    """Its density is proportional to exp(logits x) between 0 and 1: integrals by quadrature, also where formulas divide by almost 0."""
    distribution = D.ContinuousBernoulli(logits=T(logits))
    nodes, weights = np.polynomial.legendre.leggauss(200)
    x = torch.from_numpy((nodes + 1) / 2).unsqueeze(-1)
    density = distribution.log_prob(x).exp().squeeze(-1).numpy() * weights / 2
    mean = (density * x.squeeze(-1).numpy()).sum()
    assert density.sum() == pytest.approx(1, abs=1e-9)
    assert distribution.mean.item() == pytest.approx(mean, abs=1e-9)
    assert distribution.variance.item() == pytest.approx((density * (x.squeeze(-1).numpy() - mean) ** 2).sum(), rel=1e-5)
    assert distribution.cdf(T(0.0)).item() == 0 and distribution.cdf(T(1.0)).item() == 1
    u = T(0.01, 0.4, 0.97)
    assert torch.allclose(distribution.cdf(distribution.icdf(u)), u, atol=1e-10)
    u.requires_grad_()
    (slope,) = torch.autograd.grad(distribution.cdf(u).sum(), u)
    assert torch.allclose(slope, distribution.log_prob(u).exp(), rtol=1e-6, atol=1e-9)


def test_categories():
    weights = T(1.0, 0.0, 3.0)
    one, hot = D.Categorical(weights), D.OneHotCategorical(weights)
    assert one.probs.tolist() == [0.25, 0.0, 0.75] and one.mode.item() == 2
    assert one.entropy().item() == pytest.approx(stats.entropy([0.25, 0.75]))
    assert one.log_prob(torch.tensor([0, 2])).exp().tolist() == pytest.approx([0.25, 0.75])
    assert hot.log_prob(torch.eye(3, dtype=torch.float64)[2]).exp().item() == pytest.approx(0.75)
    assert hot.mode.tolist() == [0, 0, 1] and hot.enumerate_support().tolist() == np.eye(3).tolist()
    counts = D.Multinomial(4, weights)
    assert counts.log_prob(T(1.0, 0.0, 3.0)).item() == pytest.approx(stats.multinomial(4, [0.25, 0, 0.75]).logpmf([1, 0, 3]))
    assert counts.entropy().item() == pytest.approx(stats.multinomial(4, [0.25, 0, 0.75]).entropy())
    assert counts.mean.tolist() == [1, 0, 3]


def test_dirichlet_is_scipys():
    alpha, x = np.array([0.5, 1.0, 2.0]), np.array([0.2, 0.3, 0.5])
    distribution, reference = D.Dirichlet(torch.from_numpy(alpha)), stats.dirichlet(alpha)
    assert distribution.log_prob(torch.from_numpy(x)).item() == pytest.approx(reference.logpdf(x))
    assert distribution.entropy().item() == pytest.approx(reference.entropy())
    np.testing.assert_allclose(distribution.mean.numpy(), reference.mean())
    np.testing.assert_allclose(distribution.variance.numpy(), reference.var())


def _positive_definite(*shape):
    root = np.random.RandomState(sum(shape)).randn(*shape)
    return root @ root.swapaxes(-1, -2) + np.eye(shape[-1])


def test_multivariate_normal_is_scipys_in_each_form():
    covariance, mean, x = _positive_definite(3, 3), np.array([0.5, -1.0, 2.0]), np.random.RandomState(1).randn(5, 3)
    reference = stats.multivariate_normal(mean, covariance)
    forms = {"covariance_matrix": covariance, "precision_matrix": np.linalg.inv(covariance), "scale_tril": np.linalg.cholesky(covariance)}
    for name, matrix in forms.items():
        distribution = D.MultivariateNormal(torch.from_numpy(mean), **{name: torch.from_numpy(matrix)})
        np.testing.assert_allclose(distribution.log_prob(torch.from_numpy(x)).numpy(), reference.logpdf(x))
        assert distribution.entropy().item() == pytest.approx(reference.entropy())
        for other, wanted in forms.items():
            np.testing.assert_allclose(getattr(distribution, other).numpy(), wanted, atol=1e-12)
        np.testing.assert_allclose(distribution.variance.numpy(), covariance.diagonal())


def test_the_factor_of_a_matrix_is_shared_by_the_batch():
    """Packages read it, and set it in subclasses that have it without the matrix."""
    factor = torch.from_numpy(np.linalg.cholesky(_positive_definite(3, 3)))
    batch = D.MultivariateNormal(torch.zeros(4, 3, dtype=torch.float64), scale_tril=factor)
    assert batch._unbroadcasted_scale_tril is factor and batch.expand((2, 4))._unbroadcasted_scale_tril is factor
    assert batch.scale_tril.shape == batch.covariance_matrix.shape == batch.precision_matrix.shape == (4, 3, 3)
    assert batch.entropy().shape == (4,) and batch.log_prob(batch.sample((2,))).shape == (2, 4)

    class OfFactor(D.MultivariateNormal):
        def __init__(self, factor):
            D.Distribution.__init__(self, (), factor.shape[-1:], validate_args=False)
            self.loc, self._unbroadcasted_scale_tril = torch.zeros(3, dtype=torch.float64), factor

    assert torch.allclose(OfFactor(factor).covariance_matrix, factor @ factor.mT)
    assert torch.allclose(OfFactor(factor).entropy(), batch.entropy()[0])


def test_low_rank_normal_is_the_full_one():
    torch.manual_seed(0)
    factor, diagonal = torch.randn(2, 4, 2, dtype=torch.float64), torch.rand(4, dtype=torch.float64) + 0.1
    low = D.LowRankMultivariateNormal(torch.randn(4, dtype=torch.float64), factor, diagonal)
    full = D.MultivariateNormal(low.loc, factor @ factor.mT + diagonal.diag())
    x = torch.randn(3, 2, 4, dtype=torch.float64)
    assert low.batch_shape == (2,)
    assert torch.allclose(low.log_prob(x), full.log_prob(x)) and torch.allclose(low.entropy(), full.entropy())
    for name in ("variance", "scale_tril", "covariance_matrix", "precision_matrix"):
        assert torch.allclose(getattr(low, name), getattr(full, name)), name


def test_wishart_is_scipys():
    scale, x = _positive_definite(3, 3), _positive_definite(2, 3, 3)
    distribution, reference = D.Wishart(T(4.5), torch.from_numpy(scale)), stats.wishart(4.5, scale)
    got = distribution.log_prob(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(got, [reference.logpdf(one) for one in x])
    assert distribution.entropy().item() == pytest.approx(reference.entropy())
    np.testing.assert_allclose(distribution.mean[0].numpy(), reference.mean())
    np.testing.assert_allclose(distribution.variance[0].numpy(), reference.var())
    np.testing.assert_allclose(distribution.mode[0].numpy(), reference.mode())


def test_lkj_density_integrates_to_one():
    """Of two variables the factor has one free element, the correlation itself; L[1, 1] is sqrt(1 - r²)."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    angle = torch.from_numpy(nodes * np.pi / 2)
    r, rest = angle.sin(), angle.cos()
    factors = torch.stack([torch.stack([r * 0 + 1, r * 0], -1), torch.stack([r, rest], -1)], -2)
    density = D.LKJCholesky(2, T(0.8, 1.0, 3.0)).log_prob(factors.unsqueeze(1)).exp()
    steps = torch.from_numpy(weights * np.pi / 2) * rest
    np.testing.assert_allclose((density * steps.unsqueeze(-1)).sum(0).numpy(), 1, atol=1e-4)


def test_mixture_is_the_weighted_sum_of_its_components():
    weights = np.array([0.2, 0.3, 0.5])
    mixture = D.MixtureSameFamily(D.Categorical(torch.from_numpy(weights)), D.Normal(loc, a))
    x = np.array(REAL)
    parts = stats.norm(LOC, A)
    np.testing.assert_allclose(mixture.log_prob(torch.from_numpy(x)).numpy(), np.log((parts.pdf(x[:, None]) * weights).sum(-1)))
    np.testing.assert_allclose(mixture.cdf(torch.from_numpy(x)).numpy(), (parts.cdf(x[:, None]) * weights).sum(-1))
    mean = (weights * LOC).sum()
    assert mixture.mean.item() == pytest.approx(mean)
    assert mixture.variance.item() == pytest.approx((weights * (A**2 + LOC**2)).sum() - mean**2)


ALL = {
    **{name: make for name, (make, _, _) in CASES.items()},
    "Categorical": lambda: D.Categorical(logits=torch.randn(3, 4)),
    "ContinuousBernoulli": lambda: D.ContinuousBernoulli(p),
    "Dirichlet": lambda: D.Dirichlet(torch.rand(3, 4) + 0.1),
    "Independent": lambda: D.Independent(D.Normal(torch.zeros(3, 2), 1.0), 1),
    "Kumaraswamy": lambda: D.Kumaraswamy(a, b),
    "LKJCholesky": lambda: D.LKJCholesky(3, a),
    "LogisticNormal": lambda: D.LogisticNormal(torch.zeros(3, 2), torch.ones(3, 2)),
    "LowRankMultivariateNormal": lambda: D.LowRankMultivariateNormal(torch.zeros(3, 2), torch.ones(2, 1), torch.ones(2)),
    "MixtureSameFamily": lambda: D.MixtureSameFamily(D.Categorical(torch.ones(3, 2)), D.Normal(torch.zeros(3, 2), 1.0)),
    "Multinomial": lambda: D.Multinomial(5, torch.rand(3, 4) + 0.1),
    "MultivariateNormal": lambda: D.MultivariateNormal(torch.zeros(3, 2), torch.eye(2)),
    "OneHotCategorical": lambda: D.OneHotCategorical(torch.rand(3, 4) + 0.1),
    "OneHotCategoricalStraightThrough": lambda: D.OneHotCategoricalStraightThrough(torch.rand(3, 4) + 0.1),
    "RelaxedBernoulli": lambda: D.RelaxedBernoulli(T(0.7), p),
    "RelaxedOneHotCategorical": lambda: D.RelaxedOneHotCategorical(torch.tensor(0.7), torch.rand(3, 4) + 0.1),
    "TransformedDistribution": lambda: D.TransformedDistribution(D.Normal(loc, a), [D.TanhTransform(cache_size=1)]),
    "Wishart": lambda: D.Wishart(torch.tensor([3.0, 4.0, 5.0]), torch.eye(2)),
}


def test_every_distribution_is_here():
    kinds = (getattr(D, name) for name in D.__all__)
    kinds = {kind.__name__ for kind in kinds if isinstance(kind, type) and issubclass(kind, D.Distribution)}
    assert kinds - {"Distribution", "ExponentialFamily"} == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_shapes_of_samples_and_expansion(name):
    torch.manual_seed(3)
    distribution = ALL[name]()
    assert distribution.batch_shape == (3,)
    event = distribution.event_shape
    for sample_shape in ((), (2,), (4, 2), (0,)):
        value = distribution.sample(sample_shape)
        assert value.shape == (*sample_shape, 3, *event)
        assert distribution.log_prob(value).shape == (*sample_shape, 3)
    expanded = distribution.expand((2, 3))
    assert type(expanded) is type(distribution) and expanded.batch_shape == (2, 3) and expanded.event_shape == event
    value = expanded.sample()
    assert value.shape == (2, 3, *event)
    assert torch.allclose(expanded.log_prob(value), distribution.log_prob(value), equal_nan=True)
    assert distribution.support.check(value).all()
    if distribution.has_rsample:
        assert distribution.rsample((2,)).shape == (2, 3, *event)
    assert repr(distribution).startswith(name)


@pytest.mark.parametrize("name", sorted(ALL.keys() - {"Independent", "TransformedDistribution", "MixtureSameFamily"}))
def test_subclasses_that_make_their_parameters_need_an_expand(name):
    class Own(getattr(D, name)):
        def __init__(self):
            vars(self).update(vars(ALL[name]()))

    with pytest.raises(NotImplementedError):
        Own().expand((2, 3))


def test_batches_broadcast_and_may_be_empty():
    assert D.Normal(torch.zeros(2, 1), torch.ones(3)).batch_shape == (2, 3)
    assert D.Normal(0.0, 1.0).batch_shape == () and D.Normal(0, 1).sample().dtype == torch.float32
    assert D.Gamma(torch.empty(0), 1.0).sample((2,)).shape == (2, 0)
    assert D.Categorical(torch.empty(0, 3)).sample((2,)).shape == (2, 0)
    assert D.MultivariateNormal(torch.empty(0, 3), torch.eye(3)).log_prob(torch.zeros(3)).shape == (0,)
    assert D.Dirichlet(torch.empty(0, 3)).rsample().shape == (0, 3)


WRONG = {
    "a negative scale": lambda: D.Normal(0.0, -1.0),
    "NaN": lambda: D.Normal(float("nan"), 1.0),
    "no number": lambda: D.Normal("0", 1.0),
    "a probability above 1": lambda: D.Bernoulli(1.2),
    "neither probs nor logits": lambda: D.Bernoulli(),
    "both probs and logits": lambda: D.Categorical(T(1.0), T(1.0)),
    "negative weights": lambda: D.Categorical(T(-1.0, 2.0)),
    "no categories": lambda: D.Categorical(torch.tensor(1.0)),
    "bounds out of order": lambda: D.Uniform(1.0, 0.0),
    "a probability of 0": lambda: D.Geometric(0.0),
    "no positive definite matrix": lambda: D.MultivariateNormal(torch.zeros(2), -torch.eye(2)),
    "two matrices": lambda: D.MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2)),
    "another size": lambda: D.MultivariateNormal(torch.zeros(2), torch.eye(3)),
    "few degrees of freedom": lambda: D.Wishart(1.0, torch.eye(3)),
    "one variable": lambda: D.LKJCholesky(1),
    "no batch to take": lambda: D.Independent(D.Normal(0.0, 1.0), 1),
    "no transform": lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]),
    "too few dimensions": lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()),
    "no categorical": lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(T(0.0, 1.0), 1.0)),
    "other components": lambda: D.MixtureSameFamily(D.Categorical(T(1.0, 1.0, 1.0)), D.Normal(T(0.0, 1.0), 1.0)),
    "a number as a value": lambda: D.Normal(0.0, 1.0).log_prob(1.0),
    "a value of another shape": lambda: D.Normal(T(0.0, 1.0), 1.0).log_prob(T(0.0, 1.0, 2.0)),
    "another event": lambda: D.Dirichlet(T(1.0, 1.0)).log_prob(T(0.2, 0.3, 0.5)),
    "a value outside": lambda: D.Gamma(1.0, 1.0).log_prob(T(-1.0)),
    "a count outside": lambda: D.Binomial(3, 0.5).log_prob(T(4.0)),
    "a cdf outside": lambda: D.Exponential(1.0).cdf(T(-1.0)),
}


@pytest.mark.parametrize("what", WRONG)
def test_refused(what):
    with pytest.raises(ValueError):
        WRONG[what]()


def test_errors_say_what_was_given_and_what_is_accepted():
    with pytest.raises(ValueError, match=r"parameter scale .*shape \(2,\).*Normal\(.*constraint GreaterThan\(lower_bound=0.0\)"):
        D.Normal(T(0.0, 0.0), T(1.0, -1.0))
    with pytest.raises(ValueError, match=r"support \(Interval\(lower_bound=0.0, upper_bound=1.0\)\).*Beta"):
        D.Beta(1.0, 1.0).log_prob(T(2.0))


def test_checks_can_be_left_out():
    wide = D.Uniform(T(0.0), T(1.0), validate_args=False)
    assert wide.log_prob(T(2.0)).item() == -np.inf and wide.cdf(T(2.0, -1.0)).tolist() == [1, 0]
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Normal(0.0, -1.0).scale.item() == -1
    finally:
        D.Distribution.set_default_validate_args(True)
    assert D.HalfNormal(1.0, validate_args=False).log_prob(torch.tensor(-1.0)).item() == -np.inf


def test_supports_of_discrete_distributions_are_enumerated():
    assert D.Bernoulli(p).enumerate_support().shape == (2, 3)
    assert D.Bernoulli(p).enumerate_support(expand=False).tolist() == [[0], [1]]
    assert D.Binomial(3, p).log_prob(D.Binomial(3, p).enumerate_support()).exp().sum(0).tolist() == pytest.approx([1, 1, 1])
    assert D.OneHotCategorical(torch.ones(2, 3)).enumerate_support().shape == (3, 2, 3)
    with pytest.raises(NotImplementedError):
        D.Binomial(T(2.0, 3.0), 0.5).enumerate_support()
    with pytest.raises(NotImplementedError):
        D.Normal(0.0, 1.0).enumerate_support()


@pytest.mark.parametrize("name", ["Beta", "ContinuousBernoulli", "Dirichlet", "Exponential", "Gamma", "Normal", "Wishart", "Bernoulli"])
def test_entropy_of_the_family_is_the_formula(name):
    """The Bregman divergence of the log-normaliser, by autograd, against each distribution's own formula."""
    distribution = ALL[name]()
    assert torch.allclose(D.ExponentialFamily.entropy(distribution), distribution.entropy(), rtol=1e-5)


def test_slopes_of_the_log_normalizer_are_the_means_of_the_statistics():
    cases = [
        (D.ContinuousBernoulli(logits=T(-3.0, -1e-3, 0.0, 1e-4, 0.5)), lambda d: (d.mean,)),
        (D.Bernoulli(p), lambda d: (d.mean,)),
        (D.Exponential(a), lambda d: (d.mean,)),
        (D.Poisson(a), lambda d: (d.mean,)),
        (D.Normal(loc, a), lambda d: (d.mean, d.variance + d.mean**2)),
        (D.Gamma(a, b), lambda d: (a.digamma() - b.log(), d.mean)),
        (D.Beta(a, b), lambda d: (a.digamma() - (a + b).digamma(), b.digamma() - (a + b).digamma())),
        (D.Dirichlet(a), lambda d: (a.digamma() - a.sum().digamma(),)),
        (D.Wishart(T(4.0), 2 * torch.eye(2, dtype=torch.float64)), lambda d: (d.mean, None)),
    ]
    for distribution, wanted in cases:
        _, _, means = distribution._normalizer_and_means()
        for mean, exact in zip(means, wanted(distribution), strict=True):
            assert exact is None or torch.allclose(mean, exact, rtol=1e-9), distribution


def test_entropy_of_the_family_has_gradients():
    rate = T(0.5, 2.0).requires_grad_()
    D.ExponentialFamily.entropy(D.Exponential(rate)).sum().backward()
    assert torch.allclose(rate.grad, -1 / rate.detach())


def test_densities_have_gradients():
    torch.manual_seed(1)
    for name in ("Beta", "Gamma", "Normal", "StudentT", "Weibull", "Gumbel", "NegativeBinomial", "Kumaraswamy"):
        kind, value = getattr(D, name), ALL[name]().sample()
        parameters = [T(1.3, 2.0, 0.7).requires_grad_(), T(0.3, 0.8, 0.5).requires_grad_()]
        assert torch.autograd.gradcheck(lambda x, y: kind(x, y, validate_args=False).log_prob(value), parameters), name


def test_distributions_compile():
    @torch.compile(fullgraph=True)
    def loss(loc, scale, x):
        q = D.Normal(loc, scale, validate_args=False)
        return q.log_prob(x).sum() - D.kl_divergence(q, D.Normal(0.0, 1.0, validate_args=False)).sum()

    x, scale = torch.randn(5), torch.rand(5) + 0.5
    wanted = D.Normal(x, scale).log_prob(x + 1).sum() - D.kl_divergence(D.Normal(x, scale), D.Normal(0.0, 1.0)).sum()
    assert torch.allclose(loss(x, scale, x + 1), wanted)


def test_what_a_trace_computes_is_not_kept():
    distribution = D.Bernoulli(torch.tensor([0.3, 0.6]), validate_args=False)
    normal = D.Normal(torch.zeros(2), 1.0, validate_args=False)
    squashed = D.TransformedDistribution(normal, D.TanhTransform(cache_size=1), validate_args=False)
    inside = torch.tensor([0.2, -0.7])

    @torch.compile(fullgraph=True)
    def both(x):
        return distribution.log_prob(x) + squashed.log_prob(inside)

    x = torch.ones(2)
    traced = both(x)
    assert torch.allclose(distribution.log_prob(x) + squashed.log_prob(inside), traced)
    assert torch.allclose(both(x), traced)
