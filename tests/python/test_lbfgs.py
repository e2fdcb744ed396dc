"""L-BFGS: where it ends, and the way there against PyTorch's."""

import pytest

import opforge as torch
from opforge import optim


def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


@pytest.mark.parametrize("options", [{"line_search_fn": "strong_wolfe"}, {"lr": 0.5}], ids=["strong_wolfe", "fixed"])
def test_lbfgs_finds_rosenbrocks_minimum(options):
    p = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer = optim.LBFGS([p], max_iter=20, **options)

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(p)
        loss.backward()
        return loss

    first = optimizer.step(closure)
    assert first.item() == pytest.approx(24.2)
    for _ in range(15):
        optimizer.step(closure)
    assert p.tolist() == pytest.approx([1.0, 1.0], abs=1e-4)
    state = optimizer.state_dict()["state"][0]
    assert state["n_iter"] <= 320 and state["func_evals"] >= state["n_iter"]


def test_lbfgs_on_a_quadratic_of_several_parameters():
    a, b = torch.zeros(3, dtype=torch.float64, requires_grad=True), torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    optimizer = optim.LBFGS([a, b], line_search_fn="strong_wolfe", max_iter=50)

    def closure():
        optimizer.zero_grad()
        loss = ((a - torch.tensor([1.0, 2.0, 3.0])) ** 2 * torch.tensor([1.0, 10.0, 100.0])).sum() + ((b - 5) ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert a.tolist() == pytest.approx([1, 2, 3], abs=1e-5) and b.flatten().tolist() == pytest.approx([5] * 4, abs=1e-5)


# Where PyTorch's L-BFGS stands after three steps of six iterations, with histories of at most one, three and a hundred changes.
THREE_LBFGS_STEPS = [
    (None, 1, 1, [-1.1653281146372079, 1.3595974870857483, 1.1118694647432168]),
    (None, 3, 3, [-1.1652255919537662, 1.3517564674486175, 1.0848151084195976]),
    (None, 100, 17, [-1.1678716901208843, 1.3431324602170684, 1.056954898086849]),
    ("strong_wolfe", 1, 1, [0.1738085508737529, -0.06986835649576564, -0.043567740080780654]),
    ("strong_wolfe", 3, 3, [0.4695469293380481, 0.2845299527221097, 0.10725327260858122]),
    ("strong_wolfe", 100, 15, [-0.00836833940196155, -0.03494973402835255, -0.07741859236245714]),
]


@pytest.mark.parametrize(("search", "history_size", "kept", "expected"), THREE_LBFGS_STEPS)
def test_lbfgs_keeps_as_many_changes_as_its_history_holds(search, history_size, kept, expected):
    p = torch.tensor([-1.5, 2.0, 0.5], dtype=torch.float64, requires_grad=True)
    optimizer = optim.LBFGS([p], lr=1 if search else 0.1, max_iter=6, history_size=history_size, line_search_fn=search)

    def closure():
        optimizer.zero_grad()
        loss = ((1 - p[:-1]) ** 2 + 10 * (p[1:] - p[:-1] ** 2) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    state = optimizer.state[p]
    assert [len(state[name]) for name in ("old_dirs", "old_stps", "ro")] == [kept] * 3
    assert p.tolist() == pytest.approx(expected, rel=1e-9)
