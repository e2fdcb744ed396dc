"""Tensors of Python's numbers and sequences."""

import collections

import numpy as np
import pytest

import opforge as torch

from interchange import NUMPY_DTYPES


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


def test_tensors_of_one_element_are_numbers_in_lists():
    assert torch.tensor([torch.tensor([1]), torch.tensor([[2]])]).tolist() == [1, 2]
    assert torch.tensor([3, torch.tensor([1.5])]).tolist() == [3, 1.5] and torch.tensor([[torch.tensor([1])], [2]]).tolist() == [[1], [2]]
    assert torch.tensor([[1], torch.tensor([2])]).tolist() == [[1], [2]] and torch.tensor([np.array([1]), np.array([2])]).tolist() == [[1], [2]]


def test_classes_of_python_s_numbers_are_dtypes():
    expected = {float: torch.float64, complex: torch.complex128, int: torch.int64, bool: torch.bool}
    for kind, dtype in expected.items():
        assert torch.zeros(1, dtype=kind).dtype is torch.ones(1).to(kind).dtype is dtype
    assert torch.promote_types(float, torch.float32) is torch.float64 and not torch.can_cast(float, int)


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
    with pytest.raises(torch.DeviceError, match="cuda:0"):
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


def test_arrays_that_are_not_aligned_are_copied():
    numbers = np.arange(5.0)[1:].view(np.complex128)
    odd = np.frombuffer(bytes(9), dtype=np.uint8)[1:].view(np.float32)
    for array in (numbers, numbers[:0], odd, odd[:0]):
        assert np.array_equal(torch.tensor(array).numpy(), array)
