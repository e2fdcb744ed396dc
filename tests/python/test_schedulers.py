"""Learning rate schedules against closed forms, and what is around them."""

import copy
import math

import pytest

import opforge as torch
from opforge import optim
from opforge.optim import lr_scheduler

BASE = 0.5


def optimizer(*lrs, momentum=0.9):
    groups = [{"params": [torch.ones(1, requires_grad=True)], "lr": lr} for lr in lrs or (BASE,)]
    return optim.SGD(groups, lr=1.0, momentum=momentum)


def rates(schedule, epochs, group=0):
    """The rates of `epochs` epochs, from the current one."""
    found = []
    for _ in range(epochs):
        found.append(schedule.optimizer.param_groups[group]["lr"])
        assert schedule.get_last_lr()[group] == found[-1]
        schedule.optimizer.step()
        schedule.step()
    return found


def cosine(part):
    return (1 + math.cos(math.pi * part)) / 2


def triangle(epoch, up, down):
    x = epoch % (up + down)
    return x / up if x <= up else 1 - (x - up) / down


SCHEDULES = {
    "lambda": (lambda o: lr_scheduler.LambdaLR(o, lambda e: 1 / (1 + e)), lambda e: BASE / (1 + e)),
    "multiplicative": (lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 0.9), lambda e: BASE * 0.9**e),
    "step": (lambda o: lr_scheduler.StepLR(o, 3, 0.5), lambda e: BASE * 0.5 ** (e // 3)),
    "multi step": (lambda o: lr_scheduler.MultiStepLR(o, [2, 2, 5]), lambda e: BASE * 0.1 ** (2 * (e >= 2) + (e >= 5))),
    "constant": (lambda o: lr_scheduler.ConstantLR(o, 0.25, 4), lambda e: BASE * (0.25 if e < 4 else 1)),
    "linear": (lambda o: lr_scheduler.LinearLR(o, 0.2, 0.8, 4), lambda e: BASE * (0.2 + 0.6 * min(e, 4) / 4)),
    "exponential": (lambda o: lr_scheduler.ExponentialLR(o, 0.8), lambda e: BASE * 0.8**e),
    "polynomial": (lambda o: lr_scheduler.PolynomialLR(o, 6, 2.0), lambda e: BASE * (1 - min(e, 6) / 6) ** 2),
    "cosine": (lambda o: lr_scheduler.CosineAnnealingLR(o, 5, 0.1), lambda e: 0.1 + (BASE - 0.1) * cosine(e / 5)),
    "restarts": (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 4, eta_min=0.1), lambda e: 0.1 + 0.4 * cosine(e % 4 / 4)),
    "longer restarts": (
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 3),
        lambda e: BASE * cosine(e / 2 if e < 2 else (e - 2) / 6 if e < 8 else (e - 8) / 18),
    ),
    "cyclic": (lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.7, 3, 5), lambda e: 0.1 + 0.6 * triangle(e, 3, 5)),
    "cyclic, halved": (
        lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.7, 4, mode="triangular2"), lambda e: 0.1 + 0.6 * triangle(e, 4, 4) / 2 ** (e // 8),
    ),
    "cyclic, decaying": (
        lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.7, 4, mode="exp_range", gamma=0.9), lambda e: 0.1 + 0.6 * triangle(e, 4, 4) * 0.9**e,
    ),
    "sequence": (
        lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o, 0.1, 20), lr_scheduler.ExponentialLR(o, 0.9)], [4]),
        lambda e: BASE * (0.1 if e < 4 else 0.9 ** (e - 4)),
    ),
    "chain": (
        lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.ConstantLR(o, 0.1, 3), lr_scheduler.ExponentialLR(o, 0.9)]),
        lambda e: BASE * (0.1 if e < 3 else 1) * 0.9**e,
    ),
}  # fmt: skip
EACH = pytest.mark.parametrize("name", SCHEDULES)


@EACH
def test_closed_form(name):
    make, expected = SCHEDULES[name]
    assert rates(make(optimizer()), 20) == pytest.approx([expected(e) for e in range(20)], rel=1e-9, abs=1e-12)


@EACH
def test_state_goes_on(name):
    make, expected = SCHEDULES[name]
    first = make(optimizer())
    rates(first, 7)
    state, other = copy.deepcopy(first.state_dict()), optimizer()
    second = make(other)
    second.load_state_dict(state)
    other.load_state_dict(first.optimizer.state_dict())
    assert rates(second, 10) == pytest.approx([expected(e) for e in range(7, 17)], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["step", "multi step", "constant", "linear", "exponential", "polynomial", "cosine"])
def test_step_to_an_epoch(name):
    make, expected = SCHEDULES[name]
    schedule = make(optimizer())
    schedule.optimizer.step()
    for epoch in (5, 2, 9):
        schedule.step(epoch)
        assert schedule.get_last_lr() == pytest.approx([expected(epoch)]) and schedule.last_epoch == epoch


def test_groups_have_rates_of_their_own():
    schedule = lr_scheduler.LambdaLR(optimizer(1.0, 0.1), [lambda e: 2.0**e, lambda e: 3.0**e])
    for _ in range(2):
        schedule.optimizer.step()
        schedule.step()
    assert schedule.get_last_lr() == pytest.approx([4.0, 0.9]) and schedule.base_lrs == [1.0, 0.1]
    with pytest.raises(ValueError, match="expected 2 values for lr_lambda, got 1"):
        lr_scheduler.LambdaLR(optimizer(1.0, 0.1), [lambda e: 1.0])


def test_cyclic_momentum_moves_against_the_rate():
    schedule = lr_scheduler.CyclicLR(optimizer(), 0.1, 0.7, 2, base_momentum=0.6, max_momentum=0.8)
    found = []
    for _ in range(5):
        found.append(schedule.optimizer.param_groups[0]["momentum"])
        schedule.optimizer.step()
        schedule.step()
    assert found == pytest.approx([0.8, 0.7, 0.6, 0.7, 0.8])


@pytest.mark.parametrize("anneal, height", [("cos", lambda part: 1 - cosine(part)), ("linear", lambda part: part)])
def test_one_cycle(anneal, height):
    adam = optim.Adam([torch.ones(1, requires_grad=True)])
    schedule = lr_scheduler.OneCycleLR(adam, 1.0, total_steps=11, pct_start=5 / 11, anneal_strategy=anneal, div_factor=10, final_div_factor=2)
    found, betas = [], []
    for epoch in range(11):
        found.append(adam.param_groups[0]["lr"])
        betas.append(adam.param_groups[0]["betas"][0])
        adam.step()
        if epoch < 10:
            schedule.step()
    up, down = [height(e / 4) for e in range(5)], [height(e / 6) for e in range(1, 7)]
    assert found == pytest.approx([0.1 + 0.9 * h for h in up] + [1 - 0.95 * h for h in down])
    assert betas == pytest.approx([0.95 - 0.1 * h for h in up] + [0.85 + 0.1 * h for h in down])
    schedule.step()
    with pytest.raises(ValueError, match="total steps is 11"):
        schedule.step()


def test_restarts_at_fractions():
    schedule = lr_scheduler.CosineAnnealingWarmRestarts(optimizer(), 2, 3)
    schedule.optimizer.step()
    for epoch, part in [(0.5, 0.25), (1.5, 0.75), (5.0, 0.5), (8.9, 0.05)]:
        schedule.step(epoch)
        assert schedule.get_last_lr() == pytest.approx([BASE * cosine(part)])


def test_plateau():
    o = optimizer()
    schedule = lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=2, min_lr=0.1, threshold=0.1)
    found = []
    #            best       bad, bad: halved; cooldown     bad, bad: halved; cooldown; bad, bad: to the minimum
    for metric in [1.0, 0.8, 0.79, torch.tensor(0.78), 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]:
        schedule.step(metric)
        found.append(o.param_groups[0]["lr"])
    assert found == pytest.approx([0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125, 0.125, 0.1])
    assert schedule.best == 0.8

    other = lr_scheduler.ReduceLROnPlateau(optimizer(), factor=0.5, patience=1, cooldown=2)
    other.load_state_dict(schedule.state_dict())
    assert (other.best, other.num_bad_epochs, other.cooldown_counter) == (schedule.best, schedule.num_bad_epochs, schedule.cooldown_counter)


def test_plateau_of_a_maximum():
    o = optimizer()
    schedule = lr_scheduler.ReduceLROnPlateau(o, "max", patience=0, threshold=0.5, threshold_mode="abs")
    found = []
    for metric in [1.0, 1.6, 1.7, 2.2]:
        schedule.step(metric)
        found.append(o.param_groups[0]["lr"])
    assert found == pytest.approx([0.5, 0.5, 0.05, 0.05])


def test_a_step_before_the_optimizers_is_warned_of():
    schedule = lr_scheduler.StepLR(optimizer(), 1)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()


def test_errors():
    o = optimizer()
    plain = optim.Adagrad([torch.ones(1, requires_grad=True)])
    wrong = [
        (TypeError, lambda: lr_scheduler.StepLR(3, 1)),
        (KeyError, lambda: lr_scheduler.StepLR(optimizer(), 1, last_epoch=3)),
        (TypeError, lambda: lr_scheduler.LambdaLR(o, 3)),
        (ValueError, lambda: lr_scheduler.ConstantLR(o, 2.0)),
        (ValueError, lambda: lr_scheduler.LinearLR(o, 0.0)),
        (ValueError, lambda: lr_scheduler.CyclicLR(o, 0.1, 0.2, mode="other")),
        (ValueError, lambda: lr_scheduler.CyclicLR(plain, 0.1, 0.2)),
        (ValueError, lambda: lr_scheduler.OneCycleLR(o, 0.1)),
        (ValueError, lambda: lr_scheduler.OneCycleLR(o, 0.1, total_steps=-1)),
        (ValueError, lambda: lr_scheduler.OneCycleLR(o, 0.1, total_steps=3, anneal_strategy="other")),
        (ValueError, lambda: lr_scheduler.CosineAnnealingWarmRestarts(o, 0)),
        (ValueError, lambda: lr_scheduler.ReduceLROnPlateau(o, "least")),
        (ValueError, lambda: lr_scheduler.ReduceLROnPlateau(o, factor=1.0)),
        (ValueError, lambda: lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(o, 1)], [1])),
        (ValueError, lambda: lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(optimizer(), 1)], [])),
        (ValueError, lambda: lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(o)])),
    ]
    for kind, make in wrong:
        with pytest.raises(kind):
            make()
