"""Methods of tensors that exchange their memory or shape, or call a Python function for each element; memory of files."""

import math

import numpy as np
import pytest

import opforge as torch


def test_resize():
    x = torch.arange(6.0)
    view = x.view(2, 3)
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    x.fill_(9)
    assert view.tolist() == [[9, 9, 9], [9, 4, 5]]
    assert x.resize_(3, 3).view(-1)[:6].tolist() == [9, 9, 9, 9, 4, 5]
    assert torch.arange(6.0).reshape(2, 3).T.resize_(6).tolist() == [0, 1, 2, 3, 4, 5]
    assert torch.arange(6).resize_as_(torch.ones(2, 3)).shape == (2, 3) and torch.empty(0).resize_([]).shape == ()
    for wrong in (lambda: torch.ones(2).resize_(-1), lambda: torch.ones(2, requires_grad=True).resize_(1), lambda: torch.ones(2).resize(3)):
        with pytest.raises(RuntimeError):
            wrong()


def test_resize_knows_row_major_order_alone():
    assert torch.ones(2, 2).resize_(4, memory_format=torch.contiguous_format).shape == (4,)
    with pytest.raises(NotImplementedError, match="channels_last"):
        torch.ones(2).resize_(1, 1, 1, 2, memory_format=torch.channels_last)


def test_set_shares_memory():
    source, x = torch.arange(6.0).reshape(2, 3), torch.empty(0)
    assert x.set_(source) is x and x.is_set_to(source) and not x.is_set_to(source.clone())
    x[0, 0] = 50
    assert source[0, 0].item() == 50
    assert x.set_(source, 1, (2, 2), (1, 2)).tolist() == [[1, 3], [2, 4]]
    assert x.set_().shape == (0,)
    assert source.as_strided_((2, 2), (1, 2)) is source and source.tolist() == [[50, 2], [1, 3]]
    with pytest.raises(RuntimeError, match="dtype"):
        x.set_(torch.ones(2, dtype=torch.int64))
    with pytest.raises(TypeError):
        x.set_("memory")


def test_methods_with_python_functions():
    assert torch.tensor([1.0, 4.0]).apply_(math.sqrt).tolist() == [1, 2]
    assert torch.ones(2, 2).map_(torch.tensor([1.0, 2.0]), lambda a, b: a + b).tolist() == [[2, 3], [2, 3]]
    assert torch.ones(2).map2_(torch.tensor([1.0, 2.0]), torch.tensor([5.0]), lambda a, b, c: a + b * c).tolist() == [6, 11]
    with pytest.raises(RuntimeError, match="gradient"):
        torch.ones(2, requires_grad=True).apply_(abs)


def test_from_file(tmp_path):
    path = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(path)
    x = torch.from_file(str(path), size=3)
    x += 1
    assert x.tolist() == [1.0, 2.0, 3.0] and np.fromfile(path, np.float32).tolist() == [0.0, 1.0, 2.0, 3.0]
    shared = torch.from_file(str(tmp_path / "new"), shared=True, size=2, dtype=torch.int16)
    shared.copy_(torch.tensor([5, 6]))
    assert np.fromfile(tmp_path / "new", np.int16).tolist() == [5, 6]
    with pytest.raises(ValueError):
        torch.from_file(str(path), size=5)


def test_storages_of_files(tmp_path):
    path = tmp_path / "bytes"
    np.arange(6, dtype=np.uint8).tofile(path)
    storage = torch.UntypedStorage.from_file(str(path), False, 6)
    assert len(storage) == 6 and storage[2] == 2 and torch.asarray(storage[1:3], dtype=torch.uint8).tolist() == [1, 2]


def test_methods_that_convert_ask_and_load():
    assert torch.ones(1).cfloat().dtype == torch.complex64 and torch.ones(1).cdouble().dtype == torch.complex128
    assert torch.tensor([2]).is_nonzero() and not torch.is_nonzero(torch.tensor(0.0))
    with pytest.raises(RuntimeError, match="ambiguous"):
        torch.ones(2).is_nonzero()
    assert torch.ones(2).new_empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert torch.ones(2).module_load(torch.zeros(2)).tolist() == [0, 0]
    assert torch.Tensor.resize_.__doc__
