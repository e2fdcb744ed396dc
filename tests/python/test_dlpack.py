"""DLPack, with numpy and with structures written by hand."""

import copy
import ctypes
import gc
import threading

import numpy as np
import pytest

import opforge as torch

from interchange import NUMPY_DTYPES, numpy_dtype, same


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DlTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DlTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", DlTensor),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_name = ctypes.pythonapi.PyCapsule_GetName
capsule_name.restype, capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]


class Foreign:
    """A structure of DLPack's over six floats, and a count of its deletions."""

    def __init__(self, versioned=False, **changes):
        self.deleted = 0
        self.floats = (ctypes.c_float * 7)(0, 1, 2, 3, 4, 5, 6)
        self.shape, self.strides = (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(3, 1)
        fields = {
            "data": ctypes.addressof(self.floats),
            "device": Device(1, 0),
            "ndim": 2,
            "dtype": DataType(2, 32, 1),
            "shape": self.shape,
            "strides": self.strides,
            "byte_offset": 0,
        }
        own = {name: changes.pop(name) for name in ("major", "flags") if name in changes}
        tensor = DlTensor(**(fields | changes))
        self.deleter = DELETER(self.delete)
        if versioned:
            self.managed = Versioned(**({"major": 1, "minor": 0, "deleter": self.deleter, "tensor": tensor} | own))
        else:
            self.managed = Managed(tensor, None, self.deleter)
        self.name = b"dltensor_versioned" if versioned else b"dltensor"

    def delete(self, _):
        self.deleted += 1

    def capsule(self):
        return new_capsule(ctypes.addressof(self.managed), self.name, None)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_dlpack_with_numpy(dtype):
    numbers = np.array([[0, 1, 1], [1, 0, 1]], dtype=numpy_dtype(dtype))
    tensor = torch.from_dlpack(numbers)
    assert tensor.dtype is dtype and same(tensor, numbers) and np.shares_memory(tensor.numpy(), numbers)
    back = np.from_dlpack(tensor.T)
    assert back.dtype == numbers.dtype and np.shares_memory(back, numbers) and back.tolist() == numbers.T.tolist()


@pytest.mark.parametrize("dtype", NUMPY_DTYPES + [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("max_version", [None, (1, 0), (1, 3), (0, 8)])
def test_dlpack_with_itself(dtype, max_version):
    tensor = torch.tensor([[1, 0], [0, 1]], dtype=dtype)
    capsule = tensor[:, 1:].__dlpack__(max_version=max_version)
    assert capsule_name(capsule) == (b"dltensor_versioned" if max_version and max_version[0] else b"dltensor")
    back = torch.from_dlpack(capsule)
    assert capsule_name(capsule).startswith(b"used_dltensor")
    assert back.dtype is dtype and back.tolist() == [[0], [1]]
    tensor.fill_(1) if hasattr(tensor, "fill_") else tensor.copy_(torch.tensor(1))
    assert back.tolist() == [[1], [1]]
    with pytest.raises(BufferError, match="used before"):
        torch.from_dlpack(capsule)


def test_dlpack_of_odd_shapes():
    strided = [np.broadcast_to(np.arange(3), (2, 3)).copy(), np.arange(12).reshape(3, 4)[::2, ::3]]
    for numbers in [np.array(3.5), np.zeros((0, 4)), np.zeros((0, 4), complex), *strided]:
        assert same(torch.from_dlpack(numbers), numbers)
        assert np.from_dlpack(torch.from_numpy(numbers)).tolist() == numbers.tolist()


def test_truth_values_that_stand_for_many_are_read_once():
    many = torch.ones(1, dtype=torch.bool).expand(2**40)
    assert torch.from_dlpack(many).shape == many.shape
    assert copy.copy(many).shape == many.shape


def test_dlpack_flags():
    numbers = np.ones(3)
    numbers.flags.writeable = False
    tensor = torch.from_dlpack(numbers)
    with pytest.raises(ValueError, match="read-only"):
        tensor.add_(1)
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()
    assert not np.from_dlpack(tensor).flags.writeable
    copied = torch.from_dlpack(tensor.__dlpack__(max_version=(1, 0), copy=True))
    assert copied.add_(1).tolist() == [2, 2, 2] and tensor.tolist() == [1, 1, 1]
    assert torch.from_dlpack(numbers, copy=True).add_(1).tolist() == [2, 2, 2]
    foreign = torch.from_dlpack(Foreign(versioned=True, flags=1).capsule())
    with pytest.raises(ValueError, match="read-only"):
        foreign.add_(1)


def test_dlpack_refuses_what_it_cannot_hand_over():
    tensor = torch.tensor([1.0])
    assert tensor.__dlpack_device__() == (1, 0)
    for call in [
        lambda: torch.tensor([1.0], requires_grad=True).__dlpack__(),
        lambda: torch.tensor([1.0], device="meta").__dlpack__(),
        lambda: torch.tensor([1.0], device="meta").__dlpack_device__(),
        lambda: tensor.__dlpack__(dl_device=(2, 0)),
    ]:
        with pytest.raises(BufferError):
            call()
    with pytest.raises(ValueError, match="stream"):
        tensor.__dlpack__(stream=1)
    for wrong in [3, [1.0], None]:
        with pytest.raises(TypeError, match="__dlpack__"):
            torch.from_dlpack(wrong)


def test_foreign_structures_are_deleted_once():
    for versioned in [False, True]:
        foreign = Foreign(versioned)
        tensor = torch.from_dlpack(foreign.capsule())
        assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
        view = tensor[1]
        del tensor
        gc.collect()
        assert foreign.deleted == 0 and view.tolist() == [3, 4, 5]
        del view
        gc.collect()
        assert foreign.deleted == 1
    assert torch.from_dlpack(Foreign(strides=None).capsule()).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert torch.from_dlpack(Foreign(byte_offset=4).capsule()).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert torch.from_dlpack(Foreign(ndim=0, shape=None, strides=None).capsule()).tolist() == 0
    empty = (ctypes.c_int64 * 2)(0, 3)
    assert torch.from_dlpack(Foreign(shape=empty, data=None).capsule()).shape == (0, 3)


def list_of(*numbers):
    return (ctypes.c_int64 * len(numbers))(*numbers)


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize(
    "changes",
    [
        {"ndim": -1},
        {"ndim": 33},
        {"ndim": 2**31 - 1},
        {"shape": None},
        {"shape": list_of(-1, 3)},
        {"shape": list_of(2**62, 2**62)},
        {"shape": list_of(2**62, 0)},
        {"strides": list_of(-3, 1)},
        {"strides": list_of(2**62, 2**62)},
        {"data": None},
        {"byte_offset": 1},
        {"dtype": DataType(2, 32, 4)},
        {"dtype": DataType(2, 32, 0)},
        {"dtype": DataType(2, 8, 1)},
        {"dtype": DataType(0, 4, 1)},
        {"dtype": DataType(3, 64, 1)},
        {"dtype": DataType(99, 32, 1)},
        {"device": Device(2, 0)},
        {"device": Device(-7, 0)},
    ],
)
def test_malformed_structures_are_refused_and_left_alone(changes, versioned):
    foreign = Foreign(versioned, **changes)
    capsule = foreign.capsule()
    with pytest.raises(torch.OpforgeError):
        torch.from_dlpack(capsule)
    assert capsule_name(capsule) == foreign.name and foreign.deleted == 0


def test_other_versions_and_other_capsules_are_refused():
    foreign = Foreign(versioned=True, major=2)
    with pytest.raises(BufferError, match="version 2.0"):
        torch.from_dlpack(foreign.capsule())
    with pytest.raises(BufferError, match="capsule"):
        torch.from_dlpack(new_capsule(ctypes.addressof(foreign.managed), b"something", None))
    assert foreign.deleted == 0


def test_objects_with_odd_dlpack_methods():
    class Elsewhere:
        def __dlpack__(self, **_):
            raise AssertionError("not to be asked")

        def __dlpack_device__(self):
            return (2, 0)

    class Old:
        def __init__(self):
            self.foreign = Foreign()

        def __dlpack__(self, stream=None):
            return self.foreign.capsule()

        def __dlpack_device__(self):
            return (1, 0)

    class Liar:
        def __dlpack__(self, **_):
            return "no capsule"

    with pytest.raises(ValueError, match="device"):
        torch.from_dlpack(Elsewhere())
    old = Old()
    assert torch.from_dlpack(old).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError):
        torch.from_dlpack(Liar())


def test_threads_may_let_go_of_shared_memory_anywhere():
    """Arrays are freed by whichever thread runs the last kernel on them, while others hold the interpreter's lock."""

    def work(failures):
        try:
            for i in range(20):
                numbers = np.full(300_000, float(i))
                result = (torch.from_numpy(numbers) + 1).exp().log()
                del numbers
                assert result[0].item() == pytest.approx(i + 1)
        except BaseException as error:
            failures.append(error)

    failures = []
    threads = [threading.Thread(target=work, args=(failures,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not failures and not any(thread.is_alive() for thread in threads)
