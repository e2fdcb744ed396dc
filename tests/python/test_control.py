"""Branches and loops as functions."""

import pytest

import opforge as torch


def test_branches():
    x = torch.tensor([2.0], requires_grad=True)
    assert torch.cond(torch.tensor(True), lambda x: x * x, lambda x: x / 0, (x,)).item() == 4
    torch.cond(x.sum() < 0, lambda x: x * x, lambda x: x * 5, (x,)).backward()
    assert x.grad.item() == 5 and torch.cond(False, lambda: 1, lambda: 2) == 2
    for wrong in (
        lambda: torch.cond(torch.ones(2), len, len, (x,)),
        lambda: torch.cond("yes", len, len, (x,)),
        lambda: torch.cond(True, None, len, (x,)),
        lambda: torch.cond(True, len, len, x),
    ):
        with pytest.raises(RuntimeError, match="cond"):
            wrong()


def test_loops():
    steps, value = torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.tensor(1.0)))
    assert steps.item() == 3 and value.item() == 8
    assert torch.while_loop(lambda i: i < 3, lambda i: i + 1, (torch.tensor(0),)).item() == 3
    assert torch.while_loop(lambda i: i < 0, lambda i: i + 1, (torch.tensor(0),))[0].item() == 0
    for wrong in (
        lambda: torch.while_loop(lambda i: i < 3, lambda i: (i, i), (torch.tensor(0),)),
        lambda: torch.while_loop(lambda i: torch.ones(2), lambda i: i, (torch.tensor(0),)),
        lambda: torch.while_loop(lambda i: i < 3, lambda i: i, torch.tensor(0)),
    ):
        with pytest.raises(RuntimeError, match="while_loop"):
            wrong()
