"""Tensors that are pickled and copied, and their storages."""

import copy
import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest

import opforge as torch

from saving import DTYPES, equal


# Pickle


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", DTYPES)
def test_pickle_keeps_everything(dtype, protocol):
    tensor = torch.tensor([[0, 1], [1, 0], [1, 1]], dtype=dtype)
    for source in [tensor, tensor.T, tensor[1:, 0], tensor[0, 0], tensor[:0]]:
        back = pickle.loads(pickle.dumps(source, protocol=protocol))
        assert equal(back, source) and back.stride() == source.stride()


def test_pickle_keeps_shared_memory_within_one_pickle():
    base = torch.tensor([1.0, 2.0, 3.0, 4.0])
    whole, part, other = pickle.loads(pickle.dumps([base, base[1:3], torch.tensor([1.0])]))
    whole.add_(1)
    assert part.tolist() == [3.0, 4.0] and other.tolist() == [1.0]
    assert base.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_pickle_out_of_band_copies_nothing():
    tensor = torch.tensor(np.arange(100_000))
    buffers = []
    data = pickle.dumps(tensor, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 1000 and len(buffers) == 1 and buffers[0].raw().nbytes == tensor.nbytes
    assert equal(pickle.loads(data, buffers=buffers), tensor)


class Marked(torch.Tensor):
    pass


def test_pickle_and_copies_keep_class_attributes_and_requires_grad():
    tensor = torch.Tensor._make_subclass(Marked, torch.tensor([1.0, 2.0]), True)
    tensor.mark = ["kept"]
    for back in [pickle.loads(pickle.dumps(tensor)), copy.deepcopy(tensor), copy.copy(tensor)]:
        assert type(back) is Marked and back.requires_grad and back.mark == ["kept"] and back.tolist() == [1.0, 2.0]
    assert copy.deepcopy(tensor).mark is not tensor.mark


def test_meta_tensors_pickle_without_data():
    tensor = torch.tensor(np.zeros((1000, 1000)), device="meta")
    data = pickle.dumps(tensor)
    assert len(data) < 1000
    back = pickle.loads(data)
    assert back.is_meta and back.shape == (1000, 1000) and back.dtype is torch.float64


def test_copies():
    base = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (base * base).sum().backward()
    deep = copy.deepcopy(base)
    assert deep.requires_grad and deep.is_leaf and deep.grad.tolist() == [2.0, 4.0, 6.0]
    deep.detach().add_(1)
    deep.grad.add_(1)
    assert base.tolist() == [1.0, 2.0, 3.0] and base.grad.tolist() == [2.0, 4.0, 6.0]

    shallow = copy.copy(base.detach())
    shallow.add_(1)
    assert base.tolist() == [2.0, 3.0, 4.0]

    numbers = torch.tensor([1.0, 2.0, 3.0])
    whole, part, again = copy.deepcopy([numbers, numbers[1:], numbers])
    whole.add_(1)
    assert part.tolist() == [3.0, 4.0] and again is whole and numbers.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match="leaf"):
        copy.deepcopy(base * 2)


def test_what_a_pickle_says_is_checked():
    storage = torch.tensor([1.0, 2.0]).untyped_storage()
    rebuild = torch._core._rebuild_tensor
    for offset, size, stride in [(0, (3,), (1,)), (2, (1,), (1,)), (0, (2,), (2,)), (0, (2, 2), (1,)), (0, (2**62, 4), (1, 1))]:
        with pytest.raises(ValueError):
            rebuild(torch.Tensor, storage, torch.float32, offset, size, stride)
    with pytest.raises(OverflowError):
        rebuild(torch.Tensor, storage, torch.float32, -1, (1,), (1,))
    with pytest.raises(ValueError, match="truth"):
        rebuild(torch.Tensor, torch.tensor([2], dtype=torch.uint8).untyped_storage(), torch.bool, 0, (1,), (1,))
    with pytest.raises(TypeError):
        rebuild(int, storage, torch.float32, 0, (2,), (1,))


def test_tensors_go_to_other_processes():
    code = "import sys, pickle; sys.stdout.buffer.write(pickle.dumps(pickle.load(sys.stdin.buffer) + 1))"
    data = pickle.dumps(torch.tensor([1.0, 2.0]))
    result = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    assert pickle.loads(result.stdout).tolist() == [2.0, 3.0]


# Storages


def test_storages():
    tensor = torch.tensor([1.0, 2.0, 3.0])
    view = tensor[1:]
    storage = tensor.untyped_storage()
    assert storage is view.untyped_storage() and storage is not torch.tensor([1.0]).untyped_storage()
    assert storage.nbytes() == len(storage) == 12 and storage.device == torch.device("cpu")
    assert storage.data_ptr() == tensor.data_ptr() == view.data_ptr() - 4
    assert bytes(storage) == np.array([1, 2, 3], np.float32).tobytes()
    assert storage.clone().data_ptr() != storage.data_ptr()
    assert torch.tensor([]).data_ptr() == 0 and torch.tensor([1.0], device="meta").data_ptr() == 0
    assert not tensor.is_shared() and tensor.share_memory_() is tensor and tensor.is_shared() and tensor.pin_memory() is tensor and not tensor.is_pinned()
    assert bytes(torch.UntypedStorage(4)) == bytes(4)
    with pytest.raises(TypeError):
        torch.UntypedStorage("text")


def test_storage_objects_are_not_kept():
    before = sum(isinstance(o, torch.UntypedStorage) for o in gc.get_objects())
    for _ in range(50):
        tensor = torch.tensor([1.0])
        assert tensor.untyped_storage().nbytes() == 4
        pickle.dumps(tensor)
    gc.collect()
    assert sum(isinstance(o, torch.UntypedStorage) for o in gc.get_objects()) == before
