"""Tensors in formatted text."""

import pytest

import opforge as torch


def test_a_number_takes_the_format():
    assert f"{torch.tensor(0.5):.2f} {torch.tensor(3):>3} {torch.tensor(True)}" == "0.50   3 True"
    assert "%.1f" % torch.tensor(0.25).item() == f"{torch.tensor(0.25, requires_grad=True):.1f}"


def test_other_tensors_are_shown_whole():
    for tensor in (torch.tensor([0.5]), torch.zeros(2, 2), torch.zeros((), device="meta"), torch.nn.Parameter(torch.tensor(1.0))):
        assert f"{tensor}" == str(tensor)
        with pytest.raises(TypeError):
            f"{tensor:.2f}"
