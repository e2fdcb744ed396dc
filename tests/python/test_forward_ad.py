"""Tensors carry no tangents, and say so."""

import pytest

import opforge as torch
from opforge.autograd import forward_ad


def test_a_tensor_is_its_primal():
    x = torch.ones(2)
    primal, tangent = forward_ad.unpack_dual(x)
    assert primal is x and tangent is None and forward_ad is torch.autograd.forward_ad


def test_tangents_are_errors():
    with pytest.raises(NotImplementedError, match="jvp"):
        forward_ad.make_dual(torch.ones(1), torch.ones(1))
