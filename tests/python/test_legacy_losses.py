"""Losses with the parameters that came before `reduction`, and those of `torch` itself."""

import pytest

import opforge as torch
from opforge import nn

F = nn.functional
SCORES, TARGETS = torch.tensor([[0.2, -0.3, 0.5], [0.1, 0.9, -0.4]]), torch.tensor([[0.1, 0.3, 0.6], [0.5, 0.2, 0.3]])
CLASSES, SIGNS = torch.tensor([2, 0]), torch.tensor([1.0, -1.0])
# Each loss with its arguments before `size_average`, and the positions of `reduce` and `reduction` after that.
LEGACY = {
    "binary_cross_entropy": ((TARGETS, TARGETS, None), 1, 2),
    "binary_cross_entropy_with_logits": ((SCORES, TARGETS, None), 1, 2),
    "cosine_embedding_loss": ((SCORES, TARGETS, SIGNS, 0.1), 1, 2),
    "cross_entropy": ((SCORES, CLASSES, None), 2, 3),
    "hinge_embedding_loss": ((SCORES, TARGETS.sign(), 1.0), 1, 2),
    "kl_div": ((SCORES, TARGETS), 1, 2),
    "l1_loss": ((SCORES, TARGETS), 1, 2),
    "margin_ranking_loss": ((SCORES[:, 0], SCORES[:, 1], SIGNS, 0.5), 1, 2),
    "mse_loss": ((SCORES, TARGETS), 1, 2),
    "multi_margin_loss": ((SCORES, CLASSES, 1, 1.0, None), 1, 2),
    "multilabel_margin_loss": ((SCORES, torch.tensor([[0, -1, 1], [1, 2, -1]])), 1, 2),
    "multilabel_soft_margin_loss": ((SCORES, TARGETS.round(), None), 1, 2),
    "nll_loss": ((SCORES, CLASSES, None), 2, 3),
    "poisson_nll_loss": ((SCORES, TARGETS, True, False), 2, 3),
    "smooth_l1_loss": ((SCORES, TARGETS), 1, 2),
    "soft_margin_loss": ((SCORES, TARGETS.sign()), 1, 2),
    "triplet_margin_loss": ((SCORES, TARGETS, SCORES.flip(0), 1.0, 2.0, 1e-6, False), 1, 2),
}
DEFAULTS = {"cross_entropy": {1: -100}, "nll_loss": {1: -100}, "poisson_nll_loss": {1: 1e-8}}


@pytest.mark.parametrize("name", LEGACY)
def test_size_average_and_reduce_are_understood(name):
    function = getattr(F, name)
    arguments, reduce_at, reduction_at = LEGACY[name]

    def positional(size_average=None, reduce=None, reduction="mean"):
        after = [size_average, *[None] * reduction_at]
        after[reduce_at], after[reduction_at] = reduce, reduction
        for place, value in DEFAULTS.get(name, {}).items():
            after[place] = value
        return function(*arguments, *after)

    for reduction in ("mean", "sum", "none"):
        assert torch.equal(positional(reduction=reduction), function(*arguments, reduction=reduction))
    for values, reduction in (((True, None), "mean"), ((False, None), "sum"), ((False, False), "none"), ((None, True), "mean"), ((None, False), "none")):
        expected = function(*arguments, reduction=reduction)
        with pytest.warns(UserWarning, match=f"please use reduction='{reduction}' instead"):
            assert torch.equal(positional(*values), expected)
        with pytest.warns(UserWarning, match=f"please use reduction='{reduction}' instead"):
            assert torch.equal(function(*arguments, size_average=values[0], reduce=values[1]), expected)


def test_losses_refuse_what_they_do_not_have():
    with pytest.raises(TypeError, match="up to 6 positional arguments but 7"):
        F.mse_loss(SCORES, TARGETS, None, None, "sum", None, 3)
    with pytest.raises(TypeError, match="multiple values for argument 'size_average'"):
        F.mse_loss(SCORES, TARGETS, None, size_average=True)
    with pytest.raises(TypeError, match="nope"):
        F.mse_loss(SCORES, TARGETS, None, nope=True)


def test_modules_warn_of_size_average():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        loss = nn.MSELoss(False)
    assert torch.equal(loss(SCORES, TARGETS), (SCORES - TARGETS).square().sum())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cosine_embedding_loss", (SCORES, TARGETS, SIGNS)),
        ("hinge_embedding_loss", (SCORES, TARGETS.sign())),
        ("margin_ranking_loss", (SCORES[:, 0], SCORES[:, 1], SIGNS)),
        ("triplet_margin_loss", (SCORES, TARGETS, SCORES.flip(0))),
    ],
)
def test_losses_of_torch_itself_take_numbers_as_reductions(name, arguments):
    function, expected = getattr(torch, name), getattr(F, name)
    assert torch.equal(function(*arguments), expected(*arguments, reduction="none"))
    for number, reduction in enumerate(("none", "mean", "sum")):
        assert torch.equal(function(*arguments, reduction=number), expected(*arguments, reduction=reduction))
        assert torch.equal(function(*arguments, reduction=reduction), expected(*arguments, reduction=reduction))
    with pytest.raises(TypeError, match="an int expected, got 'means'"):
        function(*arguments, reduction="means")
    with pytest.raises(ValueError, match="expected 0 to 2"):
        function(*arguments, reduction=3)


def test_classes_see_the_losses_that_programs_name():
    class Seen(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    x = SCORES.clone().as_subclass(Seen)
    assert F.mse_loss(x, TARGETS) is F.mse_loss and F.mse_loss(x, TARGETS, None) is F.mse_loss
