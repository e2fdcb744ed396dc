"""Counts of floating-point operations."""

import pytest

import opforge as torch
from opforge import nn
from opforge.utils.flop_counter import FlopCounterMode, register_flop_formula

F = nn.functional


def counted(call, **options):
    counter = FlopCounterMode(display=False, **options)
    with counter:
        call()
    return counter


@pytest.mark.parametrize(
    ("call", "flops"),
    [
        (lambda: torch.ones(3, 4) @ torch.ones(4, 5), 2 * 3 * 4 * 5),
        (lambda: torch.mm(torch.ones(3, 4), mat2=torch.ones(4, 5)), 2 * 3 * 4 * 5),
        (lambda: torch.ones(3, 4) @ torch.ones(4), 2 * 3 * 4),
        (lambda: torch.dot(torch.ones(4), torch.ones(4)), 2 * 4),
        (lambda: torch.ones(2, 3, 4, 5) @ torch.ones(3, 5, 6), 2 * 2 * 3 * 4 * 5 * 6),
        (lambda: torch.addmm(torch.ones(5), torch.ones(3, 4), torch.ones(4, 5)), 2 * 3 * 4 * 5),
        (lambda: torch.baddbmm(torch.ones(2, 3, 5), torch.ones(2, 3, 4), torch.ones(2, 4, 5)), 2 * 2 * 3 * 4 * 5),
        (lambda: torch.addbmm(torch.ones(3, 5), torch.ones(2, 3, 4), torch.ones(2, 4, 5)), 2 * 2 * 3 * 4 * 5),
        (lambda: torch.tensordot(torch.ones(3, 4, 5), torch.ones(4, 5, 6), dims=2), 2 * 3 * 4 * 5 * 6),
        (lambda: torch.einsum("bij,bjk->bik", torch.ones(2, 3, 4), torch.ones(2, 4, 5)), 2 * 2 * 3 * 4 * 5),
        (lambda: torch.einsum("...ij,kj", torch.ones(2, 3, 4), torch.ones(5, 4)), 2 * 2 * 3 * 4 * 5),
        (lambda: torch.einsum("ij,jk,kl->il", torch.ones(3, 4), torch.ones(4, 5), torch.ones(5, 6)), 2 * 3 * 4 * 5 + 2 * 3 * 5 * 6),
        (lambda: torch.einsum("ij,ij->ij", torch.ones(3, 4), torch.ones(3, 4)), 0),
        (lambda: F.conv2d(torch.ones(2, 4, 9, 9), torch.ones(6, 2, 3, 3), groups=2), 2 * (2 * 6 * 7 * 7) * (2 * 3 * 3)),
        (lambda: F.conv_transpose1d(torch.ones(2, 4, 9), torch.ones(4, 6, 3)), 2 * (2 * 4 * 9) * (6 * 3)),
        (lambda: F.scaled_dot_product_attention(torch.ones(2, 3, 5, 4), torch.ones(2, 3, 6, 4), torch.ones(2, 3, 6, 7)), 2 * 6 * 5 * 6 * (4 + 7)),
        (lambda: nn.LSTM(4, 5)(torch.ones(3, 2, 4)), 2 * (3 * 2) * 20 * (4 + 5)),
        (lambda: nn.GRUCell(4, 5)(torch.ones(2, 4)), 2 * 2 * 15 * (4 + 5)),
        (lambda: torch.ones(3).exp().sum(), 0),
    ],
)
def test_products_count_two_for_each_pair_of_factors(call, flops):
    assert counted(call).get_total_flops() == flops


@pytest.mark.parametrize(("input_needs", "products"), [(False, 1), (True, 2)])
def test_backward_counts_a_product_for_each_factor_that_needs_a_gradient(input_needs, products):
    layer, x = nn.Linear(8, 4), torch.ones(5, 8, requires_grad=input_needs)
    counter = counted(lambda: layer(x).sum().backward())
    assert counter.get_flop_counts() == {module: {"linear": 320, "linear_backward": 320 * products} for module in ("Global", "Linear")}
    y = None
    with FlopCounterMode(display=False) as counter:
        y = layer(x).sum()
    y.backward()
    assert counter.get_total_flops() == 320


def test_attention_counts_its_scores_again():
    q, k, v = (torch.ones(2, 3, 5, 4, requires_grad=True) for _ in range(3))
    counts = counted(lambda: F.scaled_dot_product_attention(q, k, v).sum().backward()).get_flop_counts()["Global"]
    assert counts["scaled_dot_product_attention_backward"] * 2 == counts["scaled_dot_product_attention"] * 5


def test_modules_have_what_is_counted_in_them(capsys):
    model = nn.Sequential(nn.Conv2d(4, 3, 3), nn.ReLU(), nn.Flatten(), nn.Sequential(nn.Linear(147, 5)))
    with FlopCounterMode(depth=1) as counter:
        model(torch.ones(2, 4, 9, 9))
    conv, linear = 2 * (2 * 3 * 7 * 7) * 36, 2 * 2 * 147 * 5
    assert counter.get_flop_counts() == {
        "Global": {"conv2d": conv, "linear": linear},
        "Sequential": {"conv2d": conv, "linear": linear},
        "Sequential.0": {"conv2d": conv},
        "Sequential.3": {"linear": linear},
        "Sequential.3.0": {"linear": linear},
    }
    shown = capsys.readouterr().out
    assert "Sequential" in shown and "Sequential.3" not in shown and "24.108K" in shown and "100.00%" in shown and "87.80%" in shown
    assert "Sequential.3.0" in counter.get_table(3)
    with pytest.raises(ZeroDivisionError), counter:
        torch.ones(2, 2) @ torch.ones(2, 2)
        1 / 0
    assert counter.get_total_flops() == 16 and not capsys.readouterr().out
    model(torch.ones(2, 4, 9, 9))
    assert counter.get_total_flops() == 16


def test_formulas_of_a_program():
    counter = counted(lambda: F.gelu(torch.ones(3, 4)), custom_mapping={F.gelu: lambda x, *, out_shape: 8 * x.numel()})
    assert counter.get_flop_counts() == {"Global": {"gelu": 96}}

    @register_flop_formula(["erfinv"], get_raw=True)
    def formula(x, *, out_val):
        return 7 * out_val.numel()

    try:
        assert counted(lambda: torch.zeros(5).erfinv()).get_total_flops() == 35
    finally:
        from opforge.utils._flop_formulas import FORMULAS

        del FORMULAS["erfinv"]
