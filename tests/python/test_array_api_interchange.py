"""Arrays exchanged with numpy by the standard's means: DLPack and buffers, both ways, over one memory where that is possible."""

import array

import numpy as np
import pytest

import opforge
from opforge import array_api as xp

from standard import ALL, assert_same, draw, numpy_of, ours


@pytest.mark.parametrize("dtype", ALL)
def test_one_memory_both_ways(dtype):
    for shape in [(), (5,), (2, 3, 4)]:
        theirs = np.asarray(draw(np.random.default_rng(1), dtype, shape))
        for make in (xp.from_dlpack, xp.asarray):
            x = make(theirs)
            assert_same(x, theirs)
            back = [np.from_dlpack(x), np.asarray(x), np.asarray(x, copy=False), np.from_dlpack(x, copy=False)]
            for numbers in back:
                assert numbers.dtype == theirs.dtype and np.shares_memory(numbers, theirs)
            x[...] = xp.asarray(1, dtype=x.dtype)
            assert (theirs == 1).all()


@pytest.mark.parametrize("dtype", ALL)
def test_copies_are_apart(dtype):
    theirs = np.zeros((2, 3), dtype)
    x = xp.from_dlpack(theirs, copy=True)
    taken = [np.from_dlpack(x, copy=True), np.array(x), numpy_of(xp.from_dlpack(x, copy=True)), numpy_of(xp.asarray(x, copy=True))]
    theirs[...] = 1
    assert not numpy_of(x).any()
    x[...] = xp.asarray(1, dtype=x.dtype)
    assert not any(numbers.any() for numbers in taken)


def test_strides():
    theirs = np.arange(24.0).reshape(2, 3, 4)
    for view in (theirs.T, theirs[:, ::2, 1:], theirs[..., 0], np.broadcast_to(theirs[0, 0], (3, 4)), theirs.transpose(1, 0, 2)):
        x = xp.from_dlpack(view)
        assert_same(x, view)
        assert np.from_dlpack(x).strides == view.strides and np.shares_memory(numpy_of(x), theirs)


def test_memory_that_cannot_be_ours_is_copied():
    numbers = np.arange(6.0).reshape(2, 3)
    unaligned = np.frombuffer(b"\0" + numbers.tobytes(), dtype="uint8")[1:].view("float64").reshape(2, 3)
    for theirs in (numbers[:, ::-1], unaligned):
        for make in (xp.from_dlpack, xp.asarray):
            assert_same(make(theirs), theirs)
            assert_same(make(theirs, copy=True), theirs)
            with pytest.raises((ValueError, BufferError)):
                make(theirs, copy=False)


def test_byte_order():
    theirs = np.arange(3).astype(np.dtype("int32").newbyteorder())
    assert_same(xp.asarray(theirs), np.arange(3, dtype="int32"))
    with pytest.raises(ValueError, match="byte order"):
        xp.asarray(theirs, copy=False)
    with pytest.raises(BufferError, match="byte order"):
        xp.from_dlpack(theirs)


def test_read_only_memory_stays_so():
    theirs = np.arange(3.0)
    theirs.flags.writeable = False
    for x in (xp.asarray(theirs), xp.from_dlpack(theirs)):
        assert np.shares_memory(numpy_of(x), theirs) and not np.from_dlpack(x).flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
    free = xp.from_dlpack(theirs, copy=True)
    free[0] = 7
    assert free.tolist() == [7, 1, 2] and theirs.tolist() == [0, 1, 2]


def test_devices():
    theirs = np.arange(3.0)
    assert xp.from_dlpack(theirs, device="cpu").device == xp.from_dlpack(theirs).device == opforge.device("cpu")
    assert xp.from_dlpack(theirs).__dlpack_device__() == (1, 0) == theirs.__dlpack_device__()
    assert np.from_dlpack(xp.arange(3), device="cpu").tolist() == [0, 1, 2]
    with pytest.raises((ValueError, RuntimeError)):
        xp.from_dlpack(theirs, device="nowhere")
    with pytest.raises(BufferError):
        xp.arange(3).__dlpack__(dl_device=(2, 0))
    with pytest.raises(AttributeError, match="__dlpack__"):
        xp.from_dlpack([1, 2])


def test_buffers():
    for theirs in (array.array("i", [1, 2]), bytearray(b"ab"), memoryview(np.ones((2, 3))), b"ab"):
        x = xp.asarray(theirs)
        assert_same(x, np.asarray(memoryview(theirs)))
        assert np.shares_memory(numpy_of(x), np.asarray(memoryview(theirs)))
    with pytest.raises(TypeError):
        xp.asarray("ab")


def test_scalars_of_numpy_lend_their_kind():
    for scalar in (np.float32(2), np.float64(2), np.int64(2), np.uint8(2)):
        assert_same(xp.multiply(ours(np.ones(2, "float32")), scalar), np.full(2, 2, "float32"))
    assert xp.add(ours(np.ones(2, "float32")), np.complex64(1j)).dtype == xp.complex64
    with pytest.raises(TypeError, match="ndarray"):
        xp.add(xp.ones(2), np.ones(2))
