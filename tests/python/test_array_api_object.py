"""What the array API standard asks of the array itself: attributes, conversions, operators with arrays and Python scalars; and gradients."""

import itertools
import operator

import numpy as np
import pytest

import opforge
from opforge import array_api as xp
from opforge.autograd import gradcheck

from standard import ALL, COMPLEX, FLOATS, INTS, NUMERIC, REAL, TOLERANCE, assert_same, draw, ours

ARITHMETIC = [operator.add, operator.sub, operator.mul]
REAL_ONLY = [operator.lt, operator.le, operator.gt, operator.ge, operator.floordiv, operator.mod]
BITS = [operator.and_, operator.or_, operator.xor]


def operators_of(dtype):
    if dtype == "bool":
        return [*BITS, operator.eq, operator.ne]
    if dtype in INTS:
        return [*ARITHMETIC, *REAL_ONLY, *BITS, operator.eq, operator.ne, operator.pow, operator.lshift, operator.rshift]
    return [*ARITHMETIC, operator.truediv, *([*REAL_ONLY, operator.eq, operator.ne, operator.pow] if dtype in REAL else [])]


@pytest.mark.parametrize("dtype", ALL)
def test_operators(dtype):
    rng = np.random.default_rng(1)
    scalar = True if dtype == "bool" else 3 if dtype in INTS else 2.5
    for function, shapes in itertools.product(operators_of(dtype), [((3, 4), (3, 4)), ((3, 1), (4,)), ((2, 2), ()), ((), ()), ((0,), (1,))]):
        x, y = (draw(rng, dtype, shape, 1, 6) for shape in shapes)
        near = TOLERANCE[dtype] if dtype in FLOATS else None
        assert_same(function(ours(x), ours(y)), function(x, y), near, function)
        low = np.asarray(scalar, dtype)
        assert_same(function(ours(x), scalar), function(x, low), near, function)
        assert_same(function(scalar, ours(x)), function(low, x), near, function)


@pytest.mark.parametrize("dtype", NUMERIC)
def test_operators_in_place(dtype):
    x = draw(np.random.default_rng(2), dtype, (3, 4), 1, 6)
    for function in (operator.iadd, operator.isub, operator.imul, *([operator.itruediv] if dtype in FLOATS else [operator.ifloordiv])):
        array, wanted = ours(x), x.copy()
        assert function(array, 2) is array
        assert_same(array, function(wanted, np.asarray(2, dtype)), TOLERANCE.get(dtype))
        function(array, ours(x[0]))
        assert_same(array, function(wanted, x[0]), TOLERANCE.get(dtype))


@pytest.mark.parametrize("dtype", ALL)
def test_operators_of_one_array(dtype):
    x = draw(np.random.default_rng(3), dtype, (3, 4), 0, 5)
    if dtype != "bool":
        for function in (operator.neg, operator.pos, operator.abs):
            assert_same(function(ours(x)), function(x), TOLERANCE.get(dtype))
    if dtype not in FLOATS:
        assert_same(~ours(x), ~x)


@pytest.mark.parametrize("dtype", ALL)
def test_conversions_to_python(dtype):
    for value in (0, 1):
        x = xp.asarray(value, dtype=getattr(xp, dtype))
        assert bool(x) is bool(value) and complex(x) == value
        if dtype not in COMPLEX:
            assert float(x) == value and int(x) == value and type(int(x)) is int and type(float(x)) is float
        if dtype in INTS:
            assert operator.index(x) == value and [5, 6][x] == 5 + value
    if dtype in FLOATS:
        assert bool(xp.asarray(xp.nan, dtype=getattr(xp, dtype))) and bool(xp.asarray(-xp.inf, dtype=getattr(xp, dtype)))
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            operator.index(x)
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        int(xp.ones(2, dtype=getattr(xp, dtype)))


def test_attributes():
    x = xp.ones((2, 3, 4), dtype=xp.float64)
    assert isinstance(x.shape, tuple) and x.shape == (2, 3, 4) and x.ndim == 3 and x.numel() == 24 and x.dtype == xp.float64
    assert x.mT.shape == (2, 4, 3) and xp.ones((2, 3)).T.shape == (3, 2) and hash(x.dtype) == hash(xp.float64)
    assert len(x) == 2 and [row.shape for row in x] == [(3, 4)] * 2


def positive(*shape):
    return opforge.asarray(np.random.default_rng(4).uniform(0.2, 0.8, shape), dtype=xp.float64).requires_grad_()


DIFFERENTIABLE = [
    *(getattr(xp, name) for name in "acos asin atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin sinh sqrt tan tanh".split()),
    lambda x: xp.clip(x, 0.3, 0.6),
    lambda x: xp.cumulative_sum(x, axis=0, include_initial=True),
    lambda x: xp.cumulative_prod(x, axis=1),
    lambda x: xp.concat([x, 2 * x], axis=None),
    lambda x: xp.linalg.vector_norm(x, axis=1),
    lambda x: xp.mean(x, axis=(0, 1)),
    lambda x: xp.prod(x, axis=1),
    lambda x: xp.remainder(x, 0.25),
    lambda x: xp.std(x, axis=1, correction=1),
    lambda x: xp.sort(x, axis=1, descending=True),
    lambda x: xp.take_along_axis(x, xp.asarray([[0], [-1]]), axis=1),
    lambda x: xp.where(x > 0.5, x, 0.0),
]


@pytest.mark.parametrize("function", DIFFERENTIABLE)
def test_gradients(function):
    assert gradcheck(function, (positive(2, 3),))


@pytest.mark.parametrize("name", "acos acosh asin asinh atan atanh cos cosh exp expm1 log1p log2 log10 sin sinh sqrt tan tanh".split())
def test_gradients_of_complex_functions(name):
    def parts(real, imag):
        return xp.real(getattr(xp, name)(opforge.complex(real, imag))), xp.imag(getattr(xp, name)(opforge.complex(real, imag)))

    assert gradcheck(parts, (positive(2, 2), positive(2, 2)))
