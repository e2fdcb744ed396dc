"""What tests of the array API standard share: its dtypes, arrays drawn from a seed, and comparisons with numpy, which has the standard's names."""

import numpy as np

from opforge import array_api as xp

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTS = SIGNED + UNSIGNED
REAL = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
FLOATS = REAL + COMPLEX
NUMERIC = INTS + FLOATS
ALL = ["bool", *NUMERIC]

SHAPES = [(), (0,), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4)]

# Relative errors that are allowed: some units in the last place.
TOLERANCE = {"float32": 3e-6, "complex64": 1e-5, "float64": 1e-13, "complex128": 1e-13}


def draw(rng, dtype, shape=(), low=None, high=None):
    """An array of numpy's with random elements: integers of the whole range or of the bounds, floats of both signs and different sizes."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTS:
        info = np.iinfo(dtype)
        return rng.integers(max(info.min, info.min if low is None else low), min(info.max, info.max if high is None else high), shape, dtype, True)
    if dtype in COMPLEX:
        part = "float32" if dtype == "complex64" else "float64"
        return (draw(rng, part, shape, low, high) + 1j * draw(rng, part, shape, low, high)).astype(dtype)
    if low is not None:
        return rng.uniform(low, high, shape).astype(dtype)
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3, shape)).astype(dtype)


def ours(array):
    """The same elements in an array of opforge's, in memory of its own."""
    return xp.asarray(np.array(array))


def name_of(dtype):
    """The standard's name of a dtype."""
    return repr(dtype).rpartition(".")[2]


def numpy_of(array):
    """The elements for numpy."""
    return np.asarray(array)


def assert_same(got, wanted, tolerance=None, context=""):
    """An array of opforge's has numpy's dtype, shape and elements: exactly, or as far as floats are to be compared."""
    wanted = np.asarray(wanted)
    assert name_of(got.dtype) == str(wanted.dtype), (context, got.dtype, wanted.dtype)
    assert tuple(got.shape) == wanted.shape, (context, got.shape, wanted.shape)
    if tolerance:
        size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
        np.testing.assert_allclose(numpy_of(got), wanted, rtol=tolerance, atol=tolerance * size, err_msg=str(context))
    else:
        np.testing.assert_array_equal(numpy_of(got), wanted, err_msg=str(context))


def promoted(a, b):
    """What the standard's tables promote two dtypes of one kind to; nothing where they name none."""
    if a == b:
        return a
    kinds = [next(kind for kind in (["bool"], INTS, FLOATS) if dtype in kind) for dtype in (a, b)]
    mixed = "uint64" in (a, b) and (a in SIGNED or b in SIGNED)
    return None if kinds[0] is not kinds[1] or mixed else str(np.promote_types(a, b))
