"""ASGD, Adafactor, Muon and SparseAdam, and what all optimizers take: rates as tensors, recorded steps, other parameters for a while."""

import numpy as np
import pytest

import opforge as torch
from opforge import optim

RANDOM = np.random.RandomState(5)
GRADIENTS = [RANDOM.randn(4, 3) for _ in range(6)]
START = RANDOM.randn(4, 3)


def trained(make, gradients=GRADIENTS, start=START):
    """The parameter, and the optimizer, after a step by each gradient."""
    weight = torch.nn.Parameter(torch.tensor(start))
    optimizer = make([weight])
    for gradient in gradients:
        weight.grad = torch.tensor(gradient)
        optimizer.step()
    return weight, optimizer


def asgd(lr=0.1, lambd=0.05, alpha=0.75, t0=2.0, decay=0.1):
    p, eta, mu, mean = START, lr, 1.0, np.zeros_like(START)
    for t, g in enumerate(GRADIENTS, 1):
        p = p - eta * lambd * p - eta * (g + decay * p)
        mean = mean + mu * (p - mean)
        eta, mu = lr / (1 + lambd * lr * t) ** alpha, 1 / max(1, t - t0)
    return p, mean


def test_asgd():
    weight, optimizer = trained(lambda params: optim.ASGD(params, lr=0.1, lambd=0.05, t0=2.0, weight_decay=0.1))
    expected, mean = asgd()
    # The decay of weights is added to the gradient before the parameter shrinks.
    np.testing.assert_allclose(weight.detach().numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(optimizer.state[weight]["ax"].numpy(), mean, rtol=1e-12)


def adafactor(gradients, start, lr, eps, d, decay):
    p = start
    matrix = p.ndim > 1
    row = column = variance = 0.0
    rms = lambda x: np.sqrt(np.mean(x * x))  # noqa: E731
    for t, g in enumerate(gradients, 1):
        beta, step = 1 - t**-0.8, max(eps[1], rms(p)) * min(lr, t**-0.5)
        p = p - lr * decay * p
        if matrix:
            row = beta * row + (1 - beta) * (g * g).mean(-1, keepdims=True)
            column = beta * column + (1 - beta) * (g * g).mean(-2, keepdims=True)
            estimate = row * column / np.maximum(row.mean(-2, keepdims=True), eps[0])
        else:
            estimate = variance = beta * variance + (1 - beta) * g * g
        update = g / np.maximum(np.sqrt(estimate), eps[0])
        p = p - step * update / max(1.0, rms(update) / d)
    return p


@pytest.mark.parametrize("shape", [(4, 3), (5,), (2, 3, 4), ()])
def test_adafactor(shape):
    gradients = [np.asarray(RANDOM.randn(*shape)) for _ in range(5)]
    start = np.asarray(RANDOM.randn(*shape))
    weight, _ = trained(lambda p: optim.Adafactor(p, lr=0.2, eps=(1e-6, 1e-3), d=1.5, weight_decay=0.1), gradients, start)
    np.testing.assert_allclose(weight.detach().numpy(), adafactor(gradients, start, 0.2, (1e-6, 1e-3), 1.5, 0.1), rtol=1e-10)


def test_adafactor_keeps_rows_and_columns_of_matrices():
    weight, optimizer = trained(optim.Adafactor)
    state = optimizer.state[weight]
    assert state["row_var"].shape == (4, 1) and state["col_var"].shape == (1, 3) and "variance" not in state


@pytest.mark.parametrize(("kind", "scale"), [(None, (4 / 3) ** 0.5), ("match_rms_adamw", 0.4), ("spectral_unclamped", (4 / 3) ** 0.5)])
def test_muon_steps_are_nearly_orthogonal(kind, scale):
    weight, _ = trained(lambda p: optim.Muon(p, lr=1.0, weight_decay=0.0, adjust_lr_fn=kind), GRADIENTS[:1])
    u, _, vh = np.linalg.svd(GRADIENTS[0], full_matrices=False)
    step = (START - weight.detach().numpy()) / scale
    # The iteration brings singular values near 1 only, to 0.7 .. 1.2.
    inside = u.T @ step @ vh.T
    assert np.abs(inside - np.diag(np.diag(inside))).max() < 0.1
    assert 0.6 < np.diag(inside).min() and np.diag(inside).max() < 1.3


def test_muon_without_iterations_is_normalized_momentum_with_decay():
    weight, _ = trained(lambda p: optim.Muon(p, lr=0.5, weight_decay=0.1, nesterov=False, ns_steps=0), GRADIENTS[:1])
    expected = START * (1 - 0.05) - 0.5 * (4 / 3) ** 0.5 * GRADIENTS[0] / np.linalg.norm(GRADIENTS[0])
    np.testing.assert_allclose(weight.detach().numpy(), expected, atol=5e-3)


def test_muon_wants_matrices():
    with pytest.raises(ValueError, match="2 dimensions"):
        optim.Muon([torch.nn.Parameter(torch.ones(3))])
    with pytest.raises(ValueError, match="adjust_lr_fn"):
        optim.Muon([torch.nn.Parameter(torch.ones(3, 3))], adjust_lr_fn="none")


def test_sparse_adam_changes_the_rows_that_a_gradient_has():
    """Against Adam on the looked-up rows alone, with the bias corrections of all steps."""
    table = torch.nn.Embedding(4, 2, sparse=True, _weight=torch.arange(8.0).reshape(4, 2))
    optimizer = optim.SparseAdam(table.parameters(), lr=0.1)
    rows, mean, square = table.weight.detach().clone(), torch.zeros(4, 2), torch.zeros(4, 2)
    for step, looked_up in enumerate(([1, 3, 3], [0, 1], [3]), 1):
        optimizer.zero_grad()
        (table(torch.tensor(looked_up)) ** 2 + 1).sum().backward()
        optimizer.step()
        for row in set(looked_up):
            grad = 2 * rows[row] * looked_up.count(row)
            mean[row] = 0.9 * mean[row] + 0.1 * grad
            square[row] = 0.999 * square[row] + 0.001 * grad**2
            rows[row] -= 0.1 * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step) * mean[row] / (square[row].sqrt() + 1e-8)
    torch.testing.assert_close(table.weight.detach(), rows)
    assert table.weight[2].tolist() == [4.0, 5.0]


ALL = [getattr(optim, name) for name in optim.__all__ if name[0].isupper() and name not in ("Optimizer", "SparseAdam", "LBFGS")]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_a_rate_may_be_a_tensor(kind):
    rate = torch.tensor(0.125)
    by_tensor, optimizer = trained(lambda p: kind(p, lr=rate))
    by_number, _ = trained(lambda p: kind(p, lr=0.125))
    assert torch.equal(by_tensor, by_number)
    assert optimizer.param_groups[0]["lr"] is rate
    with pytest.raises(ValueError, match="1 element"):
        kind([torch.nn.Parameter(torch.ones(2, 2))], lr=torch.ones(2))


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_state_of_an_optimizer_goes_on_in_another(kind):
    whole, _ = trained(kind)
    half, first = trained(kind, GRADIENTS[:3])
    rest = torch.nn.Parameter(half.detach().clone())
    second = kind([rest])
    second.load_state_dict(first.state_dict())
    for gradient in GRADIENTS[3:]:
        rest.grad = torch.tensor(gradient)
        second.step()
    assert torch.equal(rest, whole)


def test_schedulers_write_into_a_rate_that_is_a_tensor():
    rate = torch.tensor(0.5)
    optimizer = optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=rate)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    optimizer.step()
    before = scheduler.get_last_lr()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is rate and rate.item() == 0.25
    assert [float(lr) for lr in before] == [0.5] and [float(lr) for lr in scheduler.get_last_lr()] == [0.25]


DIFFERENTIABLE = [kind for kind in ALL if kind not in (optim.Muon, optim.Adafactor)]


@pytest.mark.parametrize("kind", DIFFERENTIABLE, ids=lambda kind: kind.__name__)
def test_recorded_steps_have_gradients(kind):
    options = {"amsgrad": True} if kind is optim.Adam else {"momentum": 0.5, "nesterov": True} if kind is optim.SGD else {}
    start, gradients = torch.tensor([0.5, -2.0], dtype=torch.float64), torch.tensor([[0.7, 0.3], [-0.4, 0.6]], dtype=torch.float64)

    def after(start, gradients):
        weight = start.clone()
        optimizer = kind([weight], differentiable=True, **options)
        for gradient in gradients:
            weight.grad = gradient
            optimizer.step()
        return weight

    plain = torch.nn.Parameter(start.clone())
    optimizer = kind([plain], **options)
    for gradient in gradients:
        plain.grad = gradient
        optimizer.step()
    recorded = after(start.requires_grad_(), gradients.requires_grad_())
    assert torch.allclose(recorded, plain, rtol=1e-12)
    assert torch.autograd.gradcheck(after, (start, gradients))


@pytest.mark.parametrize("kind", DIFFERENTIABLE, ids=lambda kind: kind.__name__)
def test_complex_parameters_are_pairs_of_real_ones(kind):
    start, gradients = torch.tensor([1 + 2j, -0.5 + 0.25j]), [torch.tensor([0.5 - 1j, 2 + 1j]), torch.tensor([0.25 + 1j, -1 + 1j])]
    options = {"momentum": 0.5} if kind is optim.SGD else {"initial_accumulator_value": 0.5} if kind is optim.Adagrad else {}
    pairs, whole = torch.nn.Parameter(torch.view_as_real(start).clone()), torch.nn.Parameter(start.clone())
    optimizers = kind([pairs], lr=0.1, **options), kind([whole], lr=0.1, **options)
    for gradient in gradients:
        pairs.grad, whole.grad = torch.view_as_real(gradient).clone(), gradient
        for optimizer in optimizers:
            optimizer.step()
    np.testing.assert_allclose(torch.view_as_real(whole.detach()).numpy(), pairs.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert {value.dtype for value in optimizers[1].state[whole].values() if value.dim()} <= {torch.complex64}


COUNTING = [kind for kind in ALL if kind not in (optim.SGD, optim.Muon)]


@pytest.mark.parametrize("kind", COUNTING, ids=lambda kind: kind.__name__)
def test_numbers_in_a_state_are_tensors_to_readers(kind):
    watched, optimizer = trained(kind, GRADIENTS[:3])
    unwatched, other = trained(kind, GRADIENTS[:3])
    assert optimizer.state[watched]["step"].item() == 3.0 and optimizer.state[watched]["step"].dtype is torch.float32
    kept = [value for value in optimizer.state_dict()["state"][0].values()]
    assert all(isinstance(value, torch.Tensor) for value in kept)
    for gradient in GRADIENTS[3:]:
        watched.grad = unwatched.grad = torch.tensor(gradient)
        optimizer.step()
        other.step()
        assert optimizer.state[watched]["step"].dim() == 0
    assert torch.equal(watched, unwatched)
    optimizer.state[watched]["step"].fill_(40)
    optimizer.step()
    assert optimizer.state[watched]["step"].item() == 41


@pytest.mark.parametrize("kind", COUNTING, ids=lambda kind: kind.__name__)
def test_states_with_plain_numbers_are_loaded(kind):
    whole, _ = trained(kind)
    half, first = trained(kind, GRADIENTS[:3])
    saved = first.state_dict()
    saved["state"] = {0: {name: value if value.dim() else value.item() for name, value in saved["state"][0].items()}}
    rest = torch.nn.Parameter(half.detach().clone())
    second = kind([rest])
    second.load_state_dict(saved)
    assert second.state[rest]["step"].item() == 3 and second.state[rest]["step"].dtype is torch.float32
    for gradient in GRADIENTS[3:]:
        rest.grad = torch.tensor(gradient)
        second.step()
    assert torch.equal(rest, whole)


def test_numbers_of_a_state_keep_their_precision_in_half_precision():
    param = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    optimizer, other = optim.ASGD([param], lr=0.3), optim.ASGD([param], lr=0.3)
    param.grad = torch.ones_like(param)
    optimizer.step()
    other.load_state_dict(optimizer.state_dict())
    assert other.state[param]["eta"].item() == optimizer.state[param]["eta"].item() != 0.3


def test_groups_are_shown_apart():
    shown = repr(optim.SGD([{"params": [torch.ones(1)]}, {"params": [torch.ones(1)], "lr": 0.5}], lr=0.1))
    assert shown.startswith("SGD (\nParameter Group 0\n    dampening: 0\n") and "\n\nParameter Group 1\n" in shown and "    lr: 0.5\n" in shown


def test_settings_that_contradict_each_other():
    for options in ({"foreach": True, "fused": True}, {"differentiable": True, "fused": True}):
        with pytest.raises(RuntimeError):
            optim.Adam([torch.nn.Parameter(torch.ones(2))], **options)
    with pytest.raises(ValueError, match="non-leaf"):
        optim.Adam([torch.nn.Parameter(torch.ones(2)) * 2])


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_climbs(line_search):
    weight = torch.nn.Parameter(torch.tensor([3.0, -2.0], dtype=torch.float64))
    optimizer = optim.LBFGS([weight], lr=0.5, line_search_fn=line_search, maximize=True)

    def closure():
        optimizer.zero_grad()
        loss = -((weight - 1) ** 2).sum()
        loss.backward()
        return loss

    first = [float(optimizer.step(closure)) for _ in range(5)][0]
    assert first == -13.0
    np.testing.assert_allclose(weight.detach().numpy(), [1, 1], atol=1e-4)


def test_other_parameters_and_state_for_a_while():
    weight, optimizer = trained(lambda p: optim.SGD(p, lr=0.5, momentum=0.9), GRADIENTS[:2])
    kept, state = weight.detach().clone(), optimizer.state_dict()
    buffer = optimizer.state[weight]["momentum_buffer"].clone()
    other = {"state": {0: {"momentum_buffer": torch.ones(4, 3, dtype=torch.float64)}}, "param_groups": state["param_groups"]}
    guest = torch.zeros(4, 3, dtype=torch.float64)
    with optim.swap_in_optimizer_params_and_state(optimizer, [guest], other):
        guest.grad = torch.zeros(4, 3, dtype=torch.float64)
        optimizer.step()
    assert torch.equal(guest, torch.full((4, 3), -0.45, dtype=torch.float64))
    assert torch.equal(other["state"][0]["momentum_buffer"], torch.full((4, 3), 0.9, dtype=torch.float64))
    assert torch.equal(weight, kept) and torch.equal(optimizer.state[weight]["momentum_buffer"], buffer)
    with pytest.raises(ValueError, match="expected groups"), optim.swap_in_optimizer_params_and_state(optimizer, [], other):
        pass
