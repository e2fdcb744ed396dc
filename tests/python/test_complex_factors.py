"""Factors of complex matrices: they multiply back to what was factored, and have the gradients of what does not depend on the vectors' angles."""

import numpy as np
import pytest

import opforge as torch

L = torch.linalg
RANDOM = np.random.default_rng(3)
SHAPES = [(3, 3), (5, 3), (3, 5), (2, 4, 4), (20, 20), (24, 17), (0, 3), (3, 0), (0, 2, 2)]
SQUARE = [shape for shape in SHAPES if shape[-1] == shape[-2]]
CLOSE = {torch.complex64: 1e-4, torch.complex128: 1e-11}


def drawn(*shape, dtype=torch.complex128):
    return torch.tensor(RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape), dtype=dtype)


def hermitian(*shape, dtype=torch.complex128):
    a = drawn(*shape, dtype=dtype)
    return a + a.mH


def definite(*shape, dtype=torch.complex128):
    a = drawn(*shape, dtype=dtype)
    return a @ a.mH + torch.eye(shape[-1], dtype=dtype)


def close(found, expected):
    expected = torch.as_tensor(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    tolerance = CLOSE.get(found.dtype, 1e-4 if found.dtype == torch.float32 else 1e-11)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=tolerance, atol=tolerance * 10)


def orthonormal(vectors):
    """The columns are of length 1, and at right angles."""
    close(vectors.mH @ vectors, torch.eye(vectors.shape[-1], dtype=vectors.dtype).expand(*vectors.shape[:-2], -1, -1))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_factors(dtype, shape):
    a, k = drawn(*shape, dtype=dtype), min(shape[-2:])
    P, lower, upper = L.lu(a)
    close(P @ lower @ upper, a)
    for mode in ("reduced", "complete"):
        Q, R = L.qr(a, mode)
        close(Q @ R, a)
        orthonormal(Q)
        assert torch.equal(R, R.triu())
    real = torch.float32 if dtype == torch.complex64 else torch.float64
    for full in (False, True):
        U, S, Vh = L.svd(a, full_matrices=full)
        assert S.dtype == real
        close((U[..., :k] * S.to(dtype).unsqueeze(-2)) @ Vh[..., :k, :], a)
        orthonormal(U)
        orthonormal(Vh.mH)
    close(L.svdvals(a), S)
    close(S, np.linalg.svd(a.numpy(), compute_uv=False))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("shape", SQUARE)
def test_of_square_matrices(dtype, shape):
    a, b = drawn(*shape, dtype=dtype), drawn(*shape[:-1], 2, dtype=dtype)
    sign, log = L.slogdet(a)
    expected = np.linalg.slogdet(a.numpy())
    close(sign, expected.sign)
    close(log, expected.logabsdet)
    np.testing.assert_allclose(L.det(a).numpy(), np.linalg.det(a.numpy()), rtol=1e-3 if dtype == torch.complex64 else 1e-10)
    close(torch.logdet(a).exp(), L.det(a)) if dtype == torch.complex128 and shape[-1] < 9 else None
    values, vectors = L.eig(a)
    close(a @ vectors, vectors * values.unsqueeze(-2))
    np.testing.assert_allclose(vectors.abs().square().sum(-2).numpy(), np.ones(shape[:-1]), rtol=1e-4)
    np.testing.assert_allclose(np.sort_complex(L.eigvals(a).numpy()), np.sort_complex(np.linalg.eigvals(a.numpy())), rtol=1e-3, atol=1e-3)
    for x in (L.solve(a, b), L.solve_ex(a, b)[0], L.lu_solve(*L.lu_factor(a), b)):
        np.testing.assert_allclose((a @ x).numpy(), b.numpy(), atol=1e-3 if dtype == torch.complex64 else 1e-9)
    LU, pivots = L.lu_factor(a)
    adjoint = L.lu_solve(LU, pivots, b, adjoint=True)
    np.testing.assert_allclose((a.mH @ adjoint).numpy(), b.numpy(), atol=1e-3 if dtype == torch.complex64 else 1e-9)
    right = L.lu_solve(LU, pivots, b.mH, left=False)
    np.testing.assert_allclose((right @ a).numpy(), b.mH.numpy(), atol=1e-3 if dtype == torch.complex64 else 1e-9)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("shape", SQUARE)
def test_of_hermitian_matrices(dtype, shape):
    h, d = hermitian(*shape, dtype=dtype), definite(*shape, dtype=dtype)
    for triangle, stored in (("L", h.tril()), ("U", h.triu())):
        values, vectors = L.eigh(stored, triangle)
        assert values.dtype == (torch.float32 if dtype == torch.complex64 else torch.float64)
        close((vectors * values.to(dtype).unsqueeze(-2)) @ vectors.mH, h)
        orthonormal(vectors)
        close(L.eigvalsh(stored, triangle), values)
        close(values, np.linalg.eigvalsh(h.numpy()))
    factor = L.cholesky(d)
    close(factor @ factor.mH, d)
    close(L.cholesky(d, upper=True), factor.mH)
    close(L.cholesky_ex(d)[0], factor)
    assert torch.equal(factor, factor.tril()) and not L.cholesky_ex(d).info.any()
    close(L.pinv(d, hermitian=True) @ d @ d, d)


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (2, 5, 3), (20, 18), (18, 20)])
@pytest.mark.parametrize("driver", ["gels", "gelsd"])
def test_least_squares(shape, driver):
    a, b = drawn(*shape), drawn(*shape[:-1], 2)
    found = L.lstsq(a, b, driver=driver)
    close(found.solution, np.linalg.pinv(a.numpy()) @ b.numpy())
    if shape[-2] > shape[-1]:
        close(found.residuals, (a @ found.solution - b).abs().square().sum(-2))


def test_reflections():
    import scipy.linalg

    a = drawn(5, 3)
    packed, tau = torch.geqrf(a)
    (expected, factors), _ = scipy.linalg.qr(a.numpy(), mode="raw")
    close(packed, expected)
    close(tau, factors)
    Q = L.householder_product(packed, tau)
    close(Q @ packed[:3].triu(), a)
    close(torch.ormqr(packed, tau, torch.eye(5, dtype=a.dtype))[:, :3], Q)
    close(torch.ormqr(packed, tau, a, transpose=True)[:3], packed[:3].triu())


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_gradients_of_determinants_at_any_scale(scale):
    a = torch.tensor([[3.0, 2, 1], [2, 4, 2], [1, 2, 1]], dtype=torch.float64) * scale
    (found,) = torch.autograd.grad(L.det(a.requires_grad_()), a)
    adjugate = np.array([[0, 0, 0], [0, 2, -4], [0, -4, 8]])
    np.testing.assert_allclose(found.numpy() / scale**2, adjugate, atol=1e-13)


WEIGHTS = torch.tensor(RANDOM.normal(size=(6, 6)))


def of_columns(vectors):
    """What does not depend on the angle of a column: products of each with its adjoint."""
    return torch.einsum("...ik,...jk,k->...ij", vectors, vectors.conj(), WEIGHTS[0, : vectors.shape[-1]].to(vectors.dtype))


def of_pairs(a):
    U, S, Vh = L.svd(a, full_matrices=False)
    return torch.einsum("...ik,...kj,k->...ij", U, Vh, WEIGHTS[1, : S.shape[-1]].to(U.dtype)), S


GRADIENTS = {
    "det": (L.det, (4, 4)),
    "slogdet": (L.slogdet, (2, 3, 3)),
    "logdet": (torch.logdet, (3, 3)),
    "inv": (L.inv, (3, 3)),
    "lu square": (lambda a: L.lu(a)[1:], (4, 4)),
    "lu tall": (lambda a: L.lu(a)[1:], (5, 3)),
    "lu wide": (lambda a: L.lu(a)[1:], (3, 5)),
    "qr": (lambda a: L.qr(a), (4, 4)),
    "qr tall": (lambda a: L.qr(a), (5, 3)),
    "qr wide": (lambda a: L.qr(a), (3, 5)),
    "svdvals": (L.svdvals, (4, 3)),
    "svd": (of_pairs, (3, 3)),
    "svd tall": (of_pairs, (5, 3)),
    "svd wide": (of_pairs, (2, 4)),
    "left vectors": (lambda a: of_columns(L.svd(a, full_matrices=False)[0]), (5, 3)),
    "right vectors": (lambda a: of_columns(L.svd(a, full_matrices=False)[2].mH), (3, 5)),
    "eigvalsh": (lambda a: L.eigvalsh(a + a.mH), (3, 3)),
    "eigh": (lambda a: of_columns(L.eigh(a + a.mH)[1]), (4, 4)),
    "eigh, upper": (lambda a: of_columns(L.eigh(a + a.mH, "U")[1]), (3, 3)),
    "eig": (lambda a: of_columns(L.eig(a)[1].abs().to(a.dtype)), (3, 3)),
    "eigvals": (lambda a: torch.stack([(L.eigvals(a) ** k).sum(-1) for k in (1, 2, 3)]), (3, 3)),
    "cholesky": (lambda a: L.cholesky(a @ a.mH + torch.eye(3, dtype=a.dtype)), (3, 3)),
    "cholesky_ex, upper": (lambda a: L.cholesky_ex(a @ a.mH + torch.eye(3, dtype=a.dtype), upper=True)[0], (2, 3, 3)),
    "pinv": (L.pinv, (4, 3)),
    "pinv, hermitian": (lambda a: L.pinv(a + a.mH, hermitian=True), (3, 3)),
    "matrix_exp": (L.matrix_exp, (3, 3)),
    "nuclear norm": (lambda a: L.matrix_norm(a, "nuc"), (4, 3)),
    "householder_product": (lambda a: L.householder_product(a, WEIGHTS[2, :3].to(a.dtype)), (5, 3)),
    "polar": (L.polar, (4, 3)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    function, shape = GRADIENTS[name]
    assert torch.autograd.gradcheck(function, drawn(*shape).requires_grad_())


@pytest.mark.parametrize(
    "function",
    [
        L.solve,
        lambda a, b: L.solve(a, b.mT, left=False),
        lambda a, b: L.solve_triangular(a, b, upper=True),
        lambda a, b: L.solve_triangular(a, b, upper=False, unitriangular=True),
        lambda a, b: L.lstsq(a, b).solution,
        lambda a, b: L.lu_solve(*L.lu_factor(a), b),
        lambda a, b: L.lu_solve(*L.lu_factor(a), b, adjoint=True),
        lambda a, b: torch.cholesky_solve(b, L.cholesky(a @ a.mH + torch.eye(3, dtype=a.dtype))),
        lambda a, b: L.householder_product(a[:, :2], b[0]),
    ],
)
def test_gradients_of_systems(function):
    assert torch.autograd.gradcheck(function, [drawn(3, 3).requires_grad_(), drawn(3, 2).requires_grad_()])


def test_second_derivatives():
    for function in (L.det, L.inv, lambda a: L.eigvalsh(a + a.mH), lambda a: L.cholesky(a @ a.mH + torch.eye(2, dtype=a.dtype))):
        assert torch.autograd.gradgradcheck(function, drawn(2, 2).requires_grad_())


def test_what_is_not_finite_is_refused_or_nan():
    a = torch.full((3, 3), complex("nan"), dtype=torch.complex64)
    for function in (L.svd, L.eig, L.eigh, L.svdvals):
        with pytest.raises(RuntimeError):
            function(a)
    assert L.qr(a)[0].isnan().all() and L.lu_factor(a)[0].isnan().all()
    with pytest.raises(RuntimeError):
        L.cholesky(-torch.eye(2, dtype=torch.complex128))
    with pytest.raises(RuntimeError):
        L.solve(torch.zeros(2, 2, dtype=torch.complex128), torch.ones(2, 1, dtype=torch.complex128))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_draws(dtype):
    torch.manual_seed(1)
    z = torch.randn(20000, dtype=dtype)
    assert abs(z.real.var().item() - 0.5) < 0.02 and abs(z.imag.var().item() - 0.5) < 0.02 and abs((z.real * z.imag).mean().item()) < 0.02
    u = torch.rand(1000, dtype=dtype)
    assert u.dtype == dtype and 0 <= u.imag.min().item() < u.imag.max().item() < 1 and not torch.equal(u.real, u.imag)
    assert torch.randn_like(z).shape == z.shape and torch.rand_like(u).dtype == dtype
    for drawn_again in (z.normal_(3.0, 2.0), torch.normal(3.0, 2.0, (20000,), dtype=dtype)):
        assert abs(drawn_again.mean().item() - 3) < 0.1 and abs(drawn_again.imag.var().item() - 2) < 0.1


def test_sums_of_exponentials():
    a, b = drawn(7), drawn(7)
    close(torch.logaddexp(a, b).exp(), a.exp() + b.exp())
    assert torch.autograd.gradcheck(torch.logaddexp, [a.requires_grad_(), b.requires_grad_()])


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_gradients_of_determinants_of_singular_matrices(dtype, rank):
    left, right = (drawn(4, rank).to(dtype) if dtype.is_complex else drawn(4, rank).real for _ in range(2))
    matrices = torch.stack([left @ right.mT, torch.diag(torch.tensor([2.0, 3.0, 0.0, 5.0]).to(dtype)), torch.eye(4, dtype=dtype).flip(0)])
    # A product of factors is singular up to rounding, elimination of a matrix with zeros exactly.
    assert torch.autograd.gradcheck(L.det, matrices.requires_grad_(), atol=1e-6)


def test_diagonals_of_hermitian_matrices_count_as_real():
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 40):
        a = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
        lower = np.tril(a, -1)
        hermitian = lower + lower.conj().T + np.diag(a.diagonal().real)
        x, values = torch.tensor(a), np.linalg.eigvalsh(hermitian)
        assert np.allclose(L.eigvalsh(x), values)
        assert np.allclose(L.eigh(x).eigenvalues, values)
        assert np.allclose(L.eigvalsh(x.mH, UPLO="U"), values)
        assert np.allclose(L.pinv(x, hermitian=True), np.linalg.inv(hermitian))
        positive = a @ a.conj().T + np.eye(n)
        assert np.allclose(L.cholesky(torch.tensor(positive + 3j * np.eye(n))), np.linalg.cholesky(positive))


def test_least_squares_of_one_matrix_tell_its_rank_once():
    rng = np.random.default_rng(1)
    a, b = torch.tensor(rng.standard_normal((5, 3))), torch.tensor(rng.standard_normal((2, 4, 5, 2)))
    found = L.lstsq(a, b, driver="gelsd")
    assert found.solution.shape == (2, 4, 3, 2) and found.rank.shape == () and found.singular_values.shape == (3,)
    assert np.allclose(found.singular_values, np.linalg.svd(a.numpy(), compute_uv=False))
    found = L.lstsq(a.expand(4, 5, 3)[:, None], b[:1].transpose(0, 1).expand(4, 6, 5, 2), driver="gelss")
    assert found.rank.shape == (4, 1) and found.singular_values.shape == (4, 1, 3) and found.rank.eq(3).all()
    assert np.allclose(found.solution, L.lstsq(a, b[0][:, None].expand(4, 6, 5, 2)).solution)


@pytest.mark.parametrize("dtype", [np.complex128, np.float64, np.complex64, np.float32])
def test_factors_of_larger_matrices_multiply_back(dtype):
    rng = np.random.default_rng(5)
    eps = np.finfo(dtype).eps

    def draw(*shape):
        imaginary = 1j * rng.standard_normal(shape) if np.issubdtype(dtype, np.complexfloating) else 0
        return torch.tensor((rng.standard_normal(shape) + imaginary).astype(dtype))

    def near(x, y):
        return abs(x - y).max().item() < 2000 * eps * abs(y).max().item()

    for m, n in [(130, 130), (150, 90), (70, 160)]:
        a = draw(m, n)
        q, r = L.qr(a)
        assert near(q @ r, a) and near(q.mH @ q, torch.eye(min(m, n), dtype=a.dtype)) and near(r, r.triu())
        p, lower, upper = L.lu(a)
        assert near(p @ lower @ upper, a) and near(lower, lower.tril()) and near(upper, upper.triu())
        b = draw(m, 7)
        x = L.lstsq(a, b, driver="gels").solution
        assert near(a.mH @ (a @ x), a.mH @ b)
        if m == n:
            positive = a @ a.mH + n * torch.eye(n, dtype=a.dtype)
            factor = L.cholesky(positive)
            assert near(factor @ factor.mH, positive) and near(factor, factor.tril())
            assert near(a @ L.solve(a, b), b)
            for upper in (False, True):
                triangle = (a.triu() if upper else a.tril()) + 2 * n * torch.eye(n, dtype=a.dtype)
                assert near(triangle @ L.solve_triangular(triangle, b, upper=upper), b)
            broken = positive.clone()
            broken[100, 100] = -1.0
            assert L.cholesky_ex(broken).info == 101
