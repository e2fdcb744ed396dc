"""DLPack's exchange by functions of C, called as a library of another language calls them."""

import ctypes
import gc

import numpy as np
import pytest

import opforge as torch

from test_dlpack import DlTensor


class Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class Managed(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [("version", Version), ("context", ctypes.c_void_p), ("deleter", DELETER), ("flags", ctypes.c_uint64), ("tensor", DlTensor)]
SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
PLACE = ctypes.POINTER(ctypes.POINTER(Managed))


class Functions(ctypes.Structure):
    _fields_ = [
        ("version", Version),
        ("older", ctypes.c_void_p),
        ("allocate", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(DlTensor), PLACE, ctypes.c_void_p, SET_ERROR)),
        ("give", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, PLACE)),
        ("take", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Managed), ctypes.POINTER(ctypes.py_object))),
        ("show", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DlTensor))),
        ("stream", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))),
    ]


@pytest.fixture(scope="module")
def functions():
    capsule = torch.Tensor.__dlpack_c_exchange_api__
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found = Functions.from_address(pointer(capsule, b"dlpack_exchange_api"))
    assert (found.version.major, found.version.minor, found.older) == (1, 3, None)
    return found


def given(functions, tensor):
    place = ctypes.POINTER(Managed)()
    assert functions.give(tensor, ctypes.byref(place)) == 0
    return place


def taken(functions, structure):
    result = ctypes.py_object()
    assert functions.take(structure, ctypes.byref(result)) == 0
    return result.value


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int8, torch.bool, torch.bfloat16, torch.complex64])
def test_there_and_back_shares_memory(functions, dtype):
    for x in (torch.arange(12).to(dtype).reshape(3, 4), torch.arange(12).to(dtype).reshape(3, 4).t()[1:], torch.ones((), dtype=dtype), torch.ones(0, 3, dtype=dtype)):
        y = taken(functions, given(functions, x))
        assert y.dtype == x.dtype and y.shape == x.shape and torch.equal(y, x)
        if x.numel():
            x.fill_(0)
            assert torch.equal(y, x) and y.data_ptr() == x.data_ptr()


def test_memory_lives_as_long_as_its_users(functions):
    x = torch.full((1000,), 3.0)
    structure = given(functions, x)
    del x
    gc.collect()
    y = taken(functions, structure)
    assert y.sum().item() == 3000
    unwanted = given(functions, y)
    unwanted.contents.deleter(unwanted)
    assert y.sum().item() == 3000


def test_views_of_what_an_object_holds(functions):
    x, seen = torch.arange(20.0).reshape(4, 5)[1:, ::2], DlTensor()
    assert functions.show(x, ctypes.byref(seen)) == 0
    assert (seen.ndim, seen.shape[:2], seen.strides[:2], seen.data) == (2, [3, 3], [5, 2], x.data_ptr())
    assert (seen.device.kind, seen.dtype.code, seen.dtype.bits, seen.byte_offset) == (1, 2, 32, 0)


def test_new_tensors(functions):
    like, place, told = DlTensor(), ctypes.POINTER(Managed)(), []
    lengths = (ctypes.c_int64 * 2)(2, 3)
    like.ndim, like.shape, like.device.kind = 2, lengths, 1
    like.dtype.code, like.dtype.bits, like.dtype.lanes = 2, 64, 1
    set_error = SET_ERROR(lambda _, kind, message: told.append((kind, message)))
    assert functions.allocate(ctypes.byref(like), ctypes.byref(place), None, set_error) == 0 and not told
    made = taken(functions, place)
    assert made.shape == (2, 3) and made.dtype == torch.float64 and np.all(made.numpy() == 0)
    like.dtype.bits = 7
    assert functions.allocate(ctypes.byref(like), ctypes.byref(place), None, set_error) == -1
    assert told[0][0] == b"RuntimeError" and b"dtype" in told[0][1]


def test_what_is_refused(functions):
    place, stream = ctypes.POINTER(Managed)(), ctypes.c_void_p(7)
    for wrong, error in ((3, TypeError), (torch.ones(2, requires_grad=True), BufferError), (torch.ones(2, device="meta"), BufferError)):
        with pytest.raises(error):
            functions.give(wrong, ctypes.byref(place))
        with pytest.raises(error):
            functions.show(wrong, ctypes.byref(DlTensor()))
    assert functions.stream(1, 0, ctypes.byref(stream)) == 0 and stream.value is None
    with pytest.raises(BufferError, match="streams"):
        functions.stream(2, 0, ctypes.byref(stream))
    structure = given(functions, torch.ones(2))
    structure.contents.version.major = 9
    with pytest.raises(BufferError, match=r"9\.\d"):
        functions.take(structure, ctypes.byref(ctypes.py_object()))
    structure.contents.deleter(structure)
