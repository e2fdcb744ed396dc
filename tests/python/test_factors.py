"""QR as reflections and `L D Lᵀ`, against the matrices they stand for."""

import numpy as np
import pytest
import scipy.linalg

import opforge as torch
from opforge import geqrf
from opforge._functional.factors import ldl_factor, ldl_factor_ex, ldl_solve, ormqr

RANDOM = np.random.RandomState(2)


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (1, 1), (2, 4, 3), (0, 3), (3, 0)])
def test_reflections_are_those_of_lapack(shape):
    matrix = RANDOM.randn(*shape)
    a, tau = geqrf(torch.tensor(matrix))
    assert a.shape == shape and tau.shape == (*shape[:-2], min(shape[-2:]))
    if matrix.size and matrix.ndim == 2:
        (expected, factors), _ = scipy.linalg.qr(matrix, mode="raw")
        np.testing.assert_allclose(a.numpy(), expected, atol=1e-12)
        np.testing.assert_allclose(tau.numpy(), factors, atol=1e-12)


def test_reflections_multiply():
    matrix = torch.tensor(RANDOM.randn(2, 5, 3))
    a, tau = geqrf(matrix)
    Q = ormqr(a, tau, torch.eye(5, dtype=torch.float64).expand(2, 5, 5))
    np.testing.assert_allclose((Q.mT @ Q).numpy(), np.broadcast_to(np.eye(5), (2, 5, 5)), atol=1e-12)
    np.testing.assert_allclose((Q[..., :3] @ a[..., :3, :].triu()).numpy(), matrix.numpy(), atol=1e-12)
    other = torch.tensor(RANDOM.randn(2, 5, 4))
    for found, expected in (
        (ormqr(a, tau, other), Q @ other),
        (ormqr(a, tau, other, transpose=True), Q.mT @ other),
        (ormqr(a, tau, other.mT, left=False), other.mT @ Q),
        (ormqr(a, tau, other.mT, False, True), other.mT @ Q.mT),
    ):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-12)
    with pytest.raises(RuntimeError, match="other"):
        ormqr(a, tau, other.mT)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 9])
@pytest.mark.parametrize("hollow", [False, True], ids=["full", "zero diagonal"])
def test_symmetric_systems(n, hollow):
    matrix = RANDOM.randn(n, n)
    matrix = matrix + matrix.T - (2 * np.diag(np.diag(matrix)) if hollow and n > 1 else 0)
    if hollow and n % 2 and n > 1:
        matrix += np.eye(n) * 1e-3
    right = RANDOM.randn(n, 2)
    LD, pivots, info = ldl_factor_ex(torch.tensor(matrix))
    assert pivots.dtype == info.dtype == torch.int32 and info.item() == 0
    np.testing.assert_allclose(ldl_solve(LD, pivots, torch.tensor(right)).numpy(), np.linalg.solve(matrix, right), rtol=1e-7)
    upper_changed = torch.tensor(np.tril(matrix) + np.triu(np.ones((n, n)), 1))
    assert torch.equal(ldl_factor(upper_changed).LD, LD)


def test_batches_and_broadcasting():
    matrices = RANDOM.randn(2, 3, 3)
    matrices = matrices + matrices.swapaxes(-1, -2)
    LD, pivots = ldl_factor(torch.tensor(matrices))
    right = RANDOM.randn(3, 2)
    expected = np.linalg.solve(matrices, np.broadcast_to(right, (2, 3, 2)))
    np.testing.assert_allclose(ldl_solve(LD, pivots, torch.tensor(right)).numpy(), expected, rtol=1e-9)
    assert ldl_factor(torch.empty(0, 2, 2)).pivots.shape == (0, 2) and ldl_factor(torch.empty(0, 0)).LD.shape == (0, 0)


@pytest.mark.parametrize(
    "matrices, right, wanted",
    [((0, 0), (0, 3), (0, 3)), ((0, 0), (2, 0, 3), (2, 0, 3)), ((2, 0, 0), (3, 1, 0, 2), (3, 2, 0, 2)), ((0, 2, 2), (2, 3), (0, 2, 3)), ((2, 2, 2), (2, 0), (2, 2, 0))],
)
def test_systems_without_elements(matrices, right, wanted):
    assert ldl_solve(torch.ones(matrices), torch.ones(matrices[:-1], dtype=torch.int32), torch.ones(right)).shape == wanted


def test_singular_blocks_and_bad_input():
    assert ldl_factor_ex(torch.zeros(2, 2)).info.item() == 1
    for call in (
        lambda: ldl_factor(torch.zeros(2, 2)),
        lambda: ldl_factor_ex(torch.zeros(2, 2), check_errors=True),
        lambda: ldl_factor(torch.zeros(2, 3)),
        lambda: ldl_factor(torch.zeros(2)),
        lambda: geqrf(torch.zeros(2)),
        lambda: geqrf(torch.zeros(2, 2, dtype=torch.int64)),
        lambda: ldl_solve(torch.eye(2), torch.tensor([1, 2], dtype=torch.int32), torch.ones(3, 1)),
    ):
        with pytest.raises(RuntimeError):
            call()
