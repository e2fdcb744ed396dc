"""First values: their distributions, what they leave alone, and what they refuse."""

import math

import numpy as np
import pytest
from scipy import stats

import opforge as torch
from opforge import nn
from opforge.nn import init

SHAPE = (60, 50, 2)  # fan in 100, fan out 120


def uniform(bound):
    return stats.uniform(-bound, 2 * bound)


@pytest.mark.parametrize(
    ("fill", "distribution"),
    [
        (lambda t: init.uniform_(t, -2, 3), stats.uniform(-2, 5)),
        (lambda t: init.normal_(t, 1, 2), stats.norm(1, 2)),
        (lambda t: init.trunc_normal_(t, 0.5, 2, -1, 1), stats.truncnorm(-0.75, 0.25, 0.5, 2)),
        (lambda t: init.xavier_uniform_(t, gain=2), uniform(2 * math.sqrt(6 / 220))),
        (lambda t: init.xavier_normal_(t), stats.norm(0, math.sqrt(2 / 220))),
        (lambda t: init.kaiming_uniform_(t, nonlinearity="relu"), uniform(math.sqrt(6 / 100))),
        (lambda t: init.kaiming_uniform_(t, a=1, mode="fan_out"), uniform(math.sqrt(3 / 120))),
        (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="linear"), stats.norm(0, math.sqrt(1 / 120))),
        (lambda t: nn.Linear(100, 60).weight, uniform(0.1)),
        (lambda t: nn.Conv1d(50, 60, 2).weight, uniform(0.1)),
        (lambda t: nn.Embedding(100, 60).weight, stats.norm()),
        (lambda t: nn.LSTM(50, 25).weight_ih_l0, uniform(0.2)),
    ],
)
def test_distributions(fill, distribution):
    torch.manual_seed(0)
    sample = fill(nn.Parameter(torch.empty(SHAPE))).detach().numpy().ravel()
    assert stats.kstest(sample, distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        (lambda t: init.constant_(t, 3.0), np.full((2, 3), 3)),
        (init.ones_, np.ones((2, 3))),
        (init.zeros_, np.zeros((2, 3))),
        (init.eye_, np.eye(2, 3)),
    ],
)
def test_constants_are_written_into_the_parameter(fill, expected):
    parameter = nn.Parameter(torch.empty(2, 3))
    assert fill(parameter) is parameter and parameter.tolist() == expected.tolist()
    assert parameter.requires_grad and parameter.is_leaf


@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal(shape):
    matrix = init.orthogonal_(torch.empty(shape, dtype=torch.float64), gain=2).numpy().reshape(shape[0], -1)
    gram = matrix @ matrix.T if shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-12)


@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_passes_channels_on(groups):
    weight = init.dirac_(torch.empty(4, 4 // groups, 3, 3), groups)
    x = torch.randn(1, 4, 5, 5)
    assert nn.functional.conv2d(x, weight, padding=1, groups=groups).tolist() == x.tolist()


def test_sparse_and_generators():
    columns = init.sparse_(torch.empty(10, 4), 0.25).numpy()
    assert ((columns == 0).sum(0) == 3).all()
    first, second = (init.normal_(torch.empty(5), generator=torch.Generator().manual_seed(3)) for _ in range(2))
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize(
    ("name", "param", "gain"),
    [("linear", None, 1), ("sigmoid", None, 1), ("tanh", None, 5 / 3), ("relu", None, 2**0.5), ("leaky_relu", 1, 1), ("selu", None, 0.75)],
)
def test_gains(name, param, gain):
    assert init.calculate_gain(name, param) == pytest.approx(gain)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: init.calculate_gain("sine"), "Unsupported nonlinearity sine"),
        (lambda: init.calculate_gain("leaky_relu", True), "negative_slope True not a valid number"),
        (lambda: init.xavier_uniform_(torch.empty(3)), "fewer than 2 dimensions"),
        (lambda: init.kaiming_normal_(torch.empty(3, 3), mode="fan"), "Mode fan not supported"),
        (lambda: init.eye_(torch.empty(3)), "Only tensors with 2 dimensions"),
        (lambda: init.dirac_(torch.empty(3, 3)), "3, 4, or 5 dimensions"),
        (lambda: init.dirac_(torch.empty(3, 3, 3), 2), "dim 0 must be divisible by groups"),
        (lambda: init.orthogonal_(torch.empty(3)), "2 or more dimensions"),
    ],
)
def test_errors(call, words):
    with pytest.raises(ValueError, match="(?i)") as raised:
        call()
    assert words in str(raised.value)
