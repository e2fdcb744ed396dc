"""Data in and out of tensors: Python's numbers and sequences, numpy, the buffer protocol, DLPack."""

import array
import collections
import ctypes
import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import opforge as torch

FLOATS = [torch.float16, torch.float32, torch.float64]
INTS = [torch.int8, torch.int16, torch.int32, torch.int64]
UINTS = [torch.uint8, torch.uint16, torch.uint32, torch.uint64]
COMPLEX = [torch.complex64, torch.complex128]
NUMPY_DTYPES = [torch.bool, *UINTS, *INTS, *FLOATS, *COMPLEX]


def numpy_dtype(dtype):
    return np.dtype(repr(dtype).removeprefix("opforge.").replace("bool", "bool_"))


def same(tensor, array):
    """Whether a tensor equals a numpy array in dtype, shape and elements."""
    return numpy_dtype(tensor.dtype) == array.dtype and tensor.tolist() == array.tolist() and tuple(tensor.shape) == array.shape


# Numbers and sequences


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (True, torch.bool),
        (3, torch.int64),
        (-(2**63), torch.int64),
        (2.5, torch.float32),
        (1j, torch.complex64),
        ([], torch.float32),
        ([[], []], torch.float32),
        ([True, 2], torch.int64),
        ([True, 2.5], torch.float32),
        ([1, 2.5, 1j], torch.complex64),
        ([2**63, 0.5], torch.float32),
        ([[1, 2], [3, 4]], torch.int64),
        (((1, 2), [3, 4]), torch.int64),
        (range(4), torch.int64),
        (collections.deque([1.0, 2.0]), torch.float32),
        (np.float32(1.5), torch.float32),
        (np.float64(1.5), torch.float64),
        ([np.int32(2), 1], torch.int64),
        ([np.uint64(2**64 - 1)], torch.uint64),
        ([np.float16(1.5), np.float16(2)], torch.float16),
    ],
)
def test_the_numbers_decide_the_dtype(data, dtype):
    tensor = torch.tensor(data)
    assert tensor.dtype is dtype
    assert tensor.tolist() == (np.array(list(data)).tolist() if hasattr(data, "__len__") else data)


def test_shapes_follow_the_nesting():
    assert torch.tensor(1).shape == ()
    assert torch.tensor([[[1, 2, 3]] * 2] * 4).shape == (4, 2, 3)
    assert torch.tensor([[], []]).shape == (2, 0)
    assert torch.tensor([[[]], [[]]]).shape == (2, 1, 0)


def test_lists_may_hold_tensors_and_arrays():
    zero_d = torch.tensor([torch.tensor(1.0, dtype=torch.float64), 2])
    assert zero_d.dtype is torch.float64 and zero_d.tolist() == [1.0, 2.0]
    rows = torch.tensor([np.arange(3), np.arange(3) * 2])
    assert rows.dtype is torch.int64 and rows.tolist() == [[0, 1, 2], [0, 2, 4]]
    mixed = torch.tensor([np.ones(2, np.float32), [1, 2], torch.tensor([3, 4])])
    assert mixed.dtype is torch.float32 and mixed.tolist() == [[1, 1], [1, 2], [3, 4]]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES + [torch.bfloat16])
def test_an_explicit_dtype_wins(dtype):
    assert torch.tensor([0, 1, 1], dtype=dtype).tolist() == [0, 1, 1]
    assert torch.tensor([True, False], dtype=dtype).dtype is dtype


def test_conversions_of_an_explicit_dtype_are_those_of_pytorch():
    assert torch.tensor([1.7, -1.7], dtype=torch.int32).tolist() == [1, -1]
    assert torch.tensor([-1], dtype=torch.uint8).tolist() == [255]
    assert torch.tensor([0.5, 0], dtype=torch.bool).tolist() == [True, False]
    assert torch.tensor([1e300], dtype=torch.float32).tolist() == [float("inf")]
    assert torch.tensor([2**70], dtype=torch.float64).tolist() == [2.0**70]
    assert torch.tensor([2**64 - 1], dtype=torch.uint64).tolist() == [2**64 - 1]


@pytest.mark.parametrize(
    ("data", "error", "place"),
    [
        ([[1, 2], [3]], ValueError, r"data\[1\]: a sequence of length 1 "),
        ([[1, 2], 3], ValueError, r"data\[1\]: a number"),
        ([1, [2]], ValueError, r"data\[1\]: a sequence"),
        ([[[1], [2]], [[3], []]], ValueError, r"data\[1\]\[1\]: a sequence of length 0 "),
        (None, TypeError, "data: a NoneType"),
        ([[1, None]], TypeError, r"data\[0\]\[1\]: a NoneType"),
        ("text", TypeError, "data: a str"),
        (["a", "b"], TypeError, r"data\[0\]: a str"),
        (b"bytes", TypeError, "data: a bytes"),
        ({1: 2}, TypeError, "data: a dict"),
        ({1, 2}, TypeError, "data: a set"),
        ([object()], TypeError, r"data\[0\]: a object"),
        ((i for i in range(3)), TypeError, "data: a generator"),
        (2**63, ValueError, "64 bits"),
        ([10**30], ValueError, "64 bits"),
        (np.array([object()]), TypeError, "format 'O'"),
        (np.array(["a"]), TypeError, "format"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), TypeError, "dtype"),
    ],
)
def test_errors_name_place_and_type(data, error, place):
    with pytest.raises(error, match=place):
        torch.tensor(data)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [([300], torch.uint8), ([-(2**40)], torch.int32), ([float("nan")], torch.int64), ([-1], torch.uint64), ([1j], torch.float32)],
)
def test_numbers_must_fit_an_explicit_dtype(data, dtype):
    with pytest.raises((ValueError, TypeError), match=r"data\[0\]"):
        torch.tensor(data, dtype=dtype)


def test_data_that_contains_itself_or_changes_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="at most 32"):
        torch.tensor(loop)

    class Shrinking:
        def __len__(self):
            return 3

        def __getitem__(self, i):
            raise IndexError("gone")

    with pytest.raises(IndexError, match="gone"):
        torch.tensor(Shrinking())


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="dtype"):
        torch.tensor([1], dtype="float33")
    with pytest.raises(TypeError, match="device"):
        torch.tensor([1], device="cuda:0")
    with pytest.raises(TypeError):
        torch.tensor([1], requires_grad=True)
    assert torch.tensor([1.0], device="cpu").device == torch.device("cpu")
    assert torch.tensor([1.0], device="meta").is_meta


def test_tensor_copies_and_as_tensor_does_not():
    source = torch.tensor([1.0, 2.0])
    copy, alias = torch.tensor(source), torch.as_tensor(source)
    assert alias is source
    source.add_(1)
    assert copy.tolist() == [1.0, 2.0]
    assert torch.as_tensor(source, dtype=torch.float64).dtype is torch.float64

    numbers = np.array([1.0, 2.0])
    shared, copied = torch.as_tensor(numbers), torch.tensor(numbers)
    numbers[0] = 9
    assert shared.tolist() == [9.0, 2.0] and copied.tolist() == [1.0, 2.0]


def test_asarray_copies_as_told():
    numbers = np.array([1.0, 2.0])
    assert np.shares_memory(torch.asarray(numbers, copy=False).numpy(), numbers)
    assert np.shares_memory(torch.asarray(numbers).numpy(), numbers)
    assert not np.shares_memory(torch.asarray(numbers, copy=True).numpy(), numbers)
    for data, dtype in [([1, 2], None), (numbers, torch.float32)]:
        with pytest.raises(ValueError):
            torch.asarray(data, dtype=dtype, copy=False)
    with pytest.raises(ValueError):
        torch.asarray(numbers[::-1], copy=False)
    assert torch.asarray(numbers[::-1]).tolist() == [2.0, 1.0]
    assert torch.asarray([1, 2], dtype=torch.float64).dtype is torch.float64


def test_the_constructor_takes_sizes_and_data():
    assert torch.Tensor().shape == (0,) and torch.Tensor().dtype is torch.float32
    assert torch.Tensor(2, 3).shape == (2, 3)
    assert torch.Tensor(torch.Size([2, 3])).shape == (2, 3)
    assert torch.Tensor((2, 3)).tolist() == [2.0, 3.0]
    assert torch.Tensor([1, 2]).dtype is torch.float32
    assert torch.Tensor(np.arange(2)).dtype is torch.float32
    assert torch.Tensor(torch.tensor([1, 2])).tolist() == [1, 2]
    for wrong in [(2.5,), (None,), (-1,), ("a",), (2**40, 2**40)]:
        with pytest.raises((TypeError, ValueError)):
            torch.Tensor(*wrong)
    with pytest.raises(TypeError, match="unexpected"):
        torch.Tensor([1.0], colour="red")


def test_new_tensors_are_like_the_receiver():
    like = torch.tensor([1, 2], dtype=torch.int32)
    assert like.new_tensor([1.5]).tolist() == [1] and like.new_tensor([1.5]).dtype is torch.int32
    assert like.new_tensor([1.5], dtype=torch.float64).tolist() == [1.5]
    assert like.new([1, 2]).dtype is torch.int32 and like.new(2, 2).shape == (2, 2)


class Marked(torch.Tensor):
    def __init__(self, data, mark=None):
        self.mark = mark


def test_subclasses():
    made = Marked([1.0, 2.0])
    assert type(made) is Marked and made.tolist() == [1.0, 2.0] and made.mark is None
    source = torch.tensor([1.0, 2.0])
    view = torch.Tensor._make_subclass(Marked, source)
    source.add_(1)
    assert type(view) is Marked and view.tolist() == [2.0, 3.0]
    assert type(source.as_subclass(Marked)) is Marked
    with pytest.raises(TypeError):
        torch.Tensor._make_subclass(int, source)


def test_the_default_dtype():
    assert torch.get_default_dtype() is torch.float32
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.tensor([1.0]).dtype is torch.float64
        assert torch.tensor([1j]).dtype is torch.complex128
        assert torch.Tensor(2).dtype is torch.float64
        assert (torch.tensor([1]) * 2.5).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    for wrong in [torch.int64, None, "text"]:
        with pytest.raises(TypeError):
            torch.set_default_dtype(wrong)


# numpy


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_numpy_there_and_back_shares_memory(dtype):
    numbers = np.array([[0, 1, 1], [1, 0, 1]], dtype=numpy_dtype(dtype))
    tensor = torch.from_numpy(numbers)
    assert tensor.dtype is dtype and same(tensor, numbers)
    back = tensor.numpy()
    assert back.dtype == numbers.dtype and np.shares_memory(back, numbers)
    back[0, 0] = 1
    assert numbers[0, 0] == 1 and tensor[0, 0].item() == 1


def test_views_of_arrays_are_taken_as_they_are():
    base = np.arange(24).reshape(2, 3, 4)
    for view in [base.T, base[:, ::2], base[1], base[:, :, 2], base[:0], np.broadcast_to(base[:1], (5, 3, 4)), np.array(3.0)]:
        tensor = torch.from_numpy(view)
        assert same(tensor, view) and np.array_equal(tensor.numpy(), view)


def test_read_only_arrays_stay_read_only():
    numbers = np.ones(3)
    numbers.flags.writeable = False
    tensor = torch.from_numpy(numbers)
    with pytest.raises(ValueError, match="read-only"):
        tensor.add_(1)
    assert not tensor.numpy().flags.writeable
    assert (tensor + 1).numpy().flags.writeable
    assert memoryview(tensor).readonly


def test_arrays_that_tensors_cannot_show_are_refused():
    misaligned = np.frombuffer(bytearray(9), dtype=np.uint8)[1:].view(np.float64)
    fields = np.zeros(3, dtype=[("a", np.uint8), ("b", np.float32)])["b"]
    truths = np.array([2, 1], dtype=np.uint8).view(np.bool_)
    for wrong in [np.ones(3)[::-1], np.ones(3, ">f4"), misaligned, fields, truths]:
        with pytest.raises(ValueError):
            torch.from_numpy(wrong)
    for wrong in [np.array(["a"]), np.array([None]), np.zeros(2, "M8[s]"), np.zeros(2, "i4,i4"), np.zeros(2, np.longdouble)]:
        with pytest.raises(TypeError):
            torch.from_numpy(wrong)
    for wrong in [[1, 2], 3.0, np.float64(3), None, torch.tensor([1])]:
        with pytest.raises(TypeError, match="ndarray"):
            torch.from_numpy(wrong)
    assert torch.tensor(np.arange(3)[::-1]).tolist() == [2, 1, 0]
    assert torch.tensor(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]


def test_what_numpy_cannot_show_is_refused():
    with pytest.raises(TypeError, match="bfloat16"):
        torch.tensor([1.0], dtype=torch.bfloat16).numpy()
    with pytest.raises(TypeError, match="meta"):
        torch.tensor([1.0], device="meta").numpy()
    tracked = torch.tensor([1.0], requires_grad=True)
    for export in [tracked.numpy, lambda: np.asarray(tracked), tracked.__array__]:
        with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
            export()
    assert tracked.numpy(force=True).tolist() == [1.0]
    assert tracked.detach().numpy().tolist() == [1.0]


def test_the_array_protocol():
    tensor = torch.tensor([1.0, 2.0])
    assert np.shares_memory(np.asarray(tensor), tensor.numpy())
    assert not np.shares_memory(np.array(tensor, copy=True), tensor.numpy())
    assert np.asarray(tensor, dtype=np.int32).dtype == np.int32
    assert not np.shares_memory(tensor.__array__(copy=True), tensor.numpy())
    assert tensor.__array__(np.float64).dtype == np.float64
    with pytest.raises(ValueError):
        tensor.__array__(np.float64, copy=False)
    assert np.stack([tensor, tensor]).shape == (2, 2)


def test_operators_and_functions_with_arrays_and_numpy_scalars_give_tensors():
    tensor, numbers = torch.tensor([1.0, 2.0]), np.array([3.0, 4.0])
    for result, wanted in [
        (tensor + numbers, [4.0, 6.0]),
        (numbers + tensor, [4.0, 6.0]),
        (numbers - tensor, [2.0, 2.0]),
        (np.float64(2) * tensor, [2.0, 4.0]),
        (tensor / np.int32(2), [0.5, 1.0]),
        (tensor == numbers, [False, False]),
        (np.negative(tensor), [-1.0, -2.0]),
    ]:
        assert type(result) is torch.Tensor and result.tolist() == wanted
    assert (np.float64(2) * tensor).dtype is torch.float32
    assert (tensor + numbers).dtype is torch.float64
    with pytest.raises(TypeError):
        tensor + np.array(["a", "b"])


def test_kernels_and_arrays_take_turns():
    """Large kernels run behind the caller's back, but not on memory that numpy sees."""
    tensor = torch.tensor(np.zeros(3_000_000, np.float32))
    view = tensor.numpy()
    for i in range(1, 4):
        tensor.add_(1)
        assert view[0] == view[-1] == i
    numbers = np.ones(3_000_000)
    total = torch.from_numpy(numbers).exp()
    numbers[:] = 0
    assert total[0].item() == total[-1].item() == pytest.approx(np.e)


def test_memory_lives_as_long_as_it_is_used():
    class Array(np.ndarray):
        pass

    numbers = np.arange(5).view(Array)
    gone = weakref.ref(numbers)
    tensor = torch.from_numpy(numbers)
    view = tensor[1:]
    del numbers, tensor
    gc.collect()
    assert gone() is not None and view.tolist() == [1, 2, 3, 4]
    del view
    gc.collect()
    assert gone() is None

    exported = torch.tensor([1.0, 2.0]).numpy()
    gc.collect()
    assert exported.tolist() == [1.0, 2.0]


def test_exports_leak_nothing():
    numbers, tensor = np.ones(4), torch.tensor([1.0, 2.0])
    before = sys.getrefcount(numbers), sys.getrefcount(tensor)
    for _ in range(100):
        torch.from_numpy(numbers)
        torch.tensor(numbers)
        tensor.numpy()
        memoryview(tensor).release()
        np.from_dlpack(tensor)
        tensor.__dlpack__()
        torch.from_dlpack(numbers)
        with pytest.raises(ValueError):
            torch.from_numpy(numbers[::-1])
    gc.collect()
    assert (sys.getrefcount(numbers), sys.getrefcount(tensor)) == before


def test_importing_opforge_does_not_import_numpy():
    code = "import sys, opforge; opforge.tensor([[1.0, 2.0]]); sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# The buffer protocol


def test_memoryviews_show_tensors():
    tensor = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    view = memoryview(tensor)
    assert (view.format, view.itemsize, view.shape, view.strides, view.readonly) == ("f", 4, (2, 2), (8, 4), False)
    view[0, 1] = 9
    assert tensor.tolist() == [[1.0, 9.0], [3.0, 4.0]]
    assert bytes(torch.tensor([1, 2], dtype=torch.uint8)) == b"\x01\x02"
    assert memoryview(tensor.T).strides == (4, 8)
    assert memoryview(torch.tensor(5)).shape == () and memoryview(torch.tensor(5))[()] == 5
    assert memoryview(torch.tensor([])).nbytes == 0


def test_what_the_buffer_protocol_cannot_show_is_refused():
    for wrong in [
        torch.tensor([1.0], dtype=torch.bfloat16),
        torch.tensor([1.0], device="meta"),
        torch.tensor([1.0], requires_grad=True),
    ]:
        with pytest.raises(BufferError):
            memoryview(wrong)
    with pytest.raises((BufferError, TypeError)):
        b"".join([torch.tensor([[1.0, 2.0], [3.0, 4.0]]).T])


def test_buffers_of_other_modules():
    assert torch.asarray(array.array("f", [1.5, 2.5])).dtype is torch.float32
    assert torch.tensor(bytearray(b"ab")).tolist() == [97, 98]
    assert torch.tensor(bytearray(b"ab")).dtype is torch.int64
    assert torch.asarray(memoryview(b"abcd").cast("B", (2, 2))).tolist() == [[97, 98], [99, 100]]
    assert torch.asarray((ctypes.c_double * 3)(1, 2, 3)).tolist() == [1, 2, 3]


def test_frombuffer():
    data = bytearray(np.arange(4, dtype=np.float32).tobytes())
    tensor = torch.frombuffer(data, dtype=torch.float32)
    assert tensor.tolist() == [0, 1, 2, 3]
    tensor.add_(1)
    assert np.frombuffer(data, np.float32).tolist() == [1, 2, 3, 4]
    assert torch.frombuffer(data, dtype=torch.float32, count=2, offset=4).tolist() == [2, 3]
    with pytest.raises(ValueError, match="read-only"):
        torch.frombuffer(bytes(8), dtype=torch.float32).add_(1)
    for options in [{"count": 5}, {"offset": 17}, {"offset": 16}, {"offset": 2, "count": 1}, {"count": 0}]:
        with pytest.raises(ValueError):
            torch.frombuffer(data, dtype=torch.float32, **options)
    with pytest.raises(TypeError):
        torch.frombuffer([1, 2], dtype=torch.float32)


# DLPack


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


@pytest.mark.parametrize("dtype", NUMPY_DTYPES + [torch.bfloat16])
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
    for numbers in [np.array(3.5), np.zeros((0, 4)), np.broadcast_to(np.arange(3), (2, 3)).copy(), np.arange(12).reshape(3, 4)[::2, ::3]]:
        assert same(torch.from_dlpack(numbers), numbers)
        assert np.from_dlpack(torch.from_numpy(numbers)).tolist() == numbers.tolist()


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
