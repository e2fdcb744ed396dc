"""Functions of many elements, of the array API standard: sums and their dtypes, axes of every form, empty arrays, NaN, scans, differences."""

import itertools
import math
import warnings

import numpy as np
import pytest

from opforge import array_api as xp

from standard import ALL, COMPLEX, FLOATS, INTS, NUMERIC, REAL, TOLERANCE, UNSIGNED, assert_same, draw, numpy_of, ours

SHAPES = [(), (1,), (5,), (3, 4), (2, 0, 3), (2, 3, 4)]


def axes_of(ndim):
    """None, each axis from both ends, and tuples of axes, the empty one too."""
    single = list(range(-ndim, ndim))
    return [None, (), *single, *itertools.permutations(range(ndim), 2), *([tuple(range(-ndim, 0))] if ndim else [])]


def cases():
    for shape in SHAPES:
        yield from ((shape, axis, keepdims) for axis in axes_of(len(shape)) for keepdims in (False, True))


def default(dtype):
    """What sums are in."""
    return "uint64" if dtype in UNSIGNED else "int64" if dtype in [*INTS, "bool"] else dtype


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_sums_and_products(name, dtype):
    rng = np.random.default_rng(1)
    for shape, axis, keepdims in cases():
        x = draw(rng, dtype, shape, -2, 3)
        with np.errstate(over="ignore"):
            wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims, dtype=default(dtype))
        tolerance = 100 * TOLERANCE[dtype] if dtype in FLOATS else None
        assert_same(getattr(xp, name)(ours(x), axis=axis, keepdims=keepdims), wanted, tolerance, (shape, axis, keepdims))
    for other in FLOATS if dtype in COMPLEX else NUMERIC:
        if other in COMPLEX or dtype not in COMPLEX:
            x = draw(rng, dtype, (3, 2), 0, 3)
            wanted = getattr(np, name)(x.astype(other), axis=0, dtype=other)
            assert_same(getattr(xp, name)(ours(x), axis=0, dtype=getattr(xp, other)), wanted, 1e-5 if other in FLOATS else None)


def test_integers_are_widened_before_they_are_added():
    assert xp.sum(xp.asarray([200, 100], dtype=xp.uint8)) == 300 and xp.prod(xp.asarray([200, 100], dtype=xp.uint8)) == 20000
    assert xp.sum(xp.asarray([2**63, 2**63 - 1], dtype=xp.uint64)).item() == 2**64 - 1
    assert xp.sum(xp.asarray([200, 100], dtype=xp.uint8), dtype=xp.uint8) == 44


@pytest.mark.parametrize("dtype", INTS + REAL)
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes(name, dtype):
    rng = np.random.default_rng(2)
    for shape, axis, keepdims in cases():
        if 0 in shape:
            continue  # left open
        x = draw(rng, dtype, shape)
        assert_same(getattr(xp, name)(ours(x), axis=axis, keepdims=keepdims), getattr(np, name)(x, axis=axis, keepdims=keepdims))
    if dtype in REAL:
        x = draw(rng, dtype, (3, 40))
        x[1, 7] = np.nan
        assert_same(getattr(xp, name)(ours(x), axis=1), getattr(np, name)(x, axis=1))


@pytest.mark.parametrize("dtype", FLOATS)
def test_means(dtype):
    rng = np.random.default_rng(3)
    for shape, axis, keepdims in cases():
        x = draw(rng, dtype, shape, 1, 3)
        with warnings.catch_warnings(action="ignore"):
            wanted = np.mean(x, axis=axis, keepdims=keepdims)
        assert_same(xp.mean(ours(x), axis=axis, keepdims=keepdims), wanted, 10 * TOLERANCE[dtype], (shape, axis))
    empty = numpy_of(xp.mean(xp.zeros((0, 2), dtype=getattr(xp, dtype)), axis=0))
    assert np.isnan(empty.real).all() and np.isnan(empty.imag).all() == (dtype in COMPLEX)
    assert np.isnan(numpy_of(xp.mean(ours(np.asarray([1, np.nan], dtype)))))


@pytest.mark.parametrize("dtype", INTS)
def test_means_of_integers_are_of_the_default_float(dtype):
    x = np.asarray([[1, 2], [4, 100]], dtype)
    assert_same(xp.mean(ours(x), axis=0), np.mean(x, axis=0).astype("float32"), 1e-6)
    assert_same(xp.var(ours(x), axis=0), np.var(x, axis=0).astype("float32"), 1e-6)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ["std", "var"])
def test_variances(name, dtype):
    rng = np.random.default_rng(4)
    for (shape, axis, keepdims), correction in itertools.product(cases(), (0, 1, 0.5, 3)):
        x = draw(rng, dtype, shape, 1, 3)
        axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        count = math.prod(shape[one] for one in axes)
        got = getattr(xp, name)(ours(x), axis=axis, keepdims=keepdims, correction=correction)
        if count <= correction:
            wanted = np.full(np.sum(x, axis=axis, keepdims=keepdims).shape, np.nan, dtype)
        else:
            wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims, ddof=correction)
        assert_same(got, wanted, 100 * TOLERANCE[dtype], (shape, axis, correction))
    assert np.isnan(numpy_of(getattr(xp, name)(ours(np.asarray([1, np.nan], dtype)))))


@pytest.mark.parametrize("dtype", ALL)
def test_conditions(dtype):
    rng = np.random.default_rng(5)
    for shape, axis, keepdims in cases():
        x = draw(rng, dtype, shape, 0, 2).round() if dtype != "bool" else draw(rng, dtype, shape)
        for name in ("all", "any"):
            wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
            assert_same(getattr(xp, name)(ours(x), axis=axis, keepdims=keepdims), wanted, None, (name, shape, axis))
        wanted = np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims)) if axis != () else (x != 0).astype("int64")
        assert_same(xp.count_nonzero(ours(x), axis=axis, keepdims=keepdims), wanted)
    if dtype in FLOATS:
        assert xp.all(ours(np.asarray([np.nan, np.inf, -np.inf], dtype)))
    if dtype in COMPLEX:
        assert xp.any(ours(np.asarray([0, 1j], dtype))) and xp.all(ours(np.asarray([1, 1j], dtype)))


@pytest.mark.parametrize("dtype", ALL)
def test_conditions_along_no_axes_have_memory_of_their_own(dtype):
    for name in ("all", "any"):
        x = xp.ones(2, dtype=getattr(xp, dtype))
        getattr(xp, name)(x, axis=())[0] = False
        assert xp.all(x), name


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod", "linalg.trace"])
def test_complex_numbers_do_not_add_up_to_real_ones(name, dtype):
    function = xp.linalg.trace if name == "linalg.trace" else getattr(xp, name)
    x = ours(np.ones((2, 2) if name == "linalg.trace" else 2, dtype))
    for real in (*REAL, *INTS):
        with pytest.raises(TypeError, match=f"{name.removeprefix('linalg.')}: dtype opforge.{real} for x of opforge.{dtype}"):
            function(x, dtype=getattr(xp, real))
    assert str(numpy_of(function(x, dtype=xp.complex128)).dtype) == "complex128"


@pytest.mark.parametrize("dtype", INTS + REAL)
def test_places_of_extremes(dtype):
    rng = np.random.default_rng(6)
    for shape in [(), (5,), (3, 4), (2, 3, 40)]:
        for axis, keepdims, name in itertools.product([None, *range(-len(shape), len(shape))], (False, True), ("argmax", "argmin")):
            x = draw(rng, dtype, shape, 0, 5)
            wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
            assert_same(getattr(xp, name)(ours(x), axis=axis, keepdims=keepdims), wanted, None, (name, shape, axis, keepdims))
    assert xp.argmax(ours(np.ones(1000, dtype))) == 0 and xp.argmin(ours(np.zeros((3, 50), dtype)), axis=1).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_scans(name, dtype):
    rng = np.random.default_rng(7)
    for shape, include in itertools.product([(0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4)], (False, True)):
        for axis in [*range(-len(shape), len(shape)), *([None] if len(shape) == 1 else [])]:
            x = draw(rng, dtype, shape, 1, 3)
            wanted = getattr(np, name)(x, axis=axis, include_initial=include, dtype=default(dtype))
            got = getattr(xp, name)(ours(x), axis=axis, include_initial=include)
            assert_same(got, wanted, 10 * TOLERANCE[dtype] if dtype in FLOATS else None, (shape, axis, include))
    got = getattr(xp, name)(ours(draw(rng, dtype, (3,), 0, 3)), dtype=xp.complex128)
    assert got.dtype == xp.complex128
    with pytest.raises(ValueError, match="axis"):
        getattr(xp, name)(ours(np.ones((2, 2), dtype)))


@pytest.mark.parametrize("dtype", NUMERIC)
def test_differences(dtype):
    rng = np.random.default_rng(8)
    for (shape, axis), n in itertools.product([((5,), -1), ((3, 4), 0), ((3, 4), 1), ((2, 0, 3), 2)], (0, 1, 2, 3)):
        x, edge = draw(rng, dtype, shape, 0, 50), [draw(rng, dtype, [2 if one == axis % len(shape) else m for one, m in enumerate(shape)], 0, 50)]
        tolerance = 1e-4 if dtype in FLOATS else None
        for before, after in itertools.product([None, *edge], [None, *edge]):
            around = {key: value for key, value in (("prepend", before), ("append", after)) if value is not None}
            wanted = np.diff(x, n, axis, **around)
            got = xp.diff(ours(x), n=n, axis=axis, **{key: ours(value) for key, value in around.items()})
            np.testing.assert_allclose(numpy_of(got), wanted, rtol=tolerance or 0, atol=(tolerance or 0) * 100)
            assert got.shape == wanted.shape and str(numpy_of(got).dtype) == dtype


SEVERAL_AXES = "sum prod max min mean std var all any count_nonzero".split()
ONE_AXIS = "argmax argmin cumulative_sum cumulative_prod diff sort argsort".split()


@pytest.mark.parametrize("name", SEVERAL_AXES + ONE_AXIS)
def test_axes_that_there_are_not(name):
    x = xp.ones((2, 3))
    for axis in (2, -3):
        with pytest.raises(IndexError):
            getattr(xp, name)(x, axis=axis)
    if name in SEVERAL_AXES:
        with pytest.raises(ValueError, match="different"):
            getattr(xp, name)(x, axis=(0, -2))
