"""Tensors from numbers, and random ones."""

import numpy as np
from scipy import stats

from . import case, holds, spread

X = spread(-1, 1, 3, 4)
MANY = np.zeros((100, 200))


def empty(shape):
    def law(result):
        assert result.shape == shape

    return law


def drawn(distribution, shape=(100, 200)):
    """Draws that a Kolmogorov-Smirnov test does not tell from a distribution; a false alarm is one in a million."""

    def law(result):
        assert result.shape == shape
        assert stats.kstest(result.ravel(), distribution.cdf).pvalue > 1e-6

    return law


def drawn_whole(distribution, shape=(100, 200)):
    """Whole draws whose mean and deviation are a distribution's."""

    def law(result):
        assert result.shape == shape and (result == np.floor(result)).all()
        error = distribution.std() / np.sqrt(result.size)
        assert abs(result.mean() - distribution.mean()) < 6 * error
        assert abs(result.std() / distribution.std() - 1) < 0.1
        assert result.min() >= distribution.support()[0] and result.max() <= distribution.support()[1]

    return law


def permutation(result):
    assert sorted(result.tolist()) == list(range(1000)) and result.tolist() != list(range(1000))


def places(result):
    counts = np.bincount(result, minlength=4) / result.size
    assert np.abs(counts - [0.0, 0.1, 0.3, 0.6]).max() < 0.02


def number(x):
    return np.float32(x) if isinstance(x, float) else np.int64(x)


NORMAL, UNIFORM, COIN = stats.norm(), stats.uniform(), stats.bernoulli(0.5)
SIZE = (100, 200)

CASES = [
    case("arange", lambda *a: np.arange(*a), 2, 9, 3),
    case("arange", lambda *a: np.arange(*a), 0.0, 1.0, 0.25),
    case("arange_to", np.arange, 5),
    case("linspace", np.linspace, -1.0, 2.0, 7, dtype="float64"),
    case("linspace", np.linspace, 1 - 2j, 3j, 6, dtype="complex128"),
    case("logspace", np.logspace, -1.0, 2.0, 4, dtype="float64"),
    case("logspace", np.logspace, 1j, 2.0, 5, dtype="complex128"),
    case("eye", np.eye, 3),
    case("eye", np.eye, 3, 4),
    case("full", lambda size, x: np.full(size, x), (2, 3), 7),
    case("full", lambda size, x: np.full(size, x), (2, 3), 0.5),
    case("zeros", lambda *size: np.zeros(size), 2, 3),
    case("ones", lambda size: np.ones(size), (2, 3)),
    case("zeros_like", np.zeros_like, X),
    case("ones_like", np.ones_like, X),
    case("full_like", np.full_like, X, 2.5),
    case("new_zeros", lambda x, *size: np.zeros(size), X, 2, 3),
    case("new_ones", lambda x, size: np.ones(size), X, (2, 3)),
    case("new_full", lambda x, size, value: np.full(size, value), X, (2,), 0.5),
    case("fill_with", np.full_like, X, 2.5, smooth=False),
    case("fill_zero", np.zeros_like, X, smooth=False),
    case("fill_diagonal", lambda x, value: np.fill_diagonal(c := x.copy(), value) or c, X, 0.5, smooth=False),
    holds("empty", empty((2, 3)), 2, 3),
    holds("empty_like", empty((3, 4)), X),
    holds("new_empty", empty((5,)), X, 5),
    case("tril_indices", lambda n, m, k: np.array(np.tril_indices(n, k, m)), 3, 4, 1),
    case("triu_indices", lambda n, m, k: np.array(np.triu_indices(n, k, m)), 4, 3, -1),
    # Random.
    holds("rand", drawn(UNIFORM), *SIZE),
    holds("rand_like", drawn(UNIFORM), MANY),
    holds("randn", drawn(NORMAL), SIZE),
    holds("randn_like", drawn(NORMAL), MANY),
    holds("randint", drawn_whole(stats.randint(-3, 9)), -3, 9, SIZE),
    holds("randint_below", drawn_whole(stats.randint(0, 9)), 9, SIZE),
    holds("randint_like", drawn_whole(stats.randint(-3, 9)), MANY, -3, 9),
    holds("randint_like_below", drawn_whole(stats.randint(0, 9)), MANY, 9),
    holds("randperm", permutation, 1000),
    holds("bernoulli", drawn_whole(stats.bernoulli(0.3)), MANY + 0.3),
    holds("bernoulli_of", drawn_whole(COIN), MANY, 0.5),
    holds("bernoulli_like", drawn_whole(stats.bernoulli(0.3)), MANY, 0.3),
    holds("bernoulli_each", drawn_whole(stats.bernoulli(0.3)), MANY, MANY + 0.3),
    holds("normal", drawn(stats.norm(1, 2)), MANY + 1, MANY + 2),
    holds("normal_around", drawn(stats.norm(1, 2)), MANY + 1, 2.0),
    holds("normal_scaled", drawn(stats.norm(1, 2)), 1.0, MANY + 2),
    holds("normal_of_size", drawn(stats.norm(1, 2)), 1.0, 2.0, SIZE),
    holds("normal_like", drawn(stats.norm(1, 2)), MANY, 1.0, 2.0),
    holds("uniform", drawn(stats.uniform(-1, 4)), MANY, -1.0, 3.0),
    holds("exponential", drawn(stats.expon(scale=0.5)), MANY, 2.0),
    holds("log_normal", drawn(stats.lognorm(0.5, scale=np.e)), MANY, 1.0, 0.5),
    holds("cauchy", drawn(stats.cauchy(1, 2)), MANY, 1.0, 2.0),
    holds("geometric", drawn_whole(stats.geom(0.3)), MANY, 0.3),
    holds("random", drawn_whole(stats.randint(-3, 9)), MANY, -3, 9),
    holds("random_below", drawn_whole(stats.randint(0, 9)), MANY, 9),
    holds("multinomial", places, np.array([0.0, 0.1, 0.3, 0.6]), 10000, replacement=True),
]
