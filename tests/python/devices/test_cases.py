"""Calls of the declared functions, with their gradients, on a device beside the CPU: a part of those of `test_registry.py`; all with OPFORGE_DEVICE_SAMPLES=all."""

import os

import numpy as np
import pytest
from chosen_device import DEVICE
from test_registry import CASES, array, call, leaves, tensors

import opforge as torch

CHOSEN = CASES if os.environ.get("OPFORGE_DEVICE_SAMPLES") == "all" else CASES[::32]


def results(case, device):
    """What a call gives, and the gradients of its arguments, all on the device."""
    torch.manual_seed(3)
    args = tensors(case.args, torch.float32, device=device)
    given = [leaf for leaf in leaves(args) if isinstance(leaf, torch.Tensor)]
    variables = [leaf for leaf in given if case.smooth and leaf.is_floating_point()]
    for leaf in variables:
        leaf.requires_grad_()
    made = leaves(call(case, args) if given else call(case, args, device=device))
    roots = [leaf for leaf in made if isinstance(leaf, torch.Tensor) and leaf.requires_grad and leaf.is_floating_point()]
    if roots:
        sum((root * root).sum() for root in roots).backward()
    found = [leaf for leaf in [*made, *(leaf.grad for leaf in variables)] if leaf is not None]
    assert all(leaf.device.type == device for leaf in found if isinstance(leaf, torch.Tensor))
    return [array(leaf.detach().cpu()) if isinstance(leaf, torch.Tensor) else leaf for leaf in found]


@pytest.mark.parametrize("case", CHOSEN, ids=str)
def test_value(case):
    try:
        want = results(case, "cpu")
    except TypeError as error:
        # Of no tensor, and without a device to name.
        assert "device" in str(error)
        return
    got = results(case, DEVICE)
    assert len(got) == len(want)
    for one, other in zip(map(np.asarray, got), map(np.asarray, want)):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4)
