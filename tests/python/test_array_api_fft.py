"""The extension `fft` of the array API standard, beside numpy's."""

import inspect
import itertools

import numpy as np
import pytest

from opforge import array_api as xp

from standard import COMPLEX, REAL, TOLERANCE, assert_same, draw, ours

pytestmark = pytest.mark.skipif(not hasattr(xp, "fft"), reason="the extension module has no Fourier transforms")

# Whether functions take real numbers.
ALONG_ONE = {"fft": False, "ifft": False, "rfft": True, "irfft": False, "hfft": False, "ihfft": True}
ALONG_MANY = {"fftn": False, "ifftn": False, "rfftn": True, "irfftn": False}
NORMS = ["backward", "ortho", "forward"]


def dtypes_of(is_real):
    return REAL if is_real else COMPLEX


def test_signatures():
    for names, parameters in [
        (ALONG_ONE, "(x, /, *, n=None, axis=-1, norm='backward')"),
        (ALONG_MANY, "(x, /, *, s=None, axes=None, norm='backward')"),
        (["fftfreq", "rfftfreq"], "(n, /, *, d=1.0, dtype=None, device=None)"),
        (["fftshift", "ifftshift"], "(x, /, *, axes=None)"),
    ]:
        for name in names:
            assert str(inspect.signature(getattr(xp.fft, name))) == parameters


@pytest.mark.parametrize("name", ALONG_ONE)
def test_transforms_along_one_axis(name):
    rng = np.random.default_rng(1)
    for dtype, norm, (shape, axis) in itertools.product(dtypes_of(ALONG_ONE[name]), NORMS, [((8,), -1), ((3, 5), 0), ((2, 3, 7), 1), ((1, 6), -1)]):
        x = draw(rng, dtype, shape, -3, 3)
        for n in (None, 4, 9):
            wanted = getattr(np.fft, name)(x, n, axis, norm)
            assert_same(getattr(xp.fft, name)(ours(x), n=n, axis=axis, norm=norm), wanted, 30 * TOLERANCE[dtype], (dtype, norm, shape, n))


@pytest.mark.parametrize("name", ALONG_MANY)
def test_transforms_along_many_axes(name):
    rng = np.random.default_rng(2)
    cases = [(None, None), (None, (0, 2)), (None, (-1,)), ((4, 6), (0, 1)), ((3, 9), (2, 1))]
    for dtype, norm, (s, axes) in itertools.product(dtypes_of(ALONG_MANY[name]), NORMS, cases):
        x = draw(rng, dtype, (4, 5, 6), -3, 3)
        wanted = getattr(np.fft, name)(x, s, axes if axes is not None else (0, 1, 2), norm)
        assert_same(getattr(xp.fft, name)(ours(x), s=s, axes=axes, norm=norm), wanted, 30 * TOLERANCE[dtype], (dtype, norm, s, axes))
    with pytest.raises(ValueError, match="axes"):
        getattr(xp.fft, name)(ours(x), s=(3,))


def test_frequencies_and_shifts():
    for n, d in itertools.product((1, 2, 7, 8), (1.0, 0.25)):
        for name in ("fftfreq", "rfftfreq"):
            wanted = getattr(np.fft, name)(n, d)
            assert_same(getattr(xp.fft, name)(n, d=d), wanted.astype("float32"), 1e-6)
            assert_same(getattr(xp.fft, name)(n, d=d, dtype=xp.float64), wanted, 1e-14)
    x = draw(np.random.default_rng(3), "float64", (4, 5))
    for axes, name in itertools.product((None, 0, -1, (0, 1)), ("fftshift", "ifftshift")):
        assert_same(getattr(xp.fft, name)(ours(x), axes=axes), getattr(np.fft, name)(x, axes))
