"""Parameters under MindSpore's names."""

import copy
import pickle

import pytest

import opforge.mindspore as ms
from opforge.mindspore import Tensor


def test_parameters():
    data = Tensor([1.0, 2.0])
    weight = ms.Parameter(data, name="w")
    assert isinstance(weight, Tensor) and (weight.name, weight.requires_grad, weight.shape) == ("w", True, (2,))
    assert str(weight) == "Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True)"
    assert type(weight * 2) is Tensor
    data[0] = 5
    assert weight.asnumpy().tolist() == [1, 2]
    assert weight.set_data(Tensor([5, 6])) is weight and weight.dtype is ms.float32 and weight.asnumpy().tolist() == [5, 6]
    weight.requires_grad = False
    copied = copy.deepcopy(weight)
    assert (copied.name, copied.requires_grad) == ("w", False)
    copied[0] = 0
    assert weight.asnumpy().tolist() == [5, 6]
    again = pickle.loads(pickle.dumps(weight))
    assert (type(again), again.name, again.requires_grad, again.asnumpy().tolist()) == (ms.Parameter, "w", False, [5, 6])
    with pytest.raises(TypeError, match="Parameter, not int"):
        ms.ParameterTuple([weight, 1])
