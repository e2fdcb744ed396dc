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


def test_lu_is_the_compact_one():
    a = torch.randn(2, 3, 3)
    both, pivots, infos = torch.lu(a, get_infos=True)
    lower, upper = both.tril(-1) + torch.eye(3), both.triu()
    order = torch.lu_unpack(both, pivots)[0]
    np.testing.assert_allclose((order @ lower @ upper).numpy(), a.numpy(), atol=1e-5)
    assert infos.tolist() == [0, 0] and len(torch.lu(a)) == 2


def test_low_ranks_are_found():
    torch.manual_seed(0)
    a = torch.randn(2, 20, 3, dtype=torch.float64) @ torch.randn(2, 3, 8, dtype=torch.float64)
    u, s, v = torch.svd_lowrank(a, q=4)
    assert (u.shape, s.shape, v.shape) == ((2, 20, 4), (2, 4), (2, 8, 4))
    np.testing.assert_allclose((u * s[:, None] @ v.mT).numpy(), a.numpy(), atol=1e-10)
    mean = a.mean(-2, keepdim=True)
    u, s, v = torch.pca_lowrank(a, q=3)
    np.testing.assert_allclose((u * s[:, None] @ v.mT).numpy(), (a - mean).numpy(), atol=1e-10)
    np.testing.assert_allclose(torch.svd_lowrank(a, q=3, M=mean)[1].numpy(), s.numpy(), atol=1e-10)
    with pytest.raises(ValueError):
        torch.svd_lowrank(a, q=9)


def test_lobpcg_gives_the_greatest_or_the_least():
    torch.manual_seed(0)
    a, b = (torch.randn(2, 12, 12, dtype=torch.float64) for _ in range(2))
    a, b = a + a.mT, b @ b.mT + torch.eye(12)
    all_values = np.linalg.eigvalsh(a.numpy())
    values, vectors = torch.lobpcg(a, k=3)
    np.testing.assert_allclose(values.numpy(), all_values[:, :-4:-1])
    np.testing.assert_allclose((a @ vectors).numpy(), (vectors * values[:, None]).numpy(), atol=1e-10)
    np.testing.assert_allclose(torch.lobpcg(a, X=vectors, largest=False)[0].numpy(), all_values[:, :3])
    values, vectors = torch.lobpcg(a, k=2, B=b)
    np.testing.assert_allclose((a @ vectors).numpy(), (b @ vectors * values[:, None]).numpy(), atol=1e-9)
    np.testing.assert_allclose((vectors.mT @ b @ vectors).numpy(), np.broadcast_to(np.eye(2), (2, 2, 2)), atol=1e-10)
    assert torch.lobpcg(a[0])[1].shape == (12, 1)
    with pytest.raises(ValueError, match="k=13"):
        torch.lobpcg(a, k=13)


def test_singular_matrices_raise_linalg_errors():
    for call in (lambda: torch.linalg.inv(torch.zeros(2, 2)), lambda: torch.linalg.cholesky(-torch.eye(2))):
        with pytest.raises(torch.linalg.LinAlgError):
            call()
    assert issubclass(torch.linalg.LinAlgError, RuntimeError)
    for call in (lambda: torch.linalg.inv(torch.zeros(2, 3)), lambda: torch.linalg.norm(torch.zeros(2, 2), "no norm")):
        with pytest.raises(RuntimeError) as raised:
            call()
        assert not isinstance(raised.value, torch.linalg.LinAlgError)


def test_methods_are_the_functions():
    x = torch.arange(12.0).reshape(3, 4)
    assert x.lu()[0].shape == (3, 4) and x.geqrf().tau.shape == (3,)
