"""Products and the extension `linalg` of the array API standard: values as numpy has them, shapes, dtypes, broadcasting and what is refused."""

import itertools

import numpy as np
import pytest

import opforge
from opforge import array_api as xp
from opforge.autograd import gradcheck

from standard import COMPLEX, FLOATS, INTS, NUMERIC, REAL, TOLERANCE, UNSIGNED, assert_same, draw, name_of, numpy_of, ours, promoted

STACKS = [(), (2,), (2, 3), (0,)]


def tolerance_of(dtype):
    return 30 * TOLERANCE[dtype] if dtype in FLOATS else None


def matrices(rng, dtype, stack, rows, columns):
    return draw(rng, dtype, (*stack, rows, columns), -3, 3)


def invertible(rng, dtype, stack, n=4):
    return matrices(rng, dtype, stack, n, n) + (8 * np.eye(n)).astype(dtype)


def definite(rng, dtype, stack, n=4):
    x = matrices(rng, dtype, stack, n, n)
    return (x @ x.conj().mT + n * np.eye(n)).astype(dtype)


def real(dtype):
    """The dtype of the parts."""
    return REAL[COMPLEX.index(dtype)] if dtype in COMPLEX else dtype


def adjoint(x):
    return xp.conj(x).mT


@pytest.mark.parametrize("dtype", NUMERIC)
def test_matrix_products(dtype):
    rng = np.random.default_rng(1)
    shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 1, 2, 3), (6, 3, 4)), ((3,), (5, 3, 4))]
    for a, b in [*shapes, ((2, 0), (0, 3)), ((0, 2), (2, 3))]:
        x, y = draw(rng, dtype, a, -9, 9), draw(rng, dtype, b, -9, 9)
        assert_same(xp.matmul(ours(x), ours(y)), np.matmul(x, y), tolerance_of(dtype), (a, b))
        assert_same(ours(x) @ ours(y), np.matmul(x, y), tolerance_of(dtype), (a, b))
    for a, b in [((), (3,)), ((3,), ()), ((3,), (4,)), ((3,), (4, 2)), ((2, 3), (2, 3)), ((2, 2, 3), (3, 3, 2))]:
        with pytest.raises((ValueError, RuntimeError)):
            xp.matmul(ours(np.ones(a, dtype)), ours(np.ones(b, dtype)))


@pytest.mark.parametrize("dtype", NUMERIC)
def test_contractions(dtype):
    rng = np.random.default_rng(2)
    x, y = draw(rng, dtype, (2, 3, 4), -5, 5), draw(rng, dtype, (3, 4, 2), -5, 5)
    for axes in [0, 2, ((1, 2), (0, 1)), ((-1,), (1,)), ((0, -2), (-1, 0)), ((), ())]:
        assert_same(xp.tensordot(ours(x), ours(y), axes=axes), np.tensordot(x, y, axes), tolerance_of(dtype), axes)
    with pytest.raises((ValueError, RuntimeError)):
        xp.tensordot(ours(x), ours(y), axes=1)
    for a, b, axis in [((3,), (3,), -1), ((2, 3), (3,), -1), ((3, 2), (3, 1), -2), ((4, 1, 3), (5, 3), -1), ((0,), (0,), -1)]:
        u, v = draw(rng, dtype, a, -5, 5), draw(rng, dtype, b, -5, 5)
        assert_same(xp.vecdot(ours(u), ours(v), axis=axis), np.vecdot(u, v, axis=axis), tolerance_of(dtype))
    for a, b in [((3,), (4,)), ((2, 3), (1,)), ((), (3,))]:
        with pytest.raises((ValueError, IndexError)):
            xp.vecdot(ours(np.ones(a, dtype)), ours(np.ones(b, dtype)))
    assert_same(xp.linalg.outer(ours(x[0, 0]), ours(y[:, 0, 0])), np.linalg.outer(x[0, 0], y[:, 0, 0]), tolerance_of(dtype))


def test_contracted_axes_do_not_broadcast():
    for a, b, axes in [((2, 1), (3, 2), 1), ((2, 3), (1, 2), 1), ((1, 2), (2, 3), ((0,), (1,))), ((2, 3), (2, 1), ((0, 1), (0, 1)))]:
        with pytest.raises(ValueError, match="tensordot"):
            xp.tensordot(xp.ones(a), xp.ones(b), axes=axes)
    for axes in (3, -1, ((0, 0), (0, 0)), ((0,), (0,), (0,))):
        with pytest.raises(ValueError, match="tensordot"):
            xp.tensordot(xp.ones((2, 2)), xp.ones((2, 2)), axes=axes)
    for a, b, axis in [((2, 3), (2, 1), -1), ((1, 3), (2, 3), -2)]:
        with pytest.raises(ValueError, match="vecdot"):
            xp.vecdot(xp.ones(a), xp.ones(b), axis=axis)
    for a, b, axis in [((2, 3), (3,), 0), ((3, 3), (3, 3), 2), ((2, 3), (3,), -2), ((), (), -1)]:
        with pytest.raises(IndexError, match="vecdot: axis"):
            xp.vecdot(xp.ones(a), xp.ones(b), axis=axis)


@pytest.mark.parametrize(("a", "b"), [pair for pair in itertools.product(NUMERIC, NUMERIC) if promoted(*pair)])
def test_products_promote(a, b):
    x, y = np.asarray([[1, 2], [3, 4]], a), np.asarray([[5, 6], [7, 8]], b)
    for name in ("matmul", "tensordot", "vecdot"):
        assert name_of(getattr(xp, name)(ours(x), ours(y)).dtype) == promoted(a, b)
    assert_same(xp.matmul(ours(x), ours(y)), x @ y)


@pytest.mark.parametrize("dtype", NUMERIC)
def test_diagonals_and_traces(dtype):
    rng = np.random.default_rng(3)
    for stack, offset in itertools.product(STACKS, (-5, -2, 0, 1, 9)):
        x = draw(rng, dtype, (*stack, 3, 4), 0, 50)
        assert_same(xp.linalg.diagonal(ours(x), offset=offset), np.linalg.diagonal(x, offset=offset))
        wide = "uint64" if dtype in UNSIGNED else "int64" if dtype in INTS else dtype
        assert_same(xp.linalg.trace(ours(x), offset=offset), np.linalg.trace(x, offset=offset, dtype=wide), tolerance_of(dtype))
    assert_same(xp.linalg.trace(ours(x), dtype=xp.complex128), np.linalg.trace(x, dtype="complex128"), 1e-12)


@pytest.mark.parametrize("dtype", NUMERIC)
def test_cross(dtype):
    rng = np.random.default_rng(4)
    # An axis from the front is that of each, and of the result.
    others = [((3, 2), (3,), 0), ((3,), (3, 2), 0), ((2, 3), (4, 3, 2), 1), ((3, 2), (3, 2), 0), ((3, 2), (4, 3, 2), -2)]
    for a, b, axis in [((3,), (3,), -1), ((2, 3), (3,), -1), ((3, 2), (3, 1), -2), ((4, 1, 3), (5, 3), -1), *others]:
        x, y = draw(rng, dtype, a, 0, 9), draw(rng, dtype, b, 0, 9)
        assert_same(xp.linalg.cross(ours(x), ours(y), axis=axis), np.linalg.cross(x, y, axis=axis), tolerance_of(dtype))
    for a, b in [((2,), (2,)), ((3,), (1,)), ((4, 1), (4, 3))]:
        with pytest.raises(ValueError, match="cross"):
            xp.linalg.cross(ours(np.ones(a, dtype)), ours(np.ones(b, dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("stack", STACKS)
def test_decompositions(dtype, stack):
    rng = np.random.default_rng(5)
    near = tolerance_of(dtype)
    x = definite(rng, dtype, stack)
    for upper in (False, True):
        assert_same(xp.linalg.cholesky(ours(x), upper=upper), np.linalg.cholesky(x, upper=upper), near)
    values, vectors = found = xp.linalg.eigh(ours(x))
    assert found._fields == ("eigenvalues", "eigenvectors")
    assert name_of(values.dtype) == real(dtype)
    assert_same((vectors * values[..., None, :]) @ adjoint(vectors), x, near)
    assert_same(xp.linalg.eigvalsh(ours(x)), numpy_of(values), near)
    values, vectors = found = xp.linalg.eig(ours(invertible(rng, dtype, stack)))
    assert found._fields == ("eigenvalues", "eigenvectors") and name_of(values.dtype) == name_of(vectors.dtype) == COMPLEX[REAL.index(real(dtype))]
    for shape in [(3, 5), (5, 3), (4, 4)]:
        x = matrices(rng, dtype, stack, *shape)
        for mode in ("reduced", "complete"):
            q, r = found = xp.linalg.qr(ours(x), mode=mode)
            assert found._fields == ("Q", "R") and q.shape == np.linalg.qr(x, mode).Q.shape
            assert_same(q @ r, x, near)
            assert_same(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=dtype), (*stack, q.shape[-1], q.shape[-1])), near)
        for full in (True, False):
            u, s, vh = found = xp.linalg.svd(ours(x), full_matrices=full)
            wanted = np.linalg.svd(x, full)
            assert found._fields == ("U", "S", "Vh") and (u.shape, vh.shape) == (wanted.U.shape, wanted.Vh.shape)
            assert_same(s, wanted.S, near)
            k = min(shape)
            assert_same((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x, near)
            for unitary in (adjoint(u) @ u, vh @ adjoint(vh)):
                assert_same(unitary, np.broadcast_to(np.eye(unitary.shape[-1], dtype=dtype), unitary.shape), near)
        assert_same(xp.linalg.svdvals(ours(x)), wanted.S, near)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("stack", STACKS)
def test_eigenvalues_of_any_matrix(dtype, stack):
    x = invertible(np.random.default_rng(6), dtype, stack)
    values, vectors = xp.linalg.eig(ours(x))
    left = xp.matmul(xp.astype(ours(x), vectors.dtype), vectors)
    assert_same(left, numpy_of(vectors) * numpy_of(values)[..., None, :], tolerance_of(dtype))
    order = np.lexsort((numpy_of(values).imag, numpy_of(values).real.round(3)))
    alone = numpy_of(xp.linalg.eigvals(ours(x)))
    again = np.lexsort((alone.imag, alone.real.round(3)))
    np.testing.assert_allclose(np.take_along_axis(alone, again, -1), np.take_along_axis(numpy_of(values), order, -1), rtol=tolerance_of(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("stack", STACKS)
def test_inverses(dtype, stack):
    rng = np.random.default_rng(7)
    near, x = tolerance_of(dtype), invertible(rng, dtype, stack)
    assert_same(xp.linalg.inv(ours(x)), np.linalg.inv(x), near)
    assert_same(xp.linalg.det(ours(x)), np.linalg.det(x), near)
    found, wanted = xp.linalg.slogdet(ours(x)), np.linalg.slogdet(x)
    assert found._fields == ("sign", "logabsdet")
    assert_same(found.sign, wanted.sign, near)
    assert_same(found.logabsdet, wanted.logabsdet, near)
    for n in (-2, 0, 1, 3):
        assert_same(xp.linalg.matrix_power(ours(x), n), np.linalg.matrix_power(x, n), 10 * near)
    low = matrices(rng, dtype, stack, 5, 2) @ matrices(rng, dtype, stack, 2, 4)
    for rtol in (None, 0.1, 1e-3, np.full(stack, 0.3, real(dtype))):
        tolerance = ours(rtol) if isinstance(rtol, np.ndarray) else rtol
        assert_same(xp.linalg.matrix_rank(ours(low), rtol=tolerance), np.linalg.matrix_rank(low, rtol=rtol), None, rtol)
        if stack or rtol is None or isinstance(rtol, float):
            wanted = np.linalg.pinv(low, rtol=rtol if rtol is not None else 5 * np.finfo(dtype).eps)
            assert_same(xp.linalg.pinv(ours(low), rtol=tolerance), wanted, 100 * near, rtol)


@pytest.mark.parametrize("dtype", FLOATS)
def test_solve(dtype):
    rng = np.random.default_rng(8)
    shapes = [((), (4,)), ((), (4, 2)), ((3,), (4,)), ((3,), (4, 2)), ((2, 3), (3, 4, 2)), ((), (2, 4, 3)), ((4,), (4, 4)), ((0,), (4, 1))]
    for stack, right in [*shapes, ((), (4, 0))]:
        x, y = invertible(rng, dtype, stack), draw(rng, dtype, right, -3, 3)
        assert_same(xp.linalg.solve(ours(x), ours(y)), np.linalg.solve(x, y), tolerance_of(dtype), (stack, right))
    with pytest.raises((ValueError, RuntimeError)):
        xp.linalg.solve(ours(invertible(rng, dtype, (2,))), xp.ones((3, 4, 2), dtype=getattr(xp, dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_norms_of_matrices(dtype):
    rng = np.random.default_rng(9)
    for stack, keepdims, order in itertools.product(STACKS, (False, True), ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)):
        x = matrices(rng, dtype, stack, 3, 4)
        wanted = np.linalg.matrix_norm(x, ord=order, keepdims=keepdims)
        assert_same(xp.linalg.matrix_norm(ours(x), ord=order, keepdims=keepdims), wanted, tolerance_of(dtype), (stack, order))


@pytest.mark.parametrize("dtype", FLOATS)
def test_norms_of_vectors(dtype):
    rng = np.random.default_rng(10)
    for shape in [(), (5,), (3, 4), (2, 3, 4), (0,)]:
        x = draw(rng, dtype, shape, -3, 3)
        axes = [None, *range(-len(shape), len(shape)), *itertools.permutations(range(len(shape)), 2)]
        for axis, keepdims, order in itertools.product(axes, (False, True), (0, 1, 2, 3, 2.5, -1, -2, np.inf, -np.inf)):
            if 0 in shape and order in (np.inf, -np.inf, -1, -2):
                continue
            wanted = np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=order)
            got = xp.linalg.vector_norm(ours(x), axis=axis, keepdims=keepdims, ord=order)
            assert_same(got, wanted.astype(real(dtype)), tolerance_of(dtype), (shape, axis, order))


@pytest.mark.parametrize("dtype", FLOATS)
def test_norms_of_no_elements(dtype):
    for shape, axis, keepdims in itertools.product([(0,), (0, 3), (3, 0), (2, 0, 3)], (None, 0, -1), (False, True)):
        x = np.zeros(shape, dtype)
        wanted = np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=np.inf)
        assert_same(xp.linalg.vector_norm(ours(x), axis=axis, keepdims=keepdims, ord=xp.inf), np.asarray(wanted, real(dtype)))
        for order in (1, 2, np.inf, "fro", "nuc") if len(shape) > 1 else ():
            wanted = np.linalg.matrix_norm(x, ord=order, keepdims=keepdims)
            assert_same(xp.linalg.matrix_norm(ours(x), ord=order, keepdims=keepdims), wanted, None, (shape, order))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_matrices_that_are_special(dtype):
    """Equal eigenvalues and singular values, of no and of less than full rank, real ones, diagonal ones, of one row."""
    near, n = tolerance_of(dtype), 4
    ones = np.ones((n, n), dtype)
    diagonals = [np.diag(numbers).astype(dtype) for numbers in ([1, 1, 1, 1], [0, 1, 2, 3], [1j, 1, 0, 1j])]
    for x in (*diagonals, 0 * ones, ones, ones * 1j, ones[:1, :1]):
        m = len(x)
        u, s, vh = xp.linalg.svd(ours(x))
        assert_same((u * s[None, :]) @ vh, x, near)
        assert_same(adjoint(u) @ u, np.eye(m, dtype=dtype), near)
        q, r = xp.linalg.qr(ours(x))
        assert_same(q @ r, x, near)
        np.testing.assert_array_equal(np.triu(numpy_of(r)), numpy_of(r))
        np.testing.assert_allclose(np.diag(numpy_of(r)).imag, 0, atol=1e-6)
        assert_same(xp.linalg.matrix_rank(ours(x)), np.linalg.matrix_rank(x))
        assert_same(xp.linalg.det(ours(x)), np.linalg.det(x), near)
        hermitian = x + x.conj().T
        values, vectors = xp.linalg.eigh(ours(hermitian))
        assert_same((vectors * values) @ adjoint(vectors), hermitian, near)
        values, vectors = xp.linalg.eig(ours(x))
        assert_same(ours(x) @ vectors, numpy_of(vectors * values), 100 * near)


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_is_refused(dtype):
    wide, vector, square = (xp.ones(shape, dtype=getattr(xp, dtype)) for shape in ((2, 3), (3,), (2, 2)))
    for name in "cholesky det eig eigh eigvals eigvalsh inv slogdet".split():
        for x in (wide, vector):
            with pytest.raises((ValueError, RuntimeError)):
                getattr(xp.linalg, name)(x)
    for name in "matrix_norm matrix_rank pinv qr svd svdvals diagonal trace".split():
        with pytest.raises((ValueError, IndexError, RuntimeError)):
            getattr(xp.linalg, name)(vector)
    refused = [lambda: xp.linalg.inv(square * 0), lambda: xp.linalg.cholesky(-square), lambda: xp.linalg.solve(wide, wide)]
    for call in [*refused, lambda: xp.linalg.qr(square, mode="raw")]:
        with pytest.raises((ValueError, RuntimeError)):
            call()


def exponential(x):
    """e^-x of a Hermitian matrix, which no choice of eigenvectors changes."""
    values, vectors = xp.linalg.eigh(x)
    return (vectors * xp.exp(-values)) @ adjoint(vectors)


GRADIENTS = {
    **{name: getattr(xp.linalg, name) for name in ("det", "inv", "pinv", "qr", "slogdet", "svdvals")},
    "cholesky": lambda x: xp.linalg.cholesky(x @ adjoint(x)),
    "eigh": lambda x: exponential(x + adjoint(x)),
    "eigvalsh": lambda x: xp.linalg.eigvalsh(x + adjoint(x)),
    "norm": lambda x: xp.linalg.matrix_norm(x, ord=2),
    "solve": lambda x: xp.linalg.solve(x, x + 1),
    "svd": lambda x: xp.linalg.svd(x).S,
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_complex_matrices(name):
    def parts(real, imag):
        found = GRADIENTS[name](opforge.complex(real, imag))
        found = found if isinstance(found, tuple) else (found,)
        return tuple(part for x in found for part in ((x.real, x.imag) if x.dtype.is_complex else (x,)))

    rng = np.random.default_rng(11)
    assert gradcheck(parts, tuple(ours(rng.normal(size=(3, 3))).requires_grad_() for _ in range(2)))
