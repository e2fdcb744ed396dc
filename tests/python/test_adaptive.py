"""Softmax over clusters, fractional pooling and fused losses as modules."""

import pytest

import opforge as torch
import opforge.nn.functional as F
from opforge import nn


def test_adaptive_softmax_agrees_with_its_full_logarithms():
    torch.manual_seed(0)
    module = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10], div_value=2.0, head_bias=True)
    input, target = torch.randn(7, 16), torch.tensor([0, 3, 4, 9, 10, 19, 5])
    full = module.log_prob(input)
    assert full.shape == (7, 20)
    assert torch.allclose(full.exp().sum(1), torch.ones(7), atol=1e-5)
    output, loss = module(input, target)
    assert torch.allclose(output, full.gather(1, target.unsqueeze(1)).squeeze(1), atol=1e-5)
    assert loss.item() == pytest.approx(-output.mean().item())
    loss.backward()
    assert all(p.grad is not None for p in module.parameters())
    alone = module(input[2], target[2])
    assert torch.allclose(alone.output, output[2], atol=1e-5)


def test_adaptive_softmax_predicts_the_likeliest():
    torch.manual_seed(1)
    module = nn.AdaptiveLogSoftmaxWithLoss(16, 12, [4])
    with torch.no_grad():
        module.head.weight.mul_(10)
        module.tail[0][1].weight.mul_(50)
    input = torch.randn(40, 16)
    head, full = module.head(input).argmax(1), module.log_prob(input).argmax(1)
    assert torch.equal(module.predict(input), torch.where(head < 4, head, full))
    assert (module.predict(input) >= 4).any()


@pytest.mark.parametrize("cutoffs", [[], [5, 3], [3, 3], [0, 3], [3, 10], [2.5]])
def test_adaptive_softmax_refuses_cutoffs_out_of_order(cutoffs):
    with pytest.raises(ValueError):
        nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs)


def test_adaptive_softmax_refuses_classes_out_of_range():
    module = nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3])
    for target in (torch.tensor([10]), torch.tensor([-1]), torch.tensor([1, 2]), torch.tensor(1)):
        with pytest.raises(RuntimeError):
            module(torch.zeros(1, 8), target)


def test_fractional_pooling_takes_sizes_or_ratios():
    image, samples = torch.randn(1, 2, 8, 9), torch.rand(1, 2, 2)
    pooled = nn.FractionalMaxPool2d(2, output_size=(4, 5), _random_samples=samples)(image)
    assert torch.equal(pooled, F.fractional_max_pool2d(image, 2, (4, 5), _random_samples=samples))
    assert nn.FractionalMaxPool2d((2, 3), output_ratio=0.5)(image).shape == (1, 2, 4, 4)
    values, places = nn.FractionalMaxPool3d(2, output_ratio=(0.5, 0.5, 0.5), return_indices=True)(torch.randn(1, 1, 4, 6, 8))
    assert values.shape == places.shape == (1, 1, 2, 3, 4)
    for options in ({}, {"output_size": 2, "output_ratio": 0.5}, {"output_ratio": 1.5}):
        with pytest.raises(ValueError):
            nn.FractionalMaxPool2d(2, **options)


def test_linear_cross_entropy_is_both_in_turn():
    torch.manual_seed(2)
    input, weight, bias = torch.randn(5, 4), torch.randn(3, 4), torch.randn(3)
    target = torch.tensor([0, 2, 1, -100, 2])
    fused = F.linear_cross_entropy(input, weight, target, linear_bias=bias, label_smoothing=0.1)
    assert torch.allclose(fused, F.cross_entropy(F.linear(input, weight, bias), target, label_smoothing=0.1))
    several = F.linear_cross_entropy(input, torch.randn(3, 2, 4), torch.zeros(5, 2, dtype=torch.int64), reduction="none")
    assert several.shape == (5, 2)
    module = nn.LinearCrossEntropyLoss(4, 3, bias=True, ignore_index=2)
    wanted = F.cross_entropy(module.linear(input), target.clamp(min=0), ignore_index=2)
    assert torch.allclose(module(input, target.clamp(min=0)), wanted)
    with pytest.raises(ValueError):
        F.linear_cross_entropy(input, weight, target, options=object())
