"""Numbers where tensors are copied from, also to memory that several elements share."""

import numpy as np
import pytest

import opforge as torch


@pytest.mark.parametrize("number, wanted", [(3, 3.0), (2.5, 2.5), (True, 1.0), (np.float32(2), 2.0)])
def test_copy_of_a_number(number, wanted):
    x = torch.zeros(3)
    version = x._version
    assert x.copy_(number) is x and x.tolist() == [wanted] * 3 and x._version > version


def test_copy_of_a_number_casts_as_elements_are_cast():
    assert torch.zeros(2, dtype=torch.uint8).copy_(300).tolist() == [44, 44]
    assert torch.zeros(2, dtype=torch.int64).copy_(2.7, non_blocking=True).tolist() == [2, 2]
    assert torch.zeros(2).copy_(other=torch.ones(1)).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError):
        torch.zeros(3).copy_([1.0, 2.0, 3.0])


def stretched():
    x = torch.zeros(2)
    return x, x.expand(3, 2)


def assigned(key, value):
    def write(y):
        y[key] = value

    return write


@pytest.mark.parametrize(
    "write, wanted",
    [
        (assigned(slice(None), 5), [5.0, 5.0]),
        (assigned(..., 5), [5.0, 5.0]),
        (assigned((slice(None), 0), 5), [5.0, 0.0]),
        (assigned((slice(None, 2), 1), 5), [0.0, 5.0]),
        (lambda y: y.fill_(5), [5.0, 5.0]),
        (lambda y: y.zero_(), [0.0, 0.0]),
    ],
)
def test_number_into_stretched_memory(write, wanted):
    x, y = stretched()
    write(y)
    assert x.tolist() == wanted and y.tolist() == [wanted] * 3


@pytest.mark.parametrize(
    "write", [assigned(slice(None), torch.ones(2)), lambda y: y.copy_(torch.ones(3, 2)), lambda y: y.add_(1)]
)
def test_elements_into_stretched_memory_are_refused(write):
    x, y = stretched()
    with pytest.raises(RuntimeError):
        write(y)
    assert x.tolist() == [0.0, 0.0]


def test_number_into_stretched_memory_has_a_gradient():
    x = torch.ones(2, requires_grad=True)
    base = x * 3
    base.expand(3, 2)[:, 0] = 5
    base.sum().backward()
    assert (base.tolist(), x.grad.tolist()) == ([5.0, 3.0], [0.0, 3.0])
