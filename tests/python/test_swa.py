"""Averaged weights."""

import copy

import pytest

import opforge as torch
from opforge import nn, optim
from opforge.optim import swa_utils


def model(value, statistic=0.0):
    made = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
    with torch.no_grad():
        for param in made.parameters():
            param.fill_(value)
        made[1].running_mean.fill_(statistic)
    return made


def averaged(values, **options):
    average = swa_utils.AveragedModel(model(0.0), **options)
    for value in values:
        average.update_parameters(model(value, value))
    return average


def test_average():
    average = averaged([1.0, 2.0, 6.0])
    assert {p.item() for p in average.module[1].parameters()} == {3.0}
    assert average.n_averaged == 3 and average.module[1].running_mean.item() == 6.0
    assert average.eval()(torch.zeros(1, 2)).shape == (1, 1)


@pytest.mark.parametrize(
    "options",
    [
        {"avg_fn": swa_utils.get_ema_avg_fn(0.75)},
        {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.75)},
        {"avg_fn": lambda old, new, n: 0.75 * old + new / 4, "use_buffers": True},
    ],
)
def test_moving_average(options):
    average = averaged([1.0, 5.0], **options)
    assert average.module[0].bias.item() == 2.0
    assert average.module[1].running_mean.item() == (2.0 if "use_buffers" in options else 5.0)


def test_state_is_kept():
    average = averaged([1.0, 2.0])
    other = swa_utils.AveragedModel(model(0.0))
    other.load_state_dict(copy.deepcopy(average.state_dict()))
    other.update_parameters(model(6.0))
    assert other.module[0].bias.item() == 3.0 and other.n_averaged == 3


def test_update_bn():
    net = nn.Sequential(nn.BatchNorm1d(1, momentum=0.3), nn.Identity()).eval()
    batches = [torch.tensor([[0.0], [2.0]]), (torch.tensor([[5.0], [9.0]]), "label")]
    swa_utils.update_bn(batches, net)
    assert net[0].running_mean.item() == pytest.approx((1 + 7) / 2)
    assert net[0].running_var.item() == pytest.approx((2 + 8) / 2)
    assert net[0].momentum == 0.3 and not net.training


@pytest.mark.parametrize("strategy, middle", [("linear", [0.85, 0.7, 0.55]), ("cos", [0.91213203, 0.7, 0.48786797])])
def test_schedule(strategy, middle):
    optimizer = optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    schedule = swa_utils.SWALR(optimizer, 0.4, anneal_epochs=4, anneal_strategy=strategy)
    found = [schedule.get_last_lr()[0]]
    for _ in range(6):
        optimizer.step()
        schedule.step()
        found += schedule.get_last_lr()
    assert found == pytest.approx([1.0, *middle, 0.4, 0.4, 0.4])


def test_errors():
    optimizer = optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    for options in ({"anneal_strategy": "other"}, {"anneal_epochs": -1}, {"swa_lr": [0.1, 0.2]}):
        with pytest.raises(ValueError):
            swa_utils.SWALR(optimizer, **{"swa_lr": 0.1, **options})
    with pytest.raises(ValueError):
        swa_utils.get_ema_avg_fn(1.5)
    with pytest.raises(AssertionError):
        swa_utils.AveragedModel(model(0.0), avg_fn=print, multi_avg_fn=print)
