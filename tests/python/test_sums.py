"""Sums of many numbers: rounding errors may grow with the root of their number, never with the number."""

import numpy as np
import pytest

import opforge as torch
import opforge.nn.functional as F

N = 1 << 18
TENTH = float(np.float32(0.1))


def layouts(*shape):
    """Tenths that are contiguous, with gaps between them, and one for all."""
    wide = torch.full((*shape, 2), 0.1)
    return [torch.full(shape, 0.1), wide[..., 0], torch.full((1,) * len(shape), 0.1).expand(*shape)]


def near(result, expected):
    assert result.dtype is torch.float32
    return np.allclose(result.numpy(), expected, rtol=3e-5, atol=0)


def filled(*shape):
    return torch.full(shape, 1.0)


INTO_ONE = {
    "index_add": lambda x: torch.zeros(3).index_add(0, torch.full((N,), 2), x)[2],
    "index_add in place": lambda x: torch.zeros(3).index_add_(0, torch.full((N,), 2), x)[2],
    "scatter_add": lambda x: torch.zeros(3).scatter_add(0, torch.full((N,), 2), x)[2],
    "index_put": lambda x: torch.zeros(3).index_put_((torch.full((N,), 2),), x, accumulate=True)[2],
    "scatter_reduce": lambda x: torch.zeros(3).scatter_reduce(0, torch.full((N,), 2), x, "sum")[2],
}

SUMS = INTO_ONE | {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean() * N,
    "cumsum": lambda x: x.cumsum(0)[-1],
    "dot": lambda x: x.dot(filled(N)),
    "vdot": lambda x: torch.vdot(filled(N), x),
    "inner": lambda x: torch.inner(x, filled(N)),
    "einsum": lambda x: torch.einsum("i,i->", x, filled(N)),
    "tensordot": lambda x: torch.tensordot(x, filled(N), 1),
    "vector-matrix": lambda x: (x @ filled(N, 20)),
    "matrix-vector": lambda x: (filled(3, N) @ x),
    "norm": lambda x: torch.linalg.vector_norm(x, 1),
    "mse": lambda x: F.l1_loss(x, torch.zeros(N), reduction="sum"),
    "avg_pool1d": lambda x: F.avg_pool1d(x[None], N)[0, 0] * N,
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x[None], 1)[0, 0] * N,
    "conv1d": lambda x: F.conv1d(x[None], filled(1, 1, N))[0, 0],
    "conv1d of channels": lambda x: F.conv1d(x[None], filled(4, 1, N))[:, 0],
    "trace": lambda x: torch.diag_embed(x[:512]).trace() * (N / 512),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_many(name):
    for x in layouts(N):
        assert near(SUMS[name](x), N * TENTH), (name, x.stride())


@pytest.mark.parametrize("width", [(), (3,)])
def test_one_of_many_places_gets_nearly_all(width):
    index = torch.full((N,), 7)
    index[:100] = torch.arange(100)
    source, places = torch.full((N, *width), 0.1), torch.zeros(N, *width)
    wide = index.reshape(N, *[1 for _ in width]).expand(N, *width)
    for result in (
        places.index_add(0, index, source),
        places.scatter_add(0, wide, source),
        places.index_put((index,), source, accumulate=True),
        places.clone().index_add_(0, index, source),
    ):
        assert near(result[7], (N - 99) * TENTH) and near(result[8], TENTH) and result[100:].count_nonzero() == 0


def test_weighted_bincount():
    for weights in layouts(N):
        counts = torch.bincount(torch.full((N,), 1), weights=weights)
        assert np.allclose(counts.numpy(), [0, N * TENTH], rtol=3e-5)


def test_gradients_that_sum_many():
    ones = torch.full((N,), 1.0)
    table = torch.zeros(10, 12, requires_grad=True)
    for rows in (10, N):
        table = torch.zeros(rows, 12, requires_grad=True)
        (F.embedding(torch.full((N,), 7), table) * 0.1).sum().backward()
        assert near(table.grad[7], N * TENTH), rows
    scale = torch.tensor(0.0, requires_grad=True)
    ((ones * scale) * 0.1).sum().backward()
    assert near(scale.grad, N * TENTH)
    bias, weight = torch.zeros(2, requires_grad=True), torch.zeros(2, 1, 3, requires_grad=True)
    F.conv1d(torch.full((1, 1, N + 2), 0.1), weight, bias).sum().backward()
    assert near(weight.grad, N * TENTH) and near(bias.grad, float(N))
    weight = torch.zeros(4, requires_grad=True)
    (F.layer_norm(torch.tensor([[1.0, -1.0, 1.0, -1.0]]).expand(N, 4), (4,), weight, eps=0.0) * 0.1).sum().backward()
    assert near(weight.grad, [N * TENTH, -N * TENTH] * 2)


def test_products_of_columns():
    """Two columns of a table: neither is contiguous."""
    table = torch.from_numpy(np.random.default_rng(0).random((1 << 20, 2), dtype=np.float32))
    a, b = table.numpy().astype(np.float64).T
    for result in (table[:, 0].dot(table[:, 1]), table[:, 0] @ table[:, 1], (table.T @ table)[0, 1]):
        assert abs(float(result) / (a @ b) - 1) < 1e-6


def test_stretched_ones():
    n = 1 << 22
    x = torch.ones(1).expand(n)
    assert x.dot(x) == n and x.half().float().dot(x) == n
    assert torch.ones(1, dtype=torch.float16).expand(1 << 15).dot(torch.ones(1 << 15, dtype=torch.float16)) == 1 << 15


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_moments_of_large_numbers(dtype):
    large = 1e300 if dtype is torch.float64 else 1e20
    x = torch.tensor([large, 2 * large], dtype=dtype)
    assert np.isclose(float(x.std()) / large, 0.5**0.5, rtol=1e-2)
    assert float(x.var()) == float("inf") and float(torch.var_mean(x)[0]) == float("inf")
    assert np.isclose(float(torch.std_mean(x)[0]) / large, 0.5**0.5, rtol=1e-2)
    most = torch.finfo(dtype).max
    assert not torch.tensor([-most, most] * 20, dtype=dtype).var().isnan()
    expected = [-1.0, 1.0]
    for y in (
        F.layer_norm(x, (2,)),
        F.group_norm(x[None, :], 1)[0],
        F.batch_norm(x[:, None], None, None, training=True)[:, 0],
        F.instance_norm(x[None, None])[0, 0],
    ):
        assert np.allclose(y.float().numpy(), expected, atol=1e-2)
    assert np.allclose(F.rms_norm(x, (2,)).float().numpy(), [0.4**0.5, 1.6**0.5], atol=1e-2)
