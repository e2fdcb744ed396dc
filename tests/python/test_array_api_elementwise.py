"""Functions of each element, of the array API standard: dtypes, shapes and values as numpy has them, and the special cases that it lists."""

import itertools

import numpy as np
import pytest

from opforge import array_api as xp

from standard import ALL, COMPLEX, FLOATS, INTS, NUMERIC, REAL, SHAPES, TOLERANCE, assert_same, draw, numpy_of, ours, promoted

REAL_VALUED = INTS + REAL
BITS = ["bool", *INTS]

UNARY = {
    **dict.fromkeys("abs conj isfinite isinf isnan negative positive real round sign square".split(), NUMERIC),
    **dict.fromkeys("acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin sinh sqrt tan tanh".split(), FLOATS),
    **dict.fromkeys("ceil floor trunc".split(), REAL_VALUED),
    "bitwise_invert": BITS,
    "imag": COMPLEX,
    "logical_not": ["bool"],
    "signbit": REAL,
}
BINARY = {
    **dict.fromkeys("add multiply subtract".split(), NUMERIC),
    **dict.fromkeys("atan2 copysign hypot logaddexp nextafter".split(), REAL),
    **dict.fromkeys("bitwise_and bitwise_or bitwise_xor".split(), BITS),
    **dict.fromkeys("bitwise_left_shift bitwise_right_shift".split(), INTS),
    "divide": FLOATS,
    **dict.fromkeys("equal not_equal".split(), ALL),
    **dict.fromkeys("floor_divide greater greater_equal less less_equal maximum minimum remainder".split(), REAL_VALUED),
    **dict.fromkeys("logical_and logical_or logical_xor".split(), ["bool"]),
    "pow": NUMERIC,
}
# Those whose results are exact, or rounded from the exact ones.
EXACT = """
abs ceil conj floor imag negative positive real reciprocal round sign signbit sqrt square trunc add copysign divide maximum minimum multiply nextafter
remainder floor_divide subtract
""".split()
# Functions of integers whose second operand is bounded.
SECOND = {"bitwise_left_shift": (0, 7), "bitwise_right_shift": (0, 7), "pow": (0, 5), "floor_divide": (1, 100), "remainder": (1, 100)}
BROADCAST = [((), ()), ((3, 1), (4,)), ((2, 3, 4), (3, 4)), ((0, 3), (1, 3)), ((), (2, 2)), ((5,), ())]


def tolerance_of(name, dtype):
    return None if dtype not in FLOATS or (name in EXACT and dtype in REAL) else TOLERANCE[dtype]


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def pairs(dtypes):
    return [(a, b) for a, b in itertools.product(dtypes, dtypes) if promoted(a, b)]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name):
    rng = np.random.default_rng(1)
    for dtype, shape in itertools.product(UNARY[name], SHAPES):
        x = draw(rng, dtype, shape)
        assert_same(getattr(xp, name)(ours(x)), getattr(np, name)(x), tolerance_of(name, dtype), (name, dtype, shape))


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array_that_is_a_view(name):
    rng = np.random.default_rng(2)
    for dtype in UNARY[name]:
        x = draw(rng, dtype, (4, 6, 3))
        view = xp.permute_dims(ours(x), (2, 0, 1))[:, ::2, 1:]
        wanted = getattr(np, name)(x.transpose(2, 0, 1)[:, ::2, 1:])
        assert_same(getattr(xp, name)(view), wanted, tolerance_of(name, dtype), (name, dtype))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name):
    rng = np.random.default_rng(3)
    for (a, b), (s, t) in itertools.product(pairs(BINARY[name]), BROADCAST):
        x, y = draw(rng, a, s), draw(rng, b, t, *SECOND.get(name, ()) if b in INTS else (-3, 3) if name == "pow" else ())
        result = promoted(a, b)
        wanted = getattr(np, name)(x.astype(result), y.astype(result))
        assert_same(getattr(xp, name)(ours(x), ours(y)), wanted, tolerance_of(name, result), (name, a, b, s, t))


@pytest.mark.parametrize("name", BINARY)
def test_a_python_scalar_takes_the_dtype_of_the_array(name):
    rng = np.random.default_rng(4)
    for dtype in BINARY[name]:
        scalar = True if dtype == "bool" else 3 if dtype in INTS else 2.5
        x, low, function = draw(rng, dtype, (5,), 1, 6), np.asarray(scalar, dtype), getattr(xp, name)
        context, tolerance = (name, dtype), tolerance_of(name, dtype)
        assert_same(function(ours(x), scalar), getattr(np, name)(x, low), tolerance, context)
        assert_same(function(scalar, ours(x)), getattr(np, name)(low, x), tolerance, context)
    with pytest.raises((TypeError, ValueError)):
        getattr(xp, name)(1, 2)


def test_a_complex_scalar_makes_floats_complex():
    for real, complex_ in zip(REAL, COMPLEX):
        assert_same(xp.add(ours(np.ones(2, real)), 1j), np.asarray([1 + 1j] * 2, complex_))
        assert_same(xp.multiply(2j, ours(np.ones((), complex_))), np.asarray(2j, complex_))


def test_shapes_that_do_not_broadcast():
    with pytest.raises(Exception, match="(?i)broadcast|shape|size"):
        xp.add(xp.ones((2, 3)), xp.ones((2, 4)))


# Numbers at which functions are special, or change.
SPECIAL = [0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 1e-3, 7e4, 1e300, 5e-324, 2.2250738585072014e-308, np.inf, np.nan]
SPECIAL = np.asarray(SPECIAL + [-x for x in SPECIAL])


def same_bits(got, wanted, context):
    """Equal, in the sign of 0 too; NaN is NaN."""
    got = numpy_of(got)
    differs = ~((got == wanted) | (np.isnan(got) & np.isnan(wanted)))
    differs |= (got == 0) & (wanted == 0) & (np.signbit(got) != np.signbit(wanted))
    assert not differs.any(), (context, list(zip(got[differs], wanted[differs]))[:5])


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", [name for name in UNARY if "float32" in UNARY[name]])
def test_special_cases_of_real_numbers(name, dtype):
    x = SPECIAL.astype(dtype)
    got, wanted = numpy_of(getattr(xp, name)(ours(x))), getattr(np, name)(x)
    assert got.dtype == wanted.dtype
    if name in EXACT or got.dtype == bool:
        return same_bits(got, wanted, name)
    special = ~np.isfinite(wanted) | (wanted == 0) | (np.abs(wanted) == 1)
    same_bits(got[special], wanted[special], name)
    np.testing.assert_allclose(got, wanted, rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", [name for name in BINARY if "float32" in BINARY[name]])
def test_special_cases_of_two_real_numbers(name, dtype):
    x, y = (grid.reshape(-1) for grid in np.meshgrid(SPECIAL.astype(dtype), SPECIAL.astype(dtype)))
    got, wanted = numpy_of(getattr(xp, name)(ours(x), ours(y))), getattr(np, name)(x, y)
    if name == "floor_divide":  # of infinities the standard asks for `floor(x / y)`, and allows what Python has
        infinite = np.isinf(x) | np.isinf(y)
        wanted = np.where(infinite & ~np.isnan(got) & (got != -1), np.floor(x / y), wanted)
    if name in EXACT or got.dtype == bool:
        return same_bits(got, wanted, name)
    special = ~np.isfinite(wanted) | (wanted == 0) | (np.abs(wanted) == 1)
    same_bits(got[special], wanted[special], name)
    np.testing.assert_allclose(got, wanted, rtol=1e-5 if dtype == "float32" else 1e-12)


def test_signs_of_nan():
    nan = np.asarray([np.nan, -np.nan])
    sign = ours(np.asarray([1.0, -1.0]))
    assert numpy_of(xp.signbit(ours(np.copysign(nan, [1, -1])))).tolist() == [False, True]
    assert numpy_of(xp.signbit(xp.copysign(ours(nan), sign))).tolist() == [False, True]
    assert numpy_of(xp.copysign(sign, xp.copysign(ours(nan), -sign))).tolist() == [-1, 1]
    assert numpy_of(xp.isnan(xp.sign(ours(nan)))).all()


PARTS = np.asarray([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 30.0, np.inf, -np.inf, np.nan])
COMPLEX_FUNCTIONS = [name for name in UNARY if "complex64" in UNARY[name]]


def grid_of(parts, dtype):
    real, imag = (grid.reshape(-1) for grid in np.meshgrid(parts, parts))
    numbers = np.empty(real.shape, dtype)
    numbers.real, numbers.imag = real, imag
    return numbers


def parts_of(numbers):
    return (numbers.real, numbers.imag) if np.iscomplexobj(numbers) else (numbers,)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", COMPLEX_FUNCTIONS)
def test_branch_cuts(name, dtype):
    """On the axes, signs of 0 say on which side of a cut a number is."""
    z = grid_of(PARTS[np.isfinite(PARTS)], dtype)
    z = z[z != 0] if name == "reciprocal" else z  # left open
    got, wanted = numpy_of(getattr(xp, name)(ours(z))), getattr(np, name)(z)
    if got.dtype == bool:
        return np.testing.assert_array_equal(got, wanted)
    for ours_, theirs in zip(parts_of(got), parts_of(wanted)):
        exact = ~np.isfinite(theirs)
        np.testing.assert_array_equal(ours_[exact], theirs[exact], err_msg=name)
        scale = np.abs(wanted[~exact])
        np.testing.assert_array_less(np.abs(ours_[~exact] - theirs[~exact]), TOLERANCE[dtype] * scale + 1e-30, err_msg=name)


@pytest.mark.parametrize("name", COMPLEX_FUNCTIONS)
def test_special_cases_of_complex_numbers(name):
    """Where the standard leaves signs of results open they are not compared."""
    z = grid_of(PARTS, "complex128")
    z = z[(z != 0) & ~np.isnan(z)] if name == "reciprocal" else z[~np.isinf(z)] if name == "sign" else z
    got = numpy_of(getattr(xp, name)(ours(z)))
    wanted = np.exp(z) - 1 if name == "expm1" else getattr(np, name)(z)  # of infinities numpy's is not the standard's
    wanted = np.where(np.abs(z) < 40, np.expm1(z), wanted) if name == "expm1" else wanted
    for ours_, theirs in zip(parts_of(got), parts_of(wanted)):
        np.testing.assert_allclose(np.abs(ours_), np.abs(theirs), rtol=1e-12, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("dtype", REAL)
def test_clip(dtype):
    rng = np.random.default_rng(5)
    x, low, high = draw(rng, dtype, (3, 4)), draw(rng, dtype, (4,), -2, 0), draw(rng, dtype, (3, 1), 0, 2)
    for bounds in itertools.product((None, -0.5, low), (None, 1, high)):
        wanted = x if bounds[0] is None and bounds[1] is None else np.clip(x, *bounds)
        assert_same(xp.clip(ours(x), *(ours(b) if isinstance(b, np.ndarray) else b for b in bounds)), wanted.astype(dtype))
    nan = ours(np.asarray([np.nan], dtype))
    for clipped in (xp.clip(nan, 0, 1), xp.clip(nan * 0 + 1, min=nan), xp.clip(nan * 0 + 1, max=nan)):
        assert numpy_of(xp.isnan(clipped)).all()


@pytest.mark.parametrize("dtype", INTS)
def test_clip_integers(dtype):
    x = draw(np.random.default_rng(6), dtype, (50,))
    assert_same(xp.clip(ours(x), 3, 100), np.clip(x, 3, 100))
    assert_same(xp.clip(ours(x), max=ours(x[::-1].copy())), np.minimum(x, x[::-1]))


@pytest.mark.parametrize("dtype", INTS)
def test_integers_that_the_dtype_does_not_have(dtype):
    """Comparisons know their order, `clip` is not limited by them, functions of floats count them as floats; others refuse them."""
    info = np.iinfo(dtype)
    x = np.asarray([info.min, 1, info.max], dtype)
    for beyond in (info.min - 1, info.max + 1, -(2**100), 2**100):
        for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"):
            assert_same(getattr(xp, name)(ours(x), beyond), getattr(np, name)(x, beyond), None, (name, beyond))
            assert_same(getattr(xp, name)(beyond, ours(x)), getattr(np, name)(beyond, x), None, (name, beyond))
        for name in ("logical_and", "logical_or", "logical_xor"):
            assert_same(getattr(xp, name)(ours(x), beyond), getattr(np, name)(x, True), None, (name, beyond))
        assert_same(xp.divide(ours(x), beyond), (x / float(beyond)).astype("float32"), 1e-6)
        for name in ("add", "subtract", "multiply", "floor_divide", "remainder", "pow", "maximum", "minimum", "bitwise_and", "bitwise_left_shift"):
            with pytest.raises(OverflowError, match=f"{name}: integer {beyond}, expected one of opforge.{dtype}"):
                getattr(xp, name)(ours(x), beyond)
    assert_same(xp.clip(ours(x), info.min - 1, 1), np.clip(x, info.min - 1, 1))
    assert_same(xp.clip(ours(x), 1, info.max + 1), np.clip(x, 1, info.max + 1))
    assert_same(xp.clip(ours(x), info.min - 1, info.max + 1), x)
    for limits in ((info.max + 1, None), (None, info.min - 1), (info.min - 1, info.min - 1)):
        with pytest.raises(OverflowError, match="clip"):
            xp.clip(ours(x), *limits)


@pytest.mark.parametrize("scalar", [-1, np.int64(-1), 256])
def test_integers_that_uint8_does_not_have_elsewhere(scalar):
    x = np.asarray([1, 255], "uint8")
    for invert in (False, True):
        assert_same(xp.isin(ours(x), scalar, invert=invert), np.isin(x, scalar, invert=invert))
    assert_same(xp.searchsorted(ours(x), scalar), np.searchsorted(x, scalar))
    for call in (lambda: xp.add(ours(x), scalar), lambda: xp.where(ours(x > 1), ours(x), scalar)):
        with pytest.raises(OverflowError):
            call()


@pytest.mark.parametrize("dtype", COMPLEX)
def test_the_sign_of_complex_zeros_is_0(dtype):
    zeros = numpy_of(xp.sign(ours(grid_of(np.asarray([0.0, -0.0]), dtype))))
    assert not (zeros.any() or np.signbit(zeros.real).any() or np.signbit(zeros.imag).any())


def test_results_have_memory_of_their_own():
    x = xp.asarray([1.0, 2.0])
    for copied in (xp.clip(x), xp.positive(x), xp.astype(x, x.dtype), xp.asarray(x, copy=True), xp.reshape(x, (2, 1), copy=True)):
        copied[0] = 5
        assert numpy_of(x).tolist() == [1, 2]
