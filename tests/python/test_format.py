"""Tensors in formatted texts."""

import pytest

import opforge as torch


@pytest.mark.parametrize(
    ("tensor", "spec", "text"),
    [
        (torch.tensor(1.5), ".3f", "1.500"),
        (torch.tensor(1.5), "", "1.5"),
        (torch.tensor(3), "5d", "    3"),
        (torch.tensor(3), ".1f", "3.0"),
        (torch.tensor(True), "", "True"),
        (torch.tensor(1 + 2j), ".1f", "1.0+2.0j"),
        (torch.tensor(1.5, dtype=torch.bfloat16), ".1f", "1.5"),
        (torch.tensor(1.0, requires_grad=True), ".2e", "1.00e+00"),
        (torch.tensor(float("nan")), ".1f", "nan"),
        (torch.tensor([1.5]), "", "tensor([1.5000])"),
    ],
)
def test_a_tensor_of_no_dimensions_is_its_number(tensor, spec, text):
    assert format(tensor, spec) == text


def test_a_format_needs_one_number():
    for many in (torch.tensor([1.5]), torch.ones(2), torch.nn.Parameter(torch.tensor(2.0))):
        with pytest.raises(TypeError, match="format"):
            format(many, ".2f")
    with pytest.raises(ValueError, match="'d'"):
        format(torch.tensor(2.5), "d")
