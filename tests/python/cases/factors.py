"""Factors of matrices, what follows from them, and systems of equations."""

import numpy as np
import scipy.linalg

from . import case, holds, spread


def matrices(rows, columns):
    """Two matrices of well-separated singular values."""
    diagonal = np.eye(rows, columns) * (1 + 2 * np.arange(columns))
    return spread(-0.5, 0.5, 2, rows, columns) + diagonal


A, TALL, WIDE = matrices(3, 3), matrices(4, 3), matrices(3, 4)
S = A @ A.swapaxes(1, 2)
B, V = spread(-1, 1, 2, 3, 2), spread(-1, 1, 2, 3)
DEFICIENT = np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]])
EMPTY = np.zeros((0, 3))
# With eigenvalues that are not real.
TURNS = spread(-1, 1, 2, 5, 5) + 3 * np.roll(np.eye(5), 1, 0)


def t(a):
    return a.swapaxes(-1, -2)


def near(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * max(1, np.abs(b).max(initial=0)))


def factors(a, k):
    """A law of Q and R."""

    def law(q, r):
        assert q.shape[-1] == r.shape[-2] == k
        near(q @ r, a)
        near(t(q) @ q, np.broadcast_to(np.eye(k), (*q.shape[:-2], k, k)))
        near(np.tril(r, -1), np.zeros_like(r))

    return law


def triangle(a):
    def law(q, r):
        assert q.shape == (0,)
        near(t(r) @ r, t(a) @ a)

    return law


def vectors(a, turned=False):
    """A law of U, S and V or its transpose."""

    def law(u, s, v):
        vh = t(v) if turned else v
        near(s, np.linalg.svd(a, compute_uv=False))
        near(u[..., : s.shape[-1]] * s[..., None, :] @ vh[..., : s.shape[-1], :], a)
        near(t(u) @ u, np.broadcast_to(np.eye(u.shape[-1]), (*u.shape[:-2], u.shape[-1], u.shape[-1])))

    return law


def eigen(values, basis):
    near(values, np.linalg.eigvalsh(S))
    near(basis * values[..., None, :] @ t(basis), S)


def eig(a):
    """A law of eigenvalues and eigenvectors of any square matrices."""

    def law(values, basis):
        near(a @ basis, basis * values[..., None, :])
        near(np.linalg.norm(basis, axis=-2), np.ones(values.shape))
        alike(a)(values)

    return law


def alike(a):
    """A law of eigenvalues, in any order."""
    return lambda values: near(np.sort_complex(values.round(12)), np.sort_complex(np.linalg.eigvals(a).round(12)))


def product(a):
    """A law of P, L and U."""

    def law(p, l, u):
        near(p @ l @ u, a)
        near(np.triu(l, 1), np.zeros_like(l))
        near(np.tril(u, -1), np.zeros_like(u))

    return law


def packed(a, pivot=True):
    pairs = [scipy.linalg.lu_factor(x) for x in a]
    return np.stack([lu for lu, _ in pairs]), np.stack([piv + 1 for _, piv in pairs]).astype(np.int32)


def reflections(a):
    pairs = [np.linalg.qr(x, mode="raw") for x in a]
    return np.stack([h.T for h, _ in pairs]), np.stack([tau for _, tau in pairs])


LU, PIVOTS = packed(A)


def each(f):
    return lambda a, *args, **options: np.stack([f(x, *args, **options) for x in a])


def lstsq(a, b, rcond=None, driver=None):
    parts = [np.linalg.lstsq(x, y, rcond=None) for x, y in zip(a, b)]
    full = a.shape[-2] > a.shape[-1] and driver in ("gels", "gelsd", "gelss")
    with_values = driver in ("gelsd", "gelss")
    return (
        np.stack([p[0] for p in parts]),
        np.stack([p[1] for p in parts]) if full else np.zeros(0),
        np.zeros(0, np.int64) if driver == "gels" else np.array([p[2] for p in parts]),
        np.stack([p[3] for p in parts]) if with_values else np.zeros(0),
    )


def rank(a, tol=None, hermitian=False, **_):
    return np.asarray(np.linalg.matrix_rank(a, tol=tol, hermitian=hermitian))


REFLECTORS, TAU = spread(-1, 1, 4, 3), spread(0.5, 1, 3)


def reflected(a, tau):
    q = np.eye(4)
    for i, x in enumerate(tau):
        v = np.concatenate([np.zeros(i), [1.0], a[i + 1 :, i]])
        q = q @ (np.eye(4) - x * np.outer(v, v))
    return q[:, :3]


SYSTEM = matrices(6, 6)[0].reshape(2, 3, 6)

CASES = [
    *(holds("qr", factors(a, min(a.shape[1:])), a) for a in (A, TALL, WIDE)),
    holds("qr", factors(TALL, 4), TALL, "complete"),
    holds("qr", triangle(TALL), TALL, "r"),
    holds("qr", factors(EMPTY, 0), EMPTY),
    holds("qr_some", factors(TALL, 4), TALL, False),
    *(holds("svd", vectors(a), a) for a in (A, TALL, WIDE, DEFICIENT)),
    *(holds("svd", vectors(a), a, full_matrices=False) for a in (TALL, WIDE, EMPTY)),
    *(holds("svd_v", vectors(a, turned=True), a) for a in (TALL, WIDE)),
    holds("svd_by", vectors(A), A, driver=None),
    case("svdvals_by", lambda a, driver: np.linalg.svd(a, compute_uv=False), A, driver=None, half=False),
    *(case("svdvals", lambda a: np.linalg.svd(a, compute_uv=False), a, half=False) for a in (A, TALL, WIDE)),
    holds("eigh", eigen, S),
    holds("eigh", eigen, np.triu(S), "U"),
    case("eigvalsh", lambda a: np.linalg.eigvalsh(a), S, smooth=False, half=False),
    case("eigvalsh", lambda a, u: np.linalg.eigvalsh(a, u), np.triu(S), "U", smooth=False, half=False),
    *(holds("eig", eig(a), a) for a in (A, TURNS, EMPTY[:, :0])),
    *(holds("eigvals", alike(a), a) for a in (A, TURNS)),
    *(case("polar_factors", lambda a: tuple(map(np.stack, zip(*map(scipy.linalg.polar, a)))), a, half=False) for a in (A, TALL)),
    case("matrix_sqrth", each(scipy.linalg.sqrtm), S, smooth=False, half=False),
    *(case("pinv", lambda a: np.linalg.pinv(a), a, half=False) for a in (A, TALL, WIDE)),
    case("pinv", lambda a, **_: np.linalg.pinv(a, hermitian=True), S, hermitian=True, smooth=False, half=False),
    case("pinv", lambda a, **_: np.linalg.pinv(a), DEFICIENT, rtol=1e-10, smooth=False, half=False),
    case("pinv_above", lambda a, r: np.linalg.pinv(a, r), DEFICIENT, 1e-10, smooth=False, half=False),
    case("pinverse", lambda a: np.linalg.pinv(a), TALL, half=False),
    *(case("lstsq", lstsq, a, spread(-1, 1, 2, a.shape[1], 2), half=False) for a in (A, TALL, WIDE)),
    *(case("lstsq", lstsq, TALL, spread(-1, 1, 2, 4, 2), driver=d, smooth=d == "gels", half=False) for d in ("gels", "gelsd")),
    case("lstsq", lambda a, b: (np.linalg.solve(a, b), np.zeros(0), np.array(3), np.zeros(0)), A[0], V[0], half=False),
    case("matrix_rank", rank, A, half=False),
    case("matrix_rank", rank, DEFICIENT, half=False),
    case("matrix_rank", rank, DEFICIENT @ DEFICIENT.T, hermitian=True, half=False),
    case("matrix_rank", lambda a, atol: rank(a, atol), A, atol=2.5, half=False),
    case("matrix_rank_above", rank, A, 2.5, half=False),
    *(case("cond", np.linalg.cond, A, p, half=False) for p in (None, 2.0, -2.0, 1.0, -1.0, np.inf)),
    case("cond", np.linalg.cond, TALL, half=False),
    case("cond", lambda a, p: np.array(np.inf), np.zeros((2, 2)), 1.0, smooth=False, half=False),
    *(case("cond_named", np.linalg.cond, A, p, half=False) for p in ("fro", "nuc")),
    *(holds("lu", product(a), a) for a in (A, TALL, WIDE)),
    *(case("geqrf", reflections, a, smooth=False, half=False) for a in (A, TALL, WIDE)),
    case("lu_factor", packed, A, half=False),
    case("lu_factor_ex", lambda a: (*packed(a), np.zeros(2, np.int32)), A, half=False),
    case("lu_permutation", lambda p, rows: np.array([1, 2, 0]), np.array([2, 3, 3], np.int32), 3),
    holds("lu_unpack", product(A), LU, PIVOTS),
    case("lu_solve", lambda lu, p, b: np.linalg.solve(A, b), LU, PIVOTS, B, smooth=False, half=False),
    case("lu_solve", lambda lu, p, b, adjoint: np.linalg.solve(t(A), b), LU, PIVOTS, B, adjoint=True, smooth=False, half=False),
    case("lu_solve", lambda lu, p, b, left: b @ np.linalg.inv(A), LU, PIVOTS, t(B).copy(), left=False, smooth=False, half=False),
    case("lu_solve_data", lambda b, lu, p: np.linalg.solve(A, b), B, LU, PIVOTS, smooth=False, half=False),
    case("inv_ex", lambda a: (np.linalg.inv(a), np.zeros(2, np.int32)), A, half=False),
    case("solve_ex", lambda a, b: (np.linalg.solve(a, b), np.zeros(2, np.int32)), A, B, half=False),
    case("solve_ex", lambda a, b: (np.linalg.solve(a, b[..., None])[..., 0], np.zeros(2, np.int32)), A, V, half=False),
    case("cholesky_ex", lambda a: (np.linalg.cholesky(a), np.zeros(2, np.int32)), S, smooth=False, half=False),
    case("cholesky_solve", lambda b, l: np.linalg.solve(np.tril(l) @ t(np.tril(l)), b), B, A, half=False),
    case("cholesky_solve", lambda b, l, upper: np.linalg.solve(t(np.triu(l)) @ np.triu(l), b), B, A, upper=True, half=False),
    case("cholesky_inverse", lambda l: np.linalg.inv(np.tril(l) @ t(np.tril(l))), A, half=False),
    case("solve_triangular", lambda a, b, upper: np.linalg.solve(np.triu(a), b), A, B, upper=True, half=False),
    case("solve_triangular", lambda a, b, upper, left: b @ np.linalg.inv(np.tril(a)), A, t(B).copy(), upper=False, left=False, half=False),
    case(
        "solve_triangular",
        lambda a, b, upper, unitriangular: np.linalg.solve(np.tril(a, -1) + np.eye(3), b),
        A,
        B,
        upper=False,
        unitriangular=True,
        half=False,
    ),
    case("matrix_exp", each(scipy.linalg.expm), A, half=False),
    case("matrix_exp", each(scipy.linalg.expm), 4 * A, twice=False, smooth=False, half=False, tolerance=10),
    *(case("matrix_norm", lambda a, p, **_: np.linalg.norm(a, p, (-2, -1)), a, "nuc", half=False) for a in (A, TALL)),
    *(case("matrix_norm_of", lambda a, p, **_: np.linalg.norm(a, p, (-2, -1)), A, p, half=False) for p in (2.0, -2.0)),
    case("matrix_norm_of", lambda a, p, d, k: np.linalg.norm(a, p, d, k), TALL, 2.0, (2, 0), True, half=False),
    case("linalg_vander", lambda x: np.vander(x, increasing=True), V[0]),
    case("linalg_vander", lambda x, N: np.stack([np.vander(r, N, True) for r in x]), V, N=4),
    *(case(name, reflected, REFLECTORS, TAU, half=False) for name in ("householder_product", "orgqr")),
    case("tensorsolve", lambda a, b: np.linalg.tensorsolve(a, b), SYSTEM, V, half=False),
    case("tensorsolve", np.linalg.tensorsolve, SYSTEM.transpose(2, 0, 1).copy(), V, (0,), half=False),
    case("tensorinv", lambda a: np.linalg.tensorinv(a), SYSTEM, half=False),
    case("tensorinv", lambda a, ind: np.linalg.tensorinv(a, ind), SYSTEM.reshape(6, 3, 2), 1, half=False),
    case("linalg_diagonal", lambda a: a.diagonal(axis1=-2, axis2=-1), A),
]
