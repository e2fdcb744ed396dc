"""numpy's arrays as tensors, and back."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import opforge as torch

from interchange import NUMPY_DTYPES, numpy_dtype, same


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


def test_numpy_of_a_parameter_where_nothing_is_recorded():
    x = torch.ones(3, requires_grad=True)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert x.numpy().tolist() == np.asarray(x).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()
