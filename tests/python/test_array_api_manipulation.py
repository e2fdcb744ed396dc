"""Functions of the array API standard that move, take, look for and sort elements; sets; indexing."""

import itertools

import numpy as np
import pytest

from opforge import array_api as xp

from standard import ALL, COMPLEX, FLOATS, INTS, REAL, SHAPES, UNSIGNED, assert_same, draw, numpy_of, ours


@pytest.mark.parametrize("dtype", ALL)
def test_axes_moved(dtype):
    rng = np.random.default_rng(1)
    x = draw(rng, dtype, (2, 3, 4))
    for axes in itertools.permutations(range(3)):
        assert_same(xp.permute_dims(ours(x), axes), x.transpose(axes))
        assert_same(xp.permute_dims(ours(x), tuple(axis - 3 for axis in axes)), x.transpose(axes))
    for source, destination in itertools.product(range(-3, 3), range(-3, 3)):
        assert_same(xp.moveaxis(ours(x), source, destination), np.moveaxis(x, source, destination))
    assert_same(xp.moveaxis(ours(x), (0, -1), (-1, 0)), np.moveaxis(x, (0, -1), (-1, 0)))
    assert_same(xp.matrix_transpose(ours(x)), x.mT)
    assert_same(ours(x).mT, x.mT)
    assert_same(ours(x[0]).T, x[0].T)
    for axes in ((0, 1), (0, 1, 1), (0, 1, 3)):
        with pytest.raises((IndexError, ValueError, RuntimeError)):
            xp.permute_dims(ours(x), axes)
    for source, destination in ((3, 0), (0, -4), ((0, 1), 0)):
        with pytest.raises((IndexError, ValueError, RuntimeError)):
            xp.moveaxis(ours(x), source, destination)
    with pytest.raises((IndexError, ValueError)):
        xp.matrix_transpose(xp.ones(3))


@pytest.mark.parametrize("dtype", ALL)
def test_shapes_changed(dtype):
    rng = np.random.default_rng(2)
    x = draw(rng, dtype, (2, 1, 3, 1))
    for shape, copy in itertools.product([(6,), (-1,), (3, 2), (1, -1, 2), (2, 1, 3, 1)], (None, True, False)):
        assert_same(xp.reshape(ours(x), shape, copy=copy), x.reshape(shape))
    assert_same(xp.reshape(ours(x[:1, 0, :1, 0]), ()), x[0, 0, 0, 0])
    for axis in (0, 2, -1, -5, (0, 2), (1, -1), (-6, 5), (4, 0)):
        assert_same(xp.expand_dims(ours(x), axis), np.expand_dims(x, axis))
    for axis in (1, 3, -1, (1, 3), (-3, -1), ()):
        assert_same(xp.squeeze(ours(x), axis), np.squeeze(x, axis))
    for axis in (5, -6, (0, 6)):
        with pytest.raises(IndexError):
            xp.expand_dims(ours(x), axis)
    for axis in ((0, 0), (0, -6)):
        with pytest.raises(ValueError):
            xp.expand_dims(ours(x), axis)
    for axis in (0, (1, 2)):
        with pytest.raises(ValueError, match="length 1"):
            xp.squeeze(ours(x), axis)
    with pytest.raises(ValueError):
        xp.reshape(ours(x[:, 0, :, 0]).mT, (6,), copy=False)
    with pytest.raises((ValueError, RuntimeError)):
        xp.reshape(ours(x), (5, -1))


def test_reshaped_memory():
    x = xp.zeros((2, 3))
    for copy, shared in ((None, True), (False, True), (True, False)):
        xp.reshape(x, (6,), copy=copy)[0] = 1
        assert (x[0, 0] == 1) == shared
        x[0, 0] = 0


@pytest.mark.parametrize("dtype", ALL)
def test_broadcasting(dtype):
    rng = np.random.default_rng(3)
    arrays = [draw(rng, dtype, shape) for shape in [(3, 1), (1, 4), (2, 1, 1), ()]]
    got = xp.broadcast_arrays(*map(ours, arrays))
    assert type(got) is tuple
    for ours_, wanted in zip(got, np.broadcast_arrays(*arrays)):
        assert_same(ours_, wanted)
    assert_same(xp.broadcast_to(ours(arrays[0]), (2, 3, 0)), np.broadcast_to(arrays[0], (2, 3, 0)))
    for shape in [(3,), (4, 3), (3, -1), (1, 1)]:
        with pytest.raises((ValueError, RuntimeError)):
            xp.broadcast_to(ours(arrays[0]), shape)


def test_broadcast_shapes():
    assert xp.broadcast_shapes() == () and xp.broadcast_shapes((3, 1), (4,), (2, 1, 1)) == (2, 3, 4) and type(xp.broadcast_shapes((2,))) is tuple
    with pytest.raises(ValueError):
        xp.broadcast_shapes((3,), (4,))


@pytest.mark.parametrize("dtype", ALL)
def test_joining(dtype):
    rng = np.random.default_rng(4)
    x, y = draw(rng, dtype, (2, 3, 4)), draw(rng, dtype, (2, 3, 4))
    for axis in (0, 1, 2, -1, -3):
        assert_same(xp.concat([ours(x), ours(y[:, :0] if axis == 1 else y)], axis=axis), np.concat([x, y[:, :0] if axis == 1 else y], axis=axis))
        assert_same(xp.stack((ours(x), ours(y)), axis=axis), np.stack([x, y], axis=axis))
        parts = xp.unstack(ours(x), axis=axis)
        assert type(parts) is tuple and len(parts) == x.shape[axis]
        for ours_, wanted in zip(parts, np.unstack(x, axis=axis)):
            assert_same(ours_, wanted)
    assert_same(xp.concat([ours(x), ours(y[0])], axis=None), np.concat([x, y[0]], axis=None))
    assert_same(xp.stack([ours(x)], axis=3), np.stack([x], axis=3))
    for call in (lambda: xp.concat([ours(x)], axis=3), lambda: xp.stack([ours(x)], axis=4), lambda: xp.unstack(ours(x), axis=3)):
        with pytest.raises(IndexError):
            call()
    with pytest.raises((ValueError, RuntimeError)):
        xp.concat([ours(x), ours(y[:1])], axis=1)


def test_empty_vectors_join_only_vectors():
    for arrays in itertools.permutations([xp.ones(0), xp.ones((2, 2)), xp.ones((1, 2))]):
        with pytest.raises(ValueError, match="concat: arrays with"):
            xp.concat(arrays)
    assert xp.concat([xp.ones(0), xp.ones((2, 2))], axis=None).shape == (4,)


def test_numpy_integers_are_integers():
    one, two = np.int64(1), np.uint8(2)
    for made in (xp.zeros(two), xp.ones(two), xp.full(two, 3), xp.empty(two), xp.expand_dims(xp.ones(2), one)[:, 0]):
        assert made.shape == (2,)
    x = np.arange(6).reshape(2, 3)
    assert_same(xp.roll(ours(x), one, axis=(one, 0)), np.roll(x, 1, (1, 0)))
    assert_same(xp.roll(ours(x), one, axis=one), np.roll(x, 1, 1))


def test_rolls_along_an_axis_again_and_along_none():
    x = np.arange(10).reshape(2, 5)
    for shift, axis in [((1, 2), (1, 1)), ((1, 2), (1, -1)), ((1, -3, 2), (1, 0, -1)), (2, (1, 1)), ((), ()), (1, ())]:
        assert_same(xp.roll(ours(x), shift, axis=axis), np.roll(x, shift, axis), None, (shift, axis))
    array = ours(x)
    xp.roll(array, (), axis=())[0, 0] = 7
    assert array[0, 0] == 0


@pytest.mark.parametrize("ndim", [16, 17, 31, 32])
def test_repetitions_of_many_axes(ndim):
    x = np.arange(6).reshape((1,) * (ndim - 6) + (2, 1, 1, 1, 3, 1))
    for repetitions in [(1,) * ndim, (2,), (2, 1, 3, 2), (2,) + (1,) * (ndim - 4) + (2, 3, 1), (0,) + (1,) * (ndim - 1)]:
        assert_same(xp.tile(ours(x), repetitions), np.tile(x, repetitions))
        assert_same(xp.tile(ours(x.reshape(2, 3)), repetitions), np.tile(x.reshape(2, 3), repetitions))
    array = ours(x)
    xp.tile(array, ())[...] = 7
    assert_same(array, x)


@pytest.mark.parametrize("dtype", ALL)
def test_flips_rolls_and_repetitions(dtype):
    rng = np.random.default_rng(5)
    for shape in SHAPES:
        x = draw(rng, dtype, shape)
        for axis in [None, *range(-len(shape), len(shape)), *([(0, -1)] if len(shape) > 1 else [])]:
            assert_same(xp.flip(ours(x), axis=axis), np.flip(x, axis))
            for shift in (0, 1, -2, 11):
                assert_same(xp.roll(ours(x), shift, axis=axis), np.roll(x, shift, axis))
        for repetitions in [(), (2,), (0,), (2, 3), (1, 2, 2), (2, 1, 1, 2)]:
            assert_same(xp.tile(ours(x), repetitions), np.tile(x, repetitions))
        for axis in [None, *range(-len(shape), len(shape))]:
            length = x.size if axis is None else shape[axis]
            counts = rng.integers(0, 3, length)
            for repeats in (0, 1, 3, counts, np.asarray([2])):
                got = xp.repeat(ours(x), ours(repeats) if isinstance(repeats, np.ndarray) else repeats, axis=axis)
                assert_same(got, np.repeat(x, repeats, axis), None, (shape, axis, repeats))
    x = draw(rng, dtype, (3, 4))
    assert_same(xp.roll(ours(x), (1, -2), axis=(0, 1)), np.roll(x, (1, -2), (0, 1)))
    assert_same(xp.repeat(ours(x), ours(np.asarray([1, 0, 2], "uint8")), axis=0), np.repeat(x, [1, 0, 2], 0))
    for call in (lambda: xp.flip(ours(x), axis=2), lambda: xp.roll(ours(x), 1, axis=-3), lambda: xp.repeat(ours(x), 2, axis=2)):
        with pytest.raises(IndexError):
            call()


@pytest.mark.parametrize("dtype", ALL)
def test_taking(dtype):
    rng = np.random.default_rng(6)
    x = draw(rng, dtype, (4, 5, 3))
    for axis, kind in itertools.product(range(-3, 3), INTS):
        length = x.shape[axis]
        places = rng.integers(0 if kind in UNSIGNED else -length, length, 7).astype(kind)
        assert_same(xp.take(ours(x), ours(places), axis=axis), np.take(x, places.astype("int64"), axis))
        each = rng.integers(0 if kind in UNSIGNED else -length, length, [2 if one == axis % 3 else n for one, n in enumerate(x.shape)])
        assert_same(xp.take_along_axis(ours(x), ours(each.astype(kind)), axis=axis), np.take_along_axis(x, each, axis))
    vector = ours(x[0, :, 0])
    assert_same(xp.take(vector, xp.asarray([-1, 0])), x[0, [-1, 0], 0])
    assert_same(xp.take(vector, xp.asarray([], dtype=xp.int64)), x[0, :0, 0])
    # The axes besides broadcast, in both.
    each, zeros = np.asarray([[[0], [4], [-2]]]), np.zeros((2, 1, 3), "int64")
    assert_same(xp.take_along_axis(ours(x), ours(each), axis=1), np.take_along_axis(x, np.broadcast_to(each, (4, 3, 3)), 1))
    assert_same(xp.take_along_axis(ours(x[:1]), ours(zeros), axis=1), np.take_along_axis(np.broadcast_to(x[:1], (2, 5, 3)), zeros, 1))
    with pytest.raises(ValueError, match="axis"):
        xp.take(ours(x), xp.asarray([0]))
    for wrong in (xp.asarray([1.0]), xp.asarray([True])):
        with pytest.raises(TypeError, match="integers"):
            xp.take(vector, wrong)
        with pytest.raises(TypeError, match="integers"):
            xp.take_along_axis(vector, wrong)
    for bad in (7, -8):
        with pytest.raises((IndexError, ValueError)):
            xp.take(vector, xp.asarray([bad]))


@pytest.mark.parametrize("dtype", ALL)
def test_nonzero_and_where(dtype):
    rng = np.random.default_rng(7)
    for shape in SHAPES[1:]:
        x = draw(rng, dtype, shape)
        x[rng.random(shape) < 0.5] = 0
        got = xp.nonzero(ours(x))
        assert type(got) is tuple and len(got) == x.ndim
        for ours_, wanted in zip(got, np.nonzero(x)):
            assert_same(ours_, wanted)
        mask, y = rng.random(shape) < 0.5, draw(rng, dtype, shape)
        assert_same(xp.where(ours(mask), ours(x), ours(y)), np.where(mask, x, y))
        scalar = True if dtype == "bool" else 3
        assert_same(xp.where(ours(mask), ours(x), scalar), np.where(mask, x, np.asarray(scalar, dtype)))
        assert_same(xp.where(ours(mask), scalar, ours(x)), np.where(mask, np.asarray(scalar, dtype), x))
        assert [places.tolist() for places in xp.where(ours(mask))] == [places.tolist() for places in np.where(mask)]
    with pytest.raises(TypeError):
        xp.where(ours(mask), ours(x))
    with pytest.raises(Exception, match="nonzero"):
        xp.nonzero(ours(np.ones((), dtype)))


@pytest.mark.parametrize("dtype", INTS + REAL)
def test_searchsorted(dtype):
    rng = np.random.default_rng(8)
    edges, order = np.unique(draw(rng, dtype, (9,), 0, 30)), rng.permutation(30)
    for shape, side in itertools.product([(), (0,), (6,), (2, 3)], ("left", "right")):
        values = draw(rng, dtype, shape, 0, 35)
        assert_same(xp.searchsorted(ours(edges), ours(values), side=side), np.searchsorted(edges, values, side))
    shuffled = draw(rng, dtype, (30,), 0, 30)[order]
    sorter = np.argsort(shuffled)
    values = draw(rng, dtype, (6,), 0, 30)
    assert_same(xp.searchsorted(ours(shuffled), ours(values), sorter=ours(sorter)), np.searchsorted(shuffled, values, sorter=sorter))
    for kind in INTS:  # bytes count, too
        assert_same(xp.searchsorted(ours(shuffled), ours(values), sorter=ours(sorter.astype(kind))), np.searchsorted(shuffled, values, sorter=sorter))
    for wrong in ("bool", "float32"):
        with pytest.raises(TypeError, match="sorter"):
            xp.searchsorted(ours(shuffled), ours(values), sorter=ours(sorter.astype(wrong)))
    assert_same(xp.searchsorted(ours(edges), 3), np.searchsorted(edges, 3))
    with pytest.raises(ValueError, match="side"):
        xp.searchsorted(ours(edges), ours(values), side="middle")


@pytest.mark.parametrize("dtype", INTS + REAL)
def test_sorting(dtype):
    rng = np.random.default_rng(9)
    for shape in [(0,), (1,), (200,), (3, 50), (2, 0, 3), (5, 3, 20)]:
        for axis, descending in itertools.product(range(-len(shape), len(shape)), (False, True)):
            x = draw(rng, dtype, shape, 0, 9).round()
            order = np.argsort(x, axis, stable=True)
            if descending:  # equal elements keep their order
                order = np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, stable=True), axis)
            assert_same(xp.argsort(ours(x), axis=axis, descending=descending), order)
            assert_same(xp.sort(ours(x), axis=axis, descending=descending, stable=False), np.take_along_axis(x, order, axis))
            unstable = numpy_of(xp.argsort(ours(x), axis=axis, descending=descending, stable=False))
            np.testing.assert_array_equal(np.take_along_axis(x, unstable, axis), np.take_along_axis(x, order, axis))


def test_equal_zeros_keep_their_order():
    zeros = ours(np.asarray([0.0, -0.0, 0.0, -0.0, -1.0]))
    assert xp.argsort(zeros).tolist() == [4, 0, 1, 2, 3] and xp.argsort(zeros, descending=True).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("dtype", ALL)
def test_sets(dtype):
    rng = np.random.default_rng(10)
    for shape in SHAPES:
        x = draw(rng, dtype, shape) if dtype == "bool" else draw(rng, dtype, shape, 0, 4).round()
        got, wanted = xp.unique_all(ours(x)), np.unique_all(x)
        for ours_, theirs in zip(got, wanted):
            assert_same(ours_, theirs)
        assert got._fields == ("values", "indices", "inverse_indices", "counts")
        counts, inverse = xp.unique_counts(ours(x)), xp.unique_inverse(ours(x))
        assert counts._fields == ("values", "counts") and inverse._fields == ("values", "inverse_indices")
        assert_same(xp.unique_values(ours(x)), wanted.values)
        for ours_, theirs in zip((*counts, *inverse), (wanted.values, wanted.counts, wanted.values, wanted.inverse_indices)):
            assert_same(ours_, theirs)
        y = draw(rng, dtype, (3, 2)) if dtype == "bool" else draw(rng, dtype, (3, 2), 0, 4).round()
        for invert in (False, True):
            assert_same(xp.isin(ours(x), ours(y), invert=invert), np.isin(x, y, invert=invert))
    if dtype in INTS:
        assert xp.isin(xp.asarray([1, 2], dtype=getattr(xp, dtype)), 2).tolist() == [False, True]
        assert xp.isin(2, xp.asarray([1, 2], dtype=getattr(xp, dtype))).item() is True


@pytest.mark.parametrize("dtype", FLOATS)
def test_sets_with_nan_and_signed_zeros(dtype):
    x = ours(np.asarray([0.0, np.nan, -0.0, 1.0, np.nan, 1.0], dtype))
    values, indices, inverse, counts = xp.unique_all(x)
    assert numpy_of(values).real.tolist()[:2] == [0, 1] and np.isnan(numpy_of(values)).tolist() == [False, False, True, True]
    assert counts.tolist() == [2, 2, 1, 1] and indices.tolist()[:2] == [0, 3] and inverse.tolist() == [0, 2, 0, 1, 3, 1]
    assert not xp.isin(x, x)[1] and not xp.isin(x[1:2], x[1:2]).any()
    if dtype in COMPLEX:
        mixed = np.asarray([complex(1, np.nan), 1, complex(np.nan, 1), complex(1, np.nan), 1, 1j], dtype)
        assert sorted(xp.unique_counts(ours(mixed)).counts.tolist()) == [1, 1, 1, 1, 2]


INDICES = [
    0, -1, (1, 2), (-1, ..., 0), ..., (..., 1), None, (None, 1), (slice(None), None, 2), slice(1, None), slice(None, -1), slice(-2, None, 2),
    (slice(None, None, 2), slice(1, 3)), (0, 1, 2), (slice(0, 0),), (..., None), (None, ..., None, 0), slice(5, 2), slice(1, 99), (),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ALL)
def test_basic_indexing(dtype):
    x = draw(np.random.default_rng(11), dtype, (3, 4, 5))
    for index in INDICES:
        assert_same(ours(x)[index], x[index], None, index)
        written, wanted = ours(x), x.copy()
        written[index] = xp.asarray(1, dtype=getattr(xp, dtype))
        wanted[index] = 1
        assert_same(written, wanted, None, index)
    for index in (3, -4, (0, 4), (0, 0, 0, 0)):
        with pytest.raises(IndexError):
            ours(x)[index]


@pytest.mark.parametrize("dtype", ALL)
def test_indexing_by_arrays(dtype):
    rng = np.random.default_rng(12)
    x = draw(rng, dtype, (3, 4, 5))
    for shape in [(3,), (3, 4), (3, 4, 5)]:
        mask = rng.random(shape) < 0.5
        assert_same(ours(x)[ours(mask)], x[mask])
        assert_same(ours(x)[ours(mask & False)], x[mask & False])
        written, wanted = ours(x), x.copy()
        written[ours(mask)] = xp.asarray(0, dtype=getattr(xp, dtype))
        wanted[mask] = 0
        assert_same(written, wanted)
    assert_same(ours(x)[..., ours(np.asarray([True, False, True, False, True]))], x[..., [True, False, True, False, True]])
    zero_d = ours(x[0, 0, 0])
    assert zero_d[xp.asarray(True)].shape == (1,) and zero_d[xp.asarray(False)].shape == (0,)
    i, j = rng.integers(-3, 3, (2, 1)), rng.integers(-4, 4, (3,))
    for kind in ("int8", "int32", "int64"):
        a, b = ours(i.astype(kind)), ours(j.astype(kind))
        assert_same(ours(x)[a], x[i])
        assert_same(ours(x)[a, b], x[i, j])
        assert_same(ours(x)[a, b, 2], x[i, j, 2])
        assert_same(ours(x)[a, b, ours(np.asarray(0, kind))], x[i, j, 0])
    for kind in UNSIGNED[1:]:  # bytes are masks, as in PyTorch
        assert_same(ours(x)[ours(abs(j).astype(kind) % 3)], x[abs(j) % 3])
    with pytest.raises(IndexError):
        ours(x)[xp.asarray([3])]
    with pytest.raises((IndexError, ValueError)):
        ours(x)[xp.asarray([True, False])]
