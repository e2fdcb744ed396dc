"""`einsum` of tensors, each followed by the list of its dimensions."""

import numpy as np
import pytest

import opforge as torch

M = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
B = torch.arange(24.0).reshape(2, 3, 4)

SUBLISTS = [
    ((M, [0, 1], M, [1, 2], [0, 2]), "ij,jk->ik"),
    ((M, [0, 1], M, [1, 2]), "ij,jk"),
    ((M, (0, 1), M, (1, 2), (0, 2)), "ij,jk->ik"),
    ((B, [..., 0, 1], B, [..., 0, 2], [..., 1, 2]), "...ij,...ik->...jk"),
    ((B, [...], [...]), "...->..."),
    ((M, [0, 1], [1, 0]), "ij->ji"),
    ((M, [0, 1], []), "ij->"),
    ((M, [0, 0]), "ii"),
    ((M, [51, 51], [51]), "zz->z"),
    ((M, [27, 1]), "bB"),
    ((M, [1, 0]), "ba"),
    ((M, [np.int64(0), 1], M, [0, 1]), "ij,ij"),
]


@pytest.mark.parametrize("args, equation", SUBLISTS, ids=[equation for _, equation in SUBLISTS])
def test_einsum_of_sublists(args, equation):
    operands = [arg for arg in args if isinstance(arg, torch.Tensor)]
    assert torch.equal(torch.einsum(*args), torch.einsum(equation, *operands))


def test_einsum_of_sublists_has_a_gradient():
    x = M.clone().requires_grad_()
    torch.einsum(x, [0, 1], M, [1, 2], [0, 2]).sum().backward()
    assert x.grad.tolist() == [[3.0, 7.0]] * 2


@pytest.mark.parametrize(
    "args, error",
    [
        ((M, [52, 52]), ValueError),
        ((M, [-1, 0]), ValueError),
        ((M, [0]), ValueError),
        ((M, [0.5, 0]), TypeError),
        ((M, [0, 1], M), TypeError),
        ((M,), TypeError),
        ((), TypeError),
    ],
)
def test_einsum_refuses_other_sublists(args, error):
    with pytest.raises(error):
        torch.einsum(*args)
