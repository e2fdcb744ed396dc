"""Older names of `autograd`, and what its functions refuse."""

import pytest

import opforge as torch
from opforge.autograd import functional, graph
from opforge.autograd.variable import Variable


def test_variables_are_tensors():
    """`Variable(t, requires_grad=True)` was a TypeError, as it was the class of tensors itself."""
    t = torch.ones(2)
    variable = torch.autograd.Variable(t, requires_grad=True)
    assert type(variable) is torch.Tensor and variable.is_leaf and variable.requires_grad and not t.requires_grad
    assert variable.data_ptr() == t.data_ptr()
    assert isinstance(t, Variable) and not isinstance(3, Variable) and torch.autograd.Variable is Variable
    assert not Variable(variable).requires_grad and Variable(t, volatile=True).tolist() == [1.0, 1.0]
    assert tuple(Variable().shape) == (0,)
    with pytest.raises(TypeError, match="list"):
        Variable([1.0])


@pytest.mark.parametrize("tensor", [torch.ones(2, 3), torch.tensor(1), torch.tensor([True, False]), torch.ones(3, 2).t()[1:], torch.ones(0)])
def test_versions_are_incremented(tensor):
    """The copy onto itself, by which this was done, is none."""
    before, elements = tensor._version, tensor.tolist()
    graph.increment_version([tensor, tensor])
    assert tensor._version == before + 2 and tensor.tolist() == elements


def test_backward_finds_out_about_a_new_version():
    x = torch.ones(2, requires_grad=True) * 1
    y = (x * x).sum()
    graph.increment_version(x)
    with pytest.raises(RuntimeError, match="inplace"):
        y.backward()


def test_the_mode_of_inference_mode():
    assert torch.inference_mode().mode is True and torch.inference_mode(False).mode is False


@pytest.mark.parametrize("inputs", [[], ()])
def test_no_inputs(inputs):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="empty"):
        torch.autograd.grad(x.sum(), inputs)


def test_unused_inputs_cannot_be_both_zeros_and_an_error():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="materialize_grads"):
        torch.autograd.grad(x.sum(), [x], materialize_grads=True, allow_unused=False)
    assert torch.autograd.grad(x.sum(), [x], materialize_grads=True, allow_unused=True)[0].tolist() == [1.0, 1.0]


def test_directions_are_left_out_for_one_element_only():
    """Of a vector it was the sum of the derivatives by its elements."""
    assert functional.jvp(lambda x: x * x, torch.tensor([3.0]))[1].tolist() == [6.0]
    for inputs in (torch.ones(2), (torch.ones(1), torch.ones(1))):
        with pytest.raises(RuntimeError, match="needs v"):
            functional.jvp(lambda *x: x[0] * 2, inputs)
    with pytest.raises(RuntimeError, match="2 tensors, 1 expected"):
        functional.jvp(lambda x: x * x, torch.ones(2), (torch.ones(2), torch.ones(2)))


def test_inference_mode_and_whether_it_is_on():
    assert not torch.is_inference_mode_enabled()
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        with torch.inference_mode(False):
            assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
    with torch.no_grad(), torch.inference_mode(False):
        assert torch.is_grad_enabled()

    @torch.inference_mode
    def inside():
        return torch.is_inference_mode_enabled()

    assert inside() and not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


def test_gradient_hooks_of_several_tensors():
    seen = []
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with torch.autograd.graph.register_multi_grad_hook((x, y), seen.append):
        (x * 2 + y * 3).sum().backward()
    assert [grad.tolist() for grad in seen[0]] == [[2.0, 2.0], [3.0, 3.0]]
    x.sum().backward()
    assert len(seen) == 1
