"""Decompositions of complex matrices, by those of real ones.

Where a real matrix of twice the size stands for the complex one, that is decomposed. Elsewhere Householder's reflections make a triangular matrix,
or a real one of two or three diagonals (Golub and Van Loan, "Matrix Computations", 5.2, 5.4 and 8.3), a column of all matrices of a stack at a time.
"""

from __future__ import annotations

from opforge import _core
from opforge._core import complex as _join
from opforge._core import linalg as _linalg


def embedded(a):
    """The real matrix of twice the size that acts on real and imaginary parts, one below the other."""
    return _core.concat([_core.concat([a.real, -a.imag], -1), _core.concat([a.imag, a.real], -1)], -2)


def solve(a, b):
    _check_square("solve", a)
    parts = _linalg.solve(embedded(a), _core.concat([b.real, b.imag], -2))
    n = b.shape[-2]
    return _join(parts[..., :n, :], parts[..., n:, :])


def inv(a):
    _check_square("inv", a)
    return solve(a, _identity(a, a.shape[-1]))


def svdvals(a):
    _check_matrices("svdvals", a)
    return _linalg.svdvals(embedded(a))[..., ::2]


def eigvalsh(a):
    return _linalg.eigvalsh(embedded(_hermitian("eigvalsh", a)))[..., ::2]


def cholesky(a):
    """The lower factor: that of the real matrix in which each number is a matrix of two rows has the same form, since its diagonal is positive."""
    a = _hermitian("cholesky", a)
    *stack, n, _ = a.shape
    first, second = _core.stack([a.real, a.imag], -2), _core.stack([-a.imag, a.real], -2)
    pairs = _linalg.cholesky(_core.stack([first, second], -1).reshape(*stack, 2 * n, 2 * n)).reshape(*stack, n, 2, n, 2)
    return _join(pairs[..., 0, :, 0], pairs[..., 1, :, 0])


def eig(a):
    """With `i c` added to each eigenvalue, `c` above all of their sizes, those of the real matrix that stands for `a` are these and their conjugates:
    the upper half of the plane has the former."""
    _check_square("eig", a)
    n = a.shape[-1]
    size = _linalg.vector_norm(a.abs(), 2.0, (-2, -1), True)
    shift = _core.where(size == 0, _core.ones_like(size), 2 * size)
    values, vectors = _linalg.eig(embedded(a + _join(_core.zeros_like(shift), shift) * _identity(a, n)))
    upper = _core.argsort(values.imag, -1, True)[..., :n]
    values = _core.gather(values, -1, upper) - _join(_core.zeros_like(shift), shift).squeeze(-1)
    vectors = vectors[..., :n, :] + 1j * vectors[..., n:, :]
    vectors = _core.gather(vectors, -1, upper.unsqueeze(-2).expand(*a.shape[:-1], n))
    return values, vectors / _linalg.vector_norm(vectors.abs(), 2.0, -2, True)


def qr(a):
    """`Q`, square, and `R`, of which the diagonal is real; and the determinant of `Q`."""
    _check_matrices("qr", a)
    q, sign = _identity(a, a.shape[-2]), _core.ones(a.shape[:-2], dtype=a.dtype)
    for k in range(min(a.shape[-2:])):
        v, tau = _reflection(a[..., k], k)
        a, q = _from_left(a, v, tau), _from_right(q, v, tau)
        sign = sign * (1 - tau * _core.sum(v.abs() ** 2, -1, True)).squeeze(-1)
    return q, _core.triu(a), sign


def slogdet(a):
    _check_square("slogdet", a)
    _, r, sign = qr(a)
    diagonal = _linalg.diagonal(r).real
    return sign * _core.prod(_core.sign(diagonal), -1), _core.sum(_core.log(_core.abs(diagonal)), -1)


def eigh(a):
    """By a real matrix of three diagonals."""
    a = _hermitian("eigh", a)
    q = _identity(a, a.shape[-1])
    for k in range(a.shape[-1] - 1):
        v, tau = _reflection(a[..., k], k + 1)
        a, q = _from_right(_from_left(a, v, tau), v, tau), _from_right(q, v, tau)
    values, vectors = _linalg.eigh(a.real)
    return values, _core.matmul(q, vectors.to(q.dtype))


def svd(a, full_matrices):
    """By a real matrix of two diagonals."""
    _check_matrices("svd", a)
    if a.shape[-2] < a.shape[-1]:
        u, s, vh = svd(a.mH, full_matrices)
        return vh.mH, s, u.mH
    left, right = _identity(a, a.shape[-2]), _identity(a, a.shape[-1])
    for k in range(a.shape[-1]):
        v, tau = _reflection(a[..., k], k)
        a, left = _from_left(a, v, tau), _from_right(left, v, tau)
        if k + 1 < a.shape[-1]:
            v, tau = _reflection(a[..., k, :].conj(), k + 1)
            a, right = _from_right(a, v, tau), _from_right(right, v, tau)
    u, s, vh = _linalg.svd(a.real, full_matrices)
    return _core.matmul(left, u.to(a.dtype)), s, _core.matmul(vh.to(a.dtype), right.mH)


def _check_matrices(op, a):
    if a.ndim < 2:
        raise ValueError(f"{op}: x of shape {tuple(a.shape)}, expected matrices")


def _check_square(op, a):
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{op}: x of shape {tuple(a.shape)}, expected square matrices")


def _identity(a, n):
    return _core.eye(n, dtype=a.dtype).expand(*a.shape[:-2], n, n)


def _hermitian(op, a):
    """What the lower triangle says the matrix is."""
    _check_square(op, a)
    below = _core.tril(a, -1)
    return below + below.mH + _core.diag_embed(_linalg.diagonal(a).real).to(a.dtype)


def _reflection(x, k):
    """`v` and `tau` of a unitary `H = I - tau v v^H`, for which `H^H x` is real at place `k`, 0 behind it, and `x` before."""
    before, x = x[..., :k], x[..., k:]
    first = x[..., :1]
    size = _linalg.vector_norm(x.abs(), 2.0, -1, True)
    target = _core.where(first.real > 0, -size, size)
    is_zero = size == 0
    safe = _core.where(is_zero, _core.ones_like(size), target)
    tau = _core.where(is_zero, _core.zeros_like(first), (target - first) / safe)
    v = x[..., 1:] / _core.where(is_zero, _core.ones_like(first), first - target)
    return _core.concat([_core.zeros_like(before), _core.ones_like(first), v], -1), tau


def _from_left(a, v, tau):
    """`H^H a`."""
    return a - tau.conj().unsqueeze(-1) * v.unsqueeze(-1) * _core.matmul(v.conj().unsqueeze(-2), a)


def _from_right(a, v, tau):
    """`a H`."""
    return a - tau.unsqueeze(-1) * _core.matmul(a, v.unsqueeze(-1)) * v.conj().unsqueeze(-2)
