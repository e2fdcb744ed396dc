"""Backward passes that give NaN."""

import pytest

import opforge as torch
from opforge import autograd


def harmful(x):
    return (x.sqrt() * 0).sum()


def test_gradients_that_are_nan_are_errors_in_the_block():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    with autograd.detect_anomaly():
        assert torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
        (x * 2).sum().backward()
        for backward in (lambda: harmful(x).backward(), lambda: autograd.backward(harmful(x)), lambda: autograd.backward([harmful(x)])):
            with pytest.raises(RuntimeError, match="SqrtBackward0.* nan .*0th output"):
                backward()
        with autograd.detect_anomaly(check_nan=False):
            harmful(x).backward()
    assert not torch.is_anomaly_enabled()
    harmful(x).backward()
    assert x.grad.isnan().tolist() == [True, False]


def test_turning_on_and_off():
    x = torch.tensor([0.0], requires_grad=True)
    autograd.set_detect_anomaly(True)
    try:
        with pytest.raises(RuntimeError, match="nan"):
            harmful(x).backward()
        with autograd.set_detect_anomaly(False):
            harmful(x).backward()
        assert torch.is_anomaly_enabled()
    finally:
        autograd.set_detect_anomaly(False)
    harmful(x).backward()


def test_the_function_is_named_where_nan_arises():
    """The leaves were looked at: the last function was named, and the leaf had its NaN."""
    x = torch.zeros(2, requires_grad=True)
    with autograd.detect_anomaly():
        for backward in (lambda y: y.backward(), lambda y: torch.autograd.grad(y, x)):
            with pytest.raises(RuntimeError, match="SqrtBackward0"):
                backward((torch.sqrt(x * 1).exp() * 0).sum())
        z = torch.zeros(1, dtype=torch.complex64, requires_grad=True)
        with pytest.raises(RuntimeError, match="nan"):
            (z * float("inf") * 0).abs().sum().backward()
        torch.zeros(0, requires_grad=True).sqrt().sum().backward()
    assert x.grad is None


def test_what_is_fine_passes():
    x, y = torch.ones(2, requires_grad=True), torch.tensor([float("nan")])
    with autograd.detect_anomaly():
        (x.exp().sum() + y).backward()
        torch.ones(1, requires_grad=True).backward()
    assert x.grad.isfinite().all().item()
