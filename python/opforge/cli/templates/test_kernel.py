"""Tests of $Name: `pytest $test`. It is also checked by `opforge check $test:$name`."""

import pathlib
$imports
import numpy

import opforge

$load


def reference(x, scale=1.0):
    """What the operator should compute, of numpy arrays."""
    return scale * x * x


def test_values():
    x = opforge.tensor([[0.5, -1.0], [2.0, 3.0]])
    numpy.testing.assert_allclose($name(x, scale=3.0).numpy(), reference(x.numpy(), scale=3.0), rtol=1e-6)


def test_gradient():
    x = opforge.tensor([0.5, -1.0, 2.0], requires_grad=True)
    $name(x, scale=3.0).sum().backward()
    numpy.testing.assert_allclose(x.grad.numpy(), [3.0, -6.0, 12.0], rtol=1e-6)


def test_no_defect_is_found():
    report = opforge.check($name, reference=reference)
    assert report.ok, report
