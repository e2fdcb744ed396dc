"""Tests of $Name: `pytest $test`. The kernel is compiled everywhere, and runs where there is a GPU."""

import pathlib

import numpy
import pytest

import opforge

$load

on_gpu = pytest.mark.skipif(not opforge.cuda.is_available(), reason="there is no GPU")


def reference(x, scale=1.0):
    """What the operator should compute, of numpy arrays."""
    return scale * x * x


def test_shape():
    assert $name(opforge.empty(2, 3, device="meta")).shape == (2, 3)


@on_gpu
def test_values():
    x = opforge.tensor([[0.5, -1.0], [2.0, 3.0]], device="cuda")
    numpy.testing.assert_allclose($name(x, scale=3.0).cpu().numpy(), reference(x.cpu().numpy(), scale=3.0), rtol=1e-6)


@on_gpu
def test_gradient():
    x = opforge.tensor([0.5, -1.0, 2.0], device="cuda", requires_grad=True)
    $name(x, scale=3.0).sum().backward()
    numpy.testing.assert_allclose(x.grad.cpu().numpy(), [3.0, -6.0, 12.0], rtol=1e-6)
