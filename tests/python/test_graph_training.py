"""Compiled functions that train: gradients that they find and leave with tensors, and steps of optimizers."""

import warnings

import pytest

import opforge as torch
from opforge import nn
from opforge.nn import functional as F

pytestmark = pytest.mark.usefixtures("no_warnings")

OPTIMIZERS = {
    "SGD": {"lr": 0.1},
    "SGD with momentum": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
    "Adam": {"lr": 0.01},
    "AdamW": {"lr": 0.01, "amsgrad": True},
    "Adamax": {"lr": 0.01},
    "Adagrad": {"lr": 0.01, "lr_decay": 0.1},
    "Adadelta": {},
    "RMSprop": {"lr": 0.01, "centered": True, "momentum": 0.5},
    "Rprop": {"lr": 0.01},
    "NAdam": {"lr": 0.01},
    "RAdam": {"lr": 0.01, "betas": (0.9, 0.9)},
}


def compiled(function):
    return torch.compile(function, fullgraph=True)


def batches(count):
    torch.manual_seed(1)
    return [(torch.randn(6, 4), torch.randint(0, 3, (6,))) for _ in range(count)]


def model_of(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def optimizer_of(name, model, **settings):
    return getattr(torch.optim, name.split()[0])(model.parameters(), **OPTIMIZERS[name], **settings)


def assert_same(model, other):
    for a, b in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("clears", ["gone", "zeros", "never"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_of_training_is_one_graph(name, clears):
    def train(compile):
        model = model_of()
        optimizer = optimizer_of(name, model)

        @compile
        def step(x, y):
            if clears != "never":
                optimizer.zero_grad(set_to_none=clears == "gone")
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return loss.detach()

        return [step(x, y).item() for x, y in batches(9)], model, optimizer

    (losses, model, optimizer), (want, eager, its) = train(compiled), train(lambda f: f)
    torch.testing.assert_close(torch.tensor(losses), torch.tensor(want), rtol=1e-5, atol=1e-6)
    assert_same(model, eager)
    steps = [[state.get("step") for state in each.state_dict()["state"].values()] for each in (optimizer, its)]
    assert steps[0] == steps[1]


def test_programs_are_few():
    model = model_of()
    optimizer = torch.optim.AdamW(model.parameters())

    @compiled
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    for x, y in batches(3):
        step(x, y)
    programs = step.explain()
    for x, y in batches(20):
        step(x, y)
    assert step.explain() == programs


def test_steps_by_graphs_and_without_them_take_turns():
    def train(compile):
        model = model_of()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

        def step(x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

        fast = compile(step)
        for i, (x, y) in enumerate(batches(9)):
            (step if i % 3 == 2 else fast)(x, y)
            if i == 5:
                optimizer.load_state_dict(optimizer.state_dict())
        return model, optimizer

    (model, optimizer), (eager, its) = train(torch.compile), train(lambda f: f)
    assert_same(model, eager)
    assert [int(s["step"]) for s in optimizer.state.values()] == [9] * 4 == [int(s["step"]) for s in its.state.values()]


def test_rates_that_are_tensors_are_read_by_each_step():
    def train(compile):
        model = model_of()
        optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(0.1), weight_decay=0.1)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.7)

        @compile
        def step(x, y):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

        for x, y in batches(24):
            step(x, y)
            schedule.step()
        return model

    assert_same(train(compiled), train(lambda f: f))


def test_gradients_are_added_to_what_tensors_keep():
    w = torch.ones(2, requires_grad=True)
    step = compiled(lambda x: (w * x).sum().backward())
    step(torch.ones(2))
    first = w.grad
    step(torch.ones(2))
    assert first.tolist() == w.grad.tolist() == [2.0, 2.0]
    w.grad = torch.full((2,), 10.0)
    kept = w.grad
    step(torch.ones(2))
    assert w.grad.tolist() == kept.tolist() == [11.0, 11.0] and first.tolist() == [2.0, 2.0]
    w.grad = None
    step(torch.ones(2))
    assert w.grad.tolist() == [1.0, 1.0]


def test_gradients_of_some_parameters_only():
    a, b = (torch.ones(1, requires_grad=True) for _ in range(2))

    @compiled
    def step(x):
        (a * x + b).sum().backward()

    for keeps in ((), (a,), (b,), (a, b), (), (b,)):
        for p in (a, b):
            p.grad = torch.ones(1) if any(p is kept for kept in keeps) else None
        step(torch.full((1,), 3.0))
        assert [p.grad.item() for p in (a, b)] == [3.0 + any(a is p for p in keeps), 1.0 + any(b is p for p in keeps)]


def test_a_gradient_that_others_hold_is_theirs():
    w = torch.ones(2, requires_grad=True)
    w.grad = held = torch.ones(2)

    @torch.compile
    @torch.no_grad()
    def step():
        return w.grad * 2 + held

    assert step().tolist() == [3.0, 3.0]
    w.grad = torch.full((2,), 5.0)
    assert step().tolist() == [11.0, 11.0]
    held.fill_(7.0)
    assert step().tolist() == [17.0, 17.0]


def test_a_gradient_that_others_hold_and_a_call_changes():
    w = torch.ones(2, requires_grad=True)
    w.grad = held = torch.ones(2)

    @torch.compile
    @torch.no_grad()
    def step():
        w.grad.add_(1)
        return held * 1

    assert step().tolist() == [2.0, 2.0]
    assert step().tolist() == [3.0, 3.0]
    w.grad = torch.zeros(2)
    assert step().tolist() == [3.0, 3.0] and w.grad.tolist() == [1.0, 1.0]
    w.grad = held
    assert step().tolist() == [4.0, 4.0] and w.grad.tolist() == [4.0, 4.0]


def test_two_tensors_with_one_gradient():
    def run(compile):
        a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
        step, found = compile(lambda x: (a * x + b * 2 * x).sum().backward()), []
        for i in range(4):
            a.grad = b.grad = torch.full((2,), float(i))
            step(torch.ones(2))
            found.append((a.grad.tolist(), b.grad.tolist()))
        return found

    assert run(torch.compile) == run(lambda f: f)


def test_gradients_are_left_with_arguments():
    @compiled
    def attack(x, w):
        (x.square() * w).sum().backward()
        return x.detach() + x.grad.sign()

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    for i in range(3):
        assert attack(x, torch.ones(2)).tolist() == [2.0, -3.0]
        assert x.grad.tolist() == [2.0 * (i + 1), -4.0 * (i + 1)]
    y = torch.tensor([3.0, 3.0], requires_grad=True)
    assert attack(y, torch.ones(2)).tolist() == [4.0, 4.0] and y.grad.tolist() == [6.0, 6.0]
    assert x.grad.tolist() == [6.0, -12.0]


def test_a_result_that_is_a_gradient_shares_its_memory():
    def run(compile):
        w, found = torch.ones(2, requires_grad=True), []

        @compile
        def step(x):
            w.grad = None
            (w * x).sum().backward()
            return w.grad

        for i in range(4):
            given = step(torch.full((2,), float(i)))
            given.add_(1)
            found.append(w.grad.tolist())
        return found

    assert run(compiled) == run(lambda f: f) == [[i + 1.0] * 2 for i in range(4)]


def test_gradients_taken_away_are_away():
    w = torch.ones(1, requires_grad=True)

    @compiled
    def clear(x):
        w.grad = None
        return x + 1

    for i in range(4):
        w.grad = torch.ones(1)
        assert clear(torch.ones(1)).item() == 2 and w.grad is None
        assert clear(torch.ones(1)).item() == 2 and w.grad is None


def test_gradients_with_a_history_are_those_of_calls_one_by_one():
    def run(compile):
        w, found = torch.tensor([2.0], requires_grad=True), []

        @compile
        def step(x):
            (w.square() * x).sum().backward(create_graph=True)

        for _ in range(3):
            w.grad = None
            step(torch.ones(1))
            (second,) = torch.autograd.grad(w.grad.sum(), w)
            found.append((w.grad.item(), second.item()))
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(torch.compile) == run(lambda f: f) == [(4.0, 2.0)] * 3


def test_a_call_that_fails_leaves_gradients_as_they_were():
    w = torch.ones(2, requires_grad=True)
    w.grad = torch.full((2,), 5.0)

    def step(x):
        (w * 2).sum().backward()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        torch.compile(step)(torch.ones(2))
    # Once, by the function itself.
    assert w.grad.tolist() == [7.0, 7.0]


def test_gradients_flow_through_what_leaves_gradients():
    def run(compile):
        torch.manual_seed(0)
        model, x, found = nn.Linear(2, 2), torch.randn(3, 2, requires_grad=True), []

        @compile
        def both(x):
            model(x.detach()).square().sum().backward()
            return model(x).sum()

        for _ in range(3):
            loss = both(x)
            found.append([p.grad.clone() for p in model.parameters()])
            loss.backward()
            found.append([*(p.grad.clone() for p in model.parameters()), x.grad.clone()])
        return [g for each in found for g in each]

    for got, want in zip(run(compiled), run(lambda f: f)):
        torch.testing.assert_close(got, want)


def test_mixed_precision_scaled():
    def train(compile):
        model = model_of()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        @compile
        def step(x, y):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        losses = [step(x, y).item() for x, y in batches(4)]
        return losses, model

    (losses, model), (want, eager) = train(compiled), train(lambda f: f)
    assert losses == pytest.approx(want, rel=1e-3)
    for a, b in zip(model.parameters(), eager.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-3)
