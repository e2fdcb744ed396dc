"""Backward hooks of modules whose inputs need no gradients."""

import pytest

import opforge as torch
from opforge import nn


class Scale(nn.Module):
    """Its first argument times its second, a weight and a keyword argument."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x, factor, *, by):
        return x * factor * self.weight * by


def test_each_input_has_none():
    """`grad_input` was `()`: hooks that look at `grad_input[0]` raised."""
    seen, module = [], Scale()
    module.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output[0].tolist())))
    module(torch.ones(2), 3.0, by=torch.ones(2)).sum().backward()
    assert seen == [((None, None), [1.0, 1.0])]


@pytest.mark.parametrize("result", [None, (), (None,), (None, None)])
def test_hooks_may_return_none_for_them(result):
    module = Scale()
    module.register_full_backward_hook(lambda *_: result)
    module(torch.ones(2), 3.0, by=1).sum().backward()
    assert module.weight.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("result", [torch.ones(2), (torch.ones(2), None)])
def test_hooks_have_no_gradients_to_replace(result):
    module = Scale()
    module.register_full_backward_hook(lambda *_: result)
    with pytest.raises(RuntimeError, match="must return None"):
        module(torch.ones(2), 3.0, by=1).sum().backward()
