"""Gradients of views that show parts of a tensor, which are added where the parts lie: those of copies of the parts."""

import pytest

import opforge as torch

PARTS = {
    "chunks": lambda x: x.chunk(3, 1),
    "uneven pieces": lambda x: x.split([1, 5, 3], 1),
    "unbound": lambda x: x.unbind(0),
    "overlapping": lambda x: (x[:, 2:7], x[:, 4:], x[1:3, ::2], x[0]),
    "backwards": lambda x: x.split(2, 0)[::-1],
    "of a transposed tensor": lambda x: x.t().split(4, 0),
    "parts of parts": lambda x: tuple(y for part in x.chunk(2, 0) for y in part.chunk(2, 1)),
    "whole and part": lambda x: (x, x[1], x.t(), x[:, 3:5]),
    "repeated elements": lambda x: (x[:2], x[:1].expand(3, 9), x.unfold(1, 4, 2)),
    "of a reshaped tensor": lambda x: (x.view(2, 2, 9)[0], x.reshape(-1)[5:20], x.diagonal()),
    "one": lambda x: (x[1:3],),
}


def of(parts, copy, retain=False):
    torch.manual_seed(0)
    leaf = torch.randn(4, 9, dtype=torch.float64, requires_grad=True)
    x = leaf * 2
    if retain:
        x.retain_grad()
    pieces = [part.clone() if copy else part for part in parts(x)]
    loss = sum((piece * piece * (i + 1)).sum() for i, piece in enumerate(pieces))
    loss.backward()
    return leaf.grad, x.grad if retain else None


@pytest.mark.parametrize("name", PARTS)
def test_the_same_as_of_copies(name):
    for retain in (False, True):
        got, expected = of(PARTS[name], False, retain), of(PARTS[name], True, retain)
        for a, b in zip(got, expected):
            assert a is b is None or torch.allclose(a, b, rtol=1e-14)


def test_of_a_leaf_and_with_hooks():
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    seen = []
    x.register_hook(lambda grad: seen.append(grad.clone()))
    a, b, c = x.unbind(0)
    a.register_hook(lambda grad: grad * 10)
    (a.sum() + 2 * b.sum() + 3 * c.sum()).backward()
    expected = torch.tensor([[10.0] * 4, [2.0] * 4, [3.0] * 4])
    assert torch.equal(x.grad, expected) and len(seen) == 1 and torch.equal(seen[0], expected)
    x[0].sum().backward()
    assert torch.equal(x.grad, expected + torch.tensor([[1.0], [0], [0]]))


def test_a_sum_that_others_see_is_left_alone():
    """`x` and `y` get one gradient, to which the part's is then added for `x` alone."""
    x, y = (torch.ones(2, 3).requires_grad_() for _ in range(2))
    part = x[0]
    ((x + y) * torch.tensor(5.0) + part * 2).sum().backward()
    assert torch.equal(y.grad, torch.full((2, 3), 5.0))
    assert torch.equal(x.grad, torch.tensor([[9.0] * 3, [5.0] * 3]))


def test_twice_differentiated_and_kept_graphs():
    x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    function = lambda x: sum((part**3).sum() for part in x.chunk(3, 1))
    assert torch.autograd.gradcheck(function, (x,)) and torch.autograd.gradgradcheck(function, (x,))
    loss = function(x)
    loss.backward(retain_graph=True)
    loss.backward()
    assert torch.allclose(x.grad, 6 * x.detach() ** 2)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_other_dtypes():
    for dtype in (torch.float16, torch.bfloat16, torch.complex64):
        x = torch.ones(2, 4, dtype=dtype, requires_grad=True)
        a, b = x.chunk(2, 1)
        (a * 2 + b * 3).sum().abs().backward()
        assert torch.equal(x.grad, torch.tensor([[2, 2, 3, 3]] * 2, dtype=dtype))
