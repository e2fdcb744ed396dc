"""Gradients for several gradients of the outputs at once."""

import pytest

import opforge as torch


def test_each_row_has_its_own_backward():
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    y, z = x**2, x.sin()
    seeds = torch.eye(3, dtype=torch.float64)
    (jacobian,) = torch.autograd.grad(y, x, seeds, retain_graph=True, is_grads_batched=True)
    assert torch.allclose(jacobian, torch.diag(2 * x.detach()))
    (both,) = torch.autograd.grad((y, z), (x,), (seeds, 2 * seeds), create_graph=True, is_grads_batched=True)
    assert torch.allclose(both, torch.diag(2 * x + 2 * x.cos()))
    both.sum().backward()
    assert torch.allclose(x.grad, 2 - 2 * x.detach().sin())


def test_the_graph_is_freed_after_the_last_row():
    x = torch.randn(2, requires_grad=True)
    y = x.exp()
    torch.autograd.grad(y, x, torch.eye(2), is_grads_batched=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(y, x, torch.eye(2), is_grads_batched=True)


def test_unused_inputs_are_none_or_zeros():
    x, unused = torch.randn(2, requires_grad=True), torch.zeros(3, requires_grad=True)
    y = x * 2
    options = {"grad_outputs": torch.ones(4, 2), "is_grads_batched": True, "retain_graph": True}
    assert torch.autograd.grad(y, (x, unused), allow_unused=True, **options)[1] is None
    assert torch.autograd.grad(y, (x, unused), materialize_grads=True, **options)[1].shape == (4, 3)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(y, (x, unused), **options)


@pytest.mark.parametrize("seeds", [None, torch.tensor(1.0), (torch.ones(2, 2), torch.ones(3, 2))])
def test_refused_without_one_number_of_gradients(seeds):
    x = torch.randn(2, requires_grad=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad((x * 2, x * 3), x, seeds, is_grads_batched=True)


def test_tensors_have_numbers_of_their_own():
    x, y = torch.zeros(2), torch.zeros(2)
    assert x._cdata == x._cdata != y._cdata
