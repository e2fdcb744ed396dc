"""Parameters of programs' own classes of tensors."""

import copy
import pickle

import pytest

import opforge as torch
from opforge import nn


class Tagged(torch.Tensor):
    """A class of tensors that functions keep."""


class Closed(torch.Tensor):
    """A class of tensors that its own `detach` loses."""

    def detach(self):
        return self.as_subclass(torch.Tensor)


def test_a_parameter_keeps_the_class_of_its_data():
    data = torch.ones(2, 3).as_subclass(Tagged)
    weight = nn.Parameter(data)
    assert type(weight) is Tagged and isinstance(weight, nn.Parameter) and weight.requires_grad and weight.is_leaf
    assert weight.data_ptr() == data.data_ptr() and not data.requires_grad and not isinstance(data, nn.Parameter)
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    assert not isinstance(weight.detach(), nn.Parameter) and not isinstance(weight * 2, nn.Parameter)
    assert type(nn.Parameter(weight)) is Tagged


def test_modules_train_copy_and_convert_such_parameters():
    layer = nn.Linear(3, 2)
    layer.weight = weight = nn.Parameter(torch.ones(2, 3).as_subclass(Tagged))
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    assert layer.double().weight is weight and weight.dtype is torch.float64 and type(weight) is Tagged
    layer(torch.ones(1, 3, dtype=torch.float64)).sum().backward()
    torch.optim.SGD(layer.parameters(), lr=0.5).step()
    assert weight.tolist() == [[0.5] * 3] * 2
    for again in copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)):
        assert type(again.weight) is Tagged and isinstance(again.weight, nn.Parameter) and again.weight.requires_grad
        assert torch.equal(again.weight, weight) and again.weight is not weight


def test_the_own_classes_of_parameters_and_buffers_give_plain_ones():
    class Named(nn.Parameter):
        pass

    named = Named(torch.ones(2))
    assert type(named) is Named and type(nn.Parameter(named)) is type(nn.Parameter(nn.Buffer(torch.ones(2)))) is nn.Parameter
    assert not isinstance(nn.Parameter(torch.ones(2).as_subclass(Tagged)), Named)


def test_data_whose_detach_loses_the_class_is_refused():
    with pytest.raises(RuntimeError, match=r"Closed, whose detach\(\) gives a Tensor"):
        nn.Parameter(torch.ones(2).as_subclass(Closed))
