"""The namespace of the array API standard: its names with their parameters, dtypes and what they promote to, what it tells of itself, creation."""

import inspect
import itertools
import math

import numpy as np
import pytest

import opforge
from opforge import array_api as xp

from standard import ALL, COMPLEX, FLOATS, INTS, NUMERIC, REAL, SIGNED, UNSIGNED, assert_same, name_of, numpy_of, ours, promoted

# The standard's functions, chapter by chapter. `diff` and `where` take more than it asks for, as numpy's do.
SIGNATURES = """
astype(x, dtype, /, *, copy=True, device=None)  can_cast(from_, to, /)  finfo(type, /)  iinfo(type, /)  isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
arange(start, /, stop=None, step=1, *, dtype=None, device=None)  asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)  empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)  from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)  full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)  meshgrid(*arrays, indexing='xy')
ones(shape, *, dtype=None, device=None)  ones_like(x, /, *, dtype=None, device=None)  tril(x, /, *, k=0)  triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)  zeros_like(x, /, *, dtype=None, device=None)
clip(x, /, min=None, max=None)
take(x, indices, /, *, axis=None)  take_along_axis(x, indices, /, *, axis=-1)
matmul(x1, x2, /)  matrix_transpose(x, /)  tensordot(x1, x2, /, *, axes=2)  vecdot(x1, x2, /, *, axis=-1)
broadcast_arrays(*arrays)  broadcast_shapes(*shapes)  broadcast_to(x, /, shape)  concat(arrays, /, *, axis=0)  expand_dims(x, /, axis)
flip(x, /, *, axis=None)  moveaxis(x, source, destination, /)  permute_dims(x, /, axes)  repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)  roll(x, /, shift, *, axis=None)  squeeze(x, /, axis)  stack(arrays, /, *, axis=0)
tile(x, repetitions, /)  unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)  argmin(x, /, *, axis=None, keepdims=False)  count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)  searchsorted(x1, x2, /, *, side='left', sorter=None)  where(condition, x1=None, x2=None, /)
isin(x1, x2, /, *, invert=False)  unique_all(x, /)  unique_counts(x, /)  unique_inverse(x, /)  unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)  sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)  cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)  mean(x, /, *, axis=None, keepdims=False)  min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)  std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)  var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)  any(x, /, *, axis=None, keepdims=False)
diff(x, /, n=1, *, axis=-1, prepend=None, append=None)  __array_namespace_info__()
linalg.cholesky(x, /, *, upper=False)  linalg.cross(x1, x2, /, *, axis=-1)  linalg.det(x, /)  linalg.diagonal(x, /, *, offset=0)  linalg.eig(x, /)
linalg.eigh(x, /)  linalg.eigvals(x, /)  linalg.eigvalsh(x, /)  linalg.inv(x, /)  linalg.matmul(x1, x2, /)
linalg.matrix_norm(x, /, *, keepdims=False, ord='fro')  linalg.matrix_power(x, n, /)  linalg.matrix_rank(x, /, *, rtol=None)
linalg.matrix_transpose(x, /)  linalg.outer(x1, x2, /)  linalg.pinv(x, /, *, rtol=None)  linalg.qr(x, /, *, mode='reduced')  linalg.slogdet(x, /)
linalg.solve(x1, x2, /)  linalg.svd(x, /, *, full_matrices=True)  linalg.svdvals(x, /)  linalg.tensordot(x1, x2, /, *, axes=2)
linalg.trace(x, /, *, offset=0, dtype=None)  linalg.vecdot(x1, x2, /, *, axis=-1)
linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
"""
UNARY = """
abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log1p log2 log10 logical_not
negative positive real reciprocal round sign signbit sin sinh square sqrt tan tanh trunc
"""
BINARY = """
add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal floor_divide greater greater_equal hypot
less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract
"""
SIGNATURES = [line for text in SIGNATURES.splitlines() for line in text.split("  ") if line]
SIGNATURES += [f"{name}(x, /)" for name in UNARY.split()] + [f"{name}(x1, x2, /)" for name in BINARY.split()]


@pytest.mark.parametrize("signature", SIGNATURES)
def test_signatures(signature):
    name, _, parameters = signature.partition("(")
    function = xp
    for part in name.split("."):
        function = getattr(function, part)
    assert str(inspect.signature(function)) == f"({parameters}"
    assert function.__name__ == name.split(".")[-1] and function.__doc__


def test_there_are_no_other_names():
    functions = {signature.partition("(")[0] for signature in SIGNATURES}
    rest = {"e", "inf", "nan", "newaxis", "pi", "fft", "linalg", "__array_api_version__", *ALL}
    assert set(dir(xp)) == {name for name in functions if "." not in name} | rest
    assert {f"linalg.{name}" for name in xp.linalg.__all__} == {name for name in functions if "." in name}


def test_constants():
    assert (xp.e, xp.pi, xp.inf, xp.newaxis) == (math.e, math.pi, math.inf, None) and math.isnan(xp.nan)
    assert xp.__array_api_version__ == "2025.12"


@pytest.mark.skipif(not hasattr(opforge.Tensor, "__array_namespace__"), reason="the extension module is older")
def test_a_tensor_names_its_namespace():
    x = opforge.ones(2)
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is xp
    with pytest.raises(ValueError, match="2020.01"):
        x.__array_namespace__(api_version="2020.01")
    assert x.to_device("cpu") is x and x.to_device(x.device) is x
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)
    with pytest.raises(TypeError):
        x.to_device(opforge.float64)


@pytest.mark.parametrize(("a", "b"), list(itertools.product(ALL, ALL)))
def test_promotion(a, b):
    x, y, wanted = getattr(xp, a), getattr(xp, b), promoted(a, b)
    if not wanted:
        return  # the standard leaves it open
    wanted = getattr(xp, wanted)
    assert xp.result_type(x, y) == wanted and xp.result_type(xp.ones(2, dtype=x), y, xp.ones((), dtype=y)) == wanted
    assert xp.can_cast(x, y) == (wanted == y) and xp.can_cast(xp.ones(2, dtype=x), y) == (wanted == y)
    # An array without axes counts as any other.
    for left, right in itertools.product([xp.ones(2, dtype=x), xp.ones((), dtype=x)], [xp.ones(2, dtype=y), xp.ones((), dtype=y)]):
        assert xp.where(xp.asarray([True, False]), left, right).dtype == wanted
        assert xp.equal(left, right).dtype == xp.bool
        if a != "bool":
            assert xp.add(left, right).dtype == wanted
    assert xp.concat([xp.ones(2, dtype=x), xp.ones(1, dtype=y)]).dtype == wanted
    assert xp.stack([xp.ones(2, dtype=x), xp.ones(2, dtype=y)]).dtype == wanted


@pytest.mark.parametrize("dtype", ALL)
def test_promotion_of_scalars(dtype):
    x = getattr(xp, dtype)
    kinds = [True] if dtype == "bool" else [3] if dtype in INTS else [3, 2.5] if dtype in REAL else [3, 2.5, 1j]
    for scalar in kinds:
        assert xp.result_type(x, scalar) == x and xp.result_type(scalar, xp.ones(2, dtype=x)) == x
    if dtype in REAL:
        assert name_of(xp.result_type(x, 1j)) == COMPLEX[REAL.index(dtype)]
    for bad in ([1.5], [], [2, True], ["int32"], [x, "float32"]):
        with pytest.raises((TypeError, ValueError)):
            xp.result_type(*bad)


KINDS = {
    "bool": ["bool"],
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": INTS,
    "real floating": REAL,
    "complex floating": COMPLEX,
    "numeric": NUMERIC,
}


def test_kinds():
    for (kind, members), dtype in itertools.product(KINDS.items(), ALL):
        assert xp.isdtype(getattr(xp, dtype), kind) is (dtype in members)
    assert xp.isdtype(xp.int8, ("bool", xp.int8)) and not xp.isdtype(xp.int8, ("bool", xp.int16)) and not xp.isdtype(xp.int8, ())
    assert xp.isdtype(opforge.bfloat16, "real floating") and not xp.isdtype(opforge.float16, "integral")
    with pytest.raises(ValueError, match="floating"):
        xp.isdtype(xp.int8, "floating")


def test_limits():
    for dtype in FLOATS:
        real = REAL[COMPLEX.index(dtype)] if dtype in COMPLEX else dtype
        limits, wanted = xp.finfo(getattr(xp, dtype)), np.finfo(dtype)
        assert limits.dtype == getattr(xp, real) and limits == xp.finfo(xp.ones(1, dtype=getattr(xp, dtype)))
        for name in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(limits, name) == getattr(wanted, name) and type(getattr(limits, name)) in (int, float)
    for dtype in INTS:
        limits, wanted = xp.iinfo(getattr(xp, dtype)), np.iinfo(dtype)
        assert limits.dtype == getattr(xp, dtype) and (limits.bits, limits.max, limits.min) == (wanted.bits, wanted.max, wanted.min)
    for function, dtype in ((xp.finfo, xp.int8), (xp.iinfo, xp.float32), (xp.iinfo, xp.bool)):
        with pytest.raises(TypeError):
            function(dtype)


@pytest.mark.parametrize("dtype", ALL)
def test_casts(dtype):
    x = np.asarray([0, 1, 2, 0, 100], dtype)
    for other in ALL:
        if dtype in COMPLEX and other not in [*COMPLEX, "bool"]:
            with pytest.raises(TypeError, match="real"):
                xp.astype(ours(x), getattr(xp, other))
        else:
            assert_same(xp.astype(ours(x), getattr(xp, other)), x.astype(other))
    array = ours(x)
    assert xp.astype(array, array.dtype, copy=False) is array and xp.astype(array, array.dtype) is not array
    assert xp.astype(array, array.dtype, device=array.device, copy=False) is array


def test_what_the_namespace_tells():
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}
    with pytest.raises(Exception, match="32"):
        xp.ones((1,) * 33)
    assert xp.ones((1,) * 32).ndim == 32
    assert info.default_device() in info.devices() and info.devices() == (opforge.device("cpu"),)
    names = {"real floating": xp.float32, "complex floating": xp.complex64, "integral": xp.int64, "indexing": xp.int64}
    assert info.default_dtypes() == names == info.default_dtypes(device="cpu")
    assert info.dtypes() == {dtype: getattr(xp, dtype) for dtype in ALL}
    for kind, members in KINDS.items():
        assert info.dtypes(kind=kind) == {dtype: getattr(xp, dtype) for dtype in members}
    assert list(info.dtypes(kind=("bool", "complex floating"))) == ["bool", *COMPLEX]


def test_default_dtypes_follow_opforge():
    opforge.set_default_dtype(opforge.float64)
    try:
        assert xp.__array_namespace_info__().default_dtypes()["complex floating"] == xp.complex128
        for array in (xp.ones(2), xp.asarray(1.5), xp.arange(2.0), xp.linspace(0, 1, 3), xp.eye(2), xp.mean(xp.arange(3)), xp.full(2, 0.5)):
            assert array.dtype == xp.float64
        assert xp.asarray(1j).dtype == xp.linspace(0, 1j, 3).dtype == xp.full(2, 1j).dtype == xp.complex128
    finally:
        opforge.set_default_dtype(opforge.float32)


@pytest.mark.parametrize("value", [True, 3, 2.5, 1j, [True, False], [True, 2], [1, 2.5], [[1, 2j], [2.5, 3]], [], [[], []]])
def test_asarray(value):
    wanted = np.asarray(value)
    wanted = wanted.astype({"float64": "float32", "complex128": "complex64"}.get(str(wanted.dtype), wanted.dtype))
    assert_same(xp.asarray(value), wanted)
    for dtype in ALL:
        if np.can_cast(wanted.dtype, dtype):
            assert_same(xp.asarray(value, dtype=getattr(xp, dtype)), wanted.astype(dtype))


def test_asarray_and_memory():
    numbers = np.arange(6.0).reshape(2, 3)
    shared, copied = xp.asarray(numbers, copy=False), xp.asarray(numbers, copy=True)
    numbers[0, 0] = 9
    assert shared[0, 0] == 9 and copied[0, 0] == 0
    assert xp.asarray(shared) is shared or np.shares_memory(numpy_of(xp.asarray(shared)), numbers)
    for value, options in [([1, 2], {}), (numbers, {"dtype": xp.float32}), (numbers[:, ::-1], {})]:
        with pytest.raises(ValueError):
            xp.asarray(value, copy=False, **options)
    assert_same(xp.asarray(numbers[:, ::-1]), numbers[:, ::-1])
    assert_same(xp.asarray(memoryview(b"ab")), np.asarray([97, 98], "uint8"))


RANGES = [(5,), (0,), (-3,), (2, 7), (2, 7, 2), (7, 2), (7, 2, -2), (2, 7, -1), (0.5, 3), (0, 1, 0.25), (3, 3), (1, 0.0, 0.5)]


@pytest.mark.parametrize("arguments", RANGES)
def test_arange(arguments):
    wanted = np.arange(*arguments)
    assert_same(xp.arange(*arguments), wanted.astype("float32") if wanted.dtype.kind == "f" else wanted)
    assert_same(xp.arange(*arguments, dtype=xp.float64), np.arange(*arguments, dtype="float64"))
    with pytest.raises(ValueError, match="step"):
        xp.arange(1, 2, 0)


def test_linspace():
    for start, stop, num, endpoint in itertools.product((0, -2.5, 1e6), (1, -2.5, 3), (0, 1, 2, 5, 50), (True, False)):
        wanted = np.linspace(start, stop, num, endpoint=endpoint)
        assert_same(xp.linspace(start, stop, num, endpoint=endpoint, dtype=xp.float64), wanted, 1e-13)
        assert_same(xp.linspace(start, stop, num, endpoint=endpoint), wanted.astype("float32"), 3e-6)
    assert_same(xp.linspace(1j, 2 - 1j, 4, endpoint=False), np.linspace(1j, 2 - 1j, 4, endpoint=False).astype("complex64"), 1e-6)
    assert_same(xp.linspace(0, 1, 4, dtype=xp.complex128), np.linspace(0, 1, 4, dtype="complex128"), 1e-14)
    with pytest.raises(ValueError, match="num"):
        xp.linspace(0, 1, -1)


@pytest.mark.parametrize("dtype", ALL)
def test_filled_arrays(dtype):
    x = getattr(xp, dtype)
    for shape in (3, (), (2, 0), (2, 3)):
        assert_same(xp.zeros(shape, dtype=x), np.zeros(shape, dtype))
        assert_same(xp.ones(shape, dtype=x), np.ones(shape, dtype))
        assert_same(xp.full(shape, 1, dtype=x), np.full(shape, 1, dtype))
        assert xp.empty(shape, dtype=x).shape == xp.empty_like(xp.zeros(shape), dtype=x).shape == xp.zeros(shape).shape
    other = xp.ones((2, 3), dtype=x)
    assert_same(xp.zeros_like(other), np.zeros((2, 3), dtype))
    assert_same(xp.ones_like(other, dtype=xp.int16), np.ones((2, 3), "int16"))
    assert_same(xp.full_like(other, 0), np.zeros((2, 3), dtype))
    for rows, columns, k in itertools.product((0, 1, 3), (None, 0, 2, 4), (-9, -2, 0, 1, 3, 9)):
        assert_same(xp.eye(rows, columns, k=k, dtype=x), np.eye(rows, columns, k, dtype))
        matrices = (np.arange(1, 2 * rows * 3 + 1).reshape(2, rows, 3) % 7 + 1).astype(dtype)
        assert_same(xp.tril(ours(matrices), k=k), np.tril(matrices, k))
        assert_same(xp.triu(ours(matrices), k=k), np.triu(matrices, k))


def test_defaults_of_filled_arrays():
    for value, dtype in ((True, "bool"), (3, "int64"), (2.5, "float32"), (1j, "complex64")):
        assert_same(xp.full((2,), value), np.full((2,), value, dtype))
    for function in (xp.zeros, xp.ones, xp.empty, xp.eye):
        assert function(2).dtype == xp.float32


def test_meshgrid():
    vectors = [np.arange(n, dtype="int16") for n in (2, 3, 4)]
    for count, indexing in itertools.product(range(4), ("xy", "ij")):
        got = xp.meshgrid(*map(ours, vectors[:count]), indexing=indexing)
        assert type(got) is tuple and len(got) == count
        for ours_, wanted in zip(got, np.meshgrid(*vectors[:count], indexing=indexing)):
            assert_same(ours_, wanted)
    with pytest.raises(ValueError, match="indexing"):
        xp.meshgrid(xp.arange(2), xp.arange(3), indexing="yx")
