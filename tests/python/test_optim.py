"""Optimizers against naive ones in NumPy, and what is around them."""

import copy
import io

import numpy as np
import pytest

import opforge as torch
from opforge import optim

STEPS = 5


class Naive:
    """One parameter in float64 with hyperparameters as attributes; `update(g, t)` is the step `t`, from 1, by a gradient."""

    weight_decay, maximize = 0.0, False

    def __init__(self, start, **options):
        self.p = start.copy()
        self.__dict__.update(options)

    def zeros(self, *names):
        for name in names:
            if not hasattr(self, name):
                setattr(self, name, np.zeros_like(self.p))

    def step(self, g, t):
        self.update((-g if self.maximize else g) + self.weight_decay * self.p, t)


class SGD(Naive):
    momentum, dampening, nesterov = 0.0, 0.0, False

    def update(self, g, t):
        if self.momentum:
            self.b = g if t == 1 else self.momentum * self.b + (1 - self.dampening) * g
            g = g + self.momentum * self.b if self.nesterov else self.b
        self.p = self.p - self.lr * g


class Adam(Naive):
    lr, betas, eps, amsgrad, decoupled = 1e-3, (0.9, 0.999), 1e-8, False, False

    def step(self, g, t):
        g = -g if self.maximize else g
        if self.decoupled:
            self.p = self.p - self.lr * self.weight_decay * self.p
        else:
            g = g + self.weight_decay * self.p
        self.update(g, t)

    def averages(self, g):
        self.zeros("m", "v")
        self.m = self.betas[0] * self.m + (1 - self.betas[0]) * g
        self.v = self.betas[1] * self.v + (1 - self.betas[1]) * g * g

    def update(self, g, t):
        self.averages(g)
        self.zeros("largest")
        self.largest = np.maximum(self.largest, self.v)
        v = (self.largest if self.amsgrad else self.v) / (1 - self.betas[1] ** t)
        self.p = self.p - self.lr * self.m / (1 - self.betas[0] ** t) / (np.sqrt(v) + self.eps)


class AdamW(Adam):
    weight_decay, decoupled = 1e-2, True


class NAdam(Adam):
    lr, momentum_decay = 2e-3, 4e-3

    def mu(self, t):
        return self.betas[0] * (1 - 0.5 * 0.96 ** (t * self.momentum_decay))

    def update(self, g, t):
        self.averages(g)
        product = np.prod([self.mu(k) for k in range(1, t + 1)])
        m = self.mu(t + 1) * self.m / (1 - product * self.mu(t + 1)) + (1 - self.mu(t)) * g / (1 - product)
        self.p = self.p - self.lr * m / (np.sqrt(self.v / (1 - self.betas[1] ** t)) + self.eps)


class RAdam(Adam):
    def update(self, g, t):
        self.averages(g)
        m, limit = self.m / (1 - self.betas[0] ** t), 2 / (1 - self.betas[1]) - 1
        length = limit - 2 * t * self.betas[1] ** t / (1 - self.betas[1] ** t)
        if length > 5:
            r = np.sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
            m = m * r * np.sqrt(1 - self.betas[1] ** t) / (np.sqrt(self.v) + self.eps)
        self.p = self.p - self.lr * m


class Adamax(Adam):
    lr = 2e-3

    def update(self, g, t):
        self.zeros("m", "u")
        self.m = self.betas[0] * self.m + (1 - self.betas[0]) * g
        self.u = np.maximum(self.betas[1] * self.u, np.abs(g) + self.eps)
        self.p = self.p - self.lr / (1 - self.betas[0] ** t) * self.m / self.u


class Adagrad(Naive):
    lr, lr_decay, eps, initial = 1e-2, 0.0, 1e-10, 0.0

    def update(self, g, t):
        self.s = (self.initial if t == 1 else self.s) + g * g
        self.p = self.p - self.lr / (1 + (t - 1) * self.lr_decay) * g / (np.sqrt(self.s) + self.eps)


class Adadelta(Naive):
    lr, rho, eps = 1.0, 0.9, 1e-6

    def update(self, g, t):
        self.zeros("s", "d")
        self.s = self.rho * self.s + (1 - self.rho) * g * g
        step = np.sqrt(self.d + self.eps) / np.sqrt(self.s + self.eps) * g
        self.d = self.rho * self.d + (1 - self.rho) * step * step
        self.p = self.p - self.lr * step


class RMSprop(Naive):
    lr, alpha, eps, momentum, centered = 1e-2, 0.99, 1e-8, 0.0, False

    def update(self, g, t):
        self.zeros("s", "mean", "b")
        self.s = self.alpha * self.s + (1 - self.alpha) * g * g
        self.mean = self.alpha * self.mean + (1 - self.alpha) * g
        variance = self.s - self.mean**2 if self.centered else self.s
        self.b = self.momentum * self.b + g / (np.sqrt(variance) + self.eps)
        self.p = self.p - self.lr * self.b


class Rprop(Naive):
    lr, etas, step_sizes = 1e-2, (0.5, 1.2), (1e-6, 50)

    def update(self, g, t):
        self.zeros("before")
        if t == 1:
            self.size = np.full_like(self.p, self.lr)
        agreement = np.sign(g * self.before)
        self.size = np.clip(self.size * np.choose(agreement.astype(int) + 1, [self.etas[0], 1.0, self.etas[1]]), *self.step_sizes)
        g = np.where(agreement < 0, 0, g)
        self.p = self.p - np.sign(g) * self.size
        self.before = g


DECAY, ASCENT = {"weight_decay": 0.1}, {"maximize": True}
DECOUPLED = {"weight_decay": 0.1, "decoupled_weight_decay": True}
BETAS = {"betas": (0.7, 0.8), "eps": 1e-3, "lr": 0.1}
CASES = [
    (SGD, {}), (SGD, DECAY), (SGD, ASCENT), (SGD, {"momentum": 0.9}), (SGD, {"momentum": 0.9, "dampening": 0.4, **DECAY}),
    (SGD, {"momentum": 0.9, "nesterov": True, **DECAY}), (SGD, {"momentum": 0.9, **ASCENT, **DECAY}),
    *[(kind, options) for kind in (Adam, AdamW, NAdam, RAdam, Adamax) for options in ({}, DECAY, {**ASCENT, **DECAY}, BETAS)],
    (Adam, {"amsgrad": True, **BETAS}), (AdamW, {"amsgrad": True, **BETAS, **ASCENT}), (Adam, DECOUPLED), (NAdam, DECOUPLED),
    (RAdam, DECOUPLED), (NAdam, {"momentum_decay": 0.3}),
    (Adagrad, {}), (Adagrad, {"lr_decay": 0.3, **DECAY}), (Adagrad, {"initial_accumulator_value": 0.5, **ASCENT}),
    (Adadelta, {}), (Adadelta, {"rho": 0.5, "lr": 0.3, **DECAY}), (Adadelta, ASCENT),
    (RMSprop, {}), (RMSprop, {"momentum": 0.9, **DECAY}), (RMSprop, {"centered": True, "alpha": 0.5, **ASCENT}),
    (RMSprop, {"centered": True, "momentum": 0.5, "alpha": 0.8}),
    (Rprop, {}), (Rprop, {"etas": (0.3, 2.0), "step_sizes": (1e-3, 0.015), **ASCENT}),
]  # fmt: skip
NAIVE_NAMES = {"decoupled_weight_decay": "decoupled", "initial_accumulator_value": "initial"}


def gradients(shape, count=STEPS, seed=0):
    return np.random.default_rng(seed).standard_normal((count, *shape))


def taken(optimizer, params, grads):
    """Steps by gradients given for each parameter."""
    for step in zip(*grads):
        for param, grad in zip(params, step):
            param.grad = torch.tensor(grad, dtype=param.dtype)
        optimizer.step()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("kind, options", CASES, ids=lambda case: getattr(case, "__name__", None) or ",".join(case) or "plain")
def test_steps(kind, options, dtype):
    options = {"lr": 0.1, **options} if kind is SGD else options
    starts = [gradients((3, 4), 1, seed=8)[0], gradients((), 1, seed=9)[0]]
    params = [torch.tensor(start, dtype=dtype).requires_grad_() for start in starts]
    optimizer = getattr(optim, kind.__name__)(params, **options)
    grads = [gradients(start.shape, seed=k) for k, start in enumerate(starts)]
    taken(optimizer, params, grads)
    for param, start, history in zip(params, starts, grads):
        naive = kind(start, **{NAIVE_NAMES.get(name, name): value for name, value in options.items()})
        for t, grad in enumerate(history, 1):
            naive.step(grad, t)
        tolerance = 1e-12 if dtype is torch.float64 else 2e-5
        np.testing.assert_allclose(param.detach().numpy(), naive.p, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind, options", CASES[::3], ids=lambda case: getattr(case, "__name__", None) or ",".join(case) or "plain")
def test_state_goes_through_a_file(kind, options):
    def fresh():
        params = [torch.ones(3, dtype=torch.float64, requires_grad=True), torch.zeros(2, dtype=torch.float64, requires_grad=True)]
        return params, getattr(optim, kind.__name__)([{"params": params[:1]}, {"params": params[1:], "lr": 0.05}], **options)

    grads = [gradients((3,), 6), gradients((2,), 6)]
    whole, optimizer = fresh()
    taken(optimizer, whole, grads)

    halves, optimizer = fresh()
    taken(optimizer, halves, [grad[:3] for grad in grads])
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    resumed, optimizer = fresh()
    with torch.no_grad():
        [new.copy_(old) for new, old in zip(resumed, halves)]
    optimizer.load_state_dict(torch.load(file))
    assert [group["lr"] for group in optimizer.param_groups][1] == 0.05
    taken(optimizer, resumed, [grad[3:] for grad in grads])
    for a, b in zip(whole, resumed):
        assert a.tolist() == b.tolist()


def test_state_dict_is_pytorchs():
    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    optimizer = optim.Adam([{"params": [a]}, {"params": [b], "lr": 0.5}])
    taken(optimizer, [a, b], [gradients((2,), 1)] * 2)
    state = optimizer.state_dict()
    assert set(state) == {"state", "param_groups"} and set(state["state"]) == {0, 1}
    assert set(state["state"][0]) == {"step", "exp_avg", "exp_avg_sq"} and state["state"][0]["step"] == 1
    assert [group["params"] for group in state["param_groups"]] == [[0], [1]]
    assert [group["lr"] for group in state["param_groups"]] == [1e-3, 0.5]
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optim.Adam([a]).load_state_dict(state)
    with pytest.raises(ValueError, match="doesn't match the size"):
        optim.Adam([{"params": [a, b]}, {"params": [torch.ones(1)]}]).load_state_dict(state)


def test_loaded_state_has_the_parameters_dtype():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.float64, requires_grad=True)
    optimizer, other = optim.Adam([a]), optim.Adam([b])
    taken(optimizer, [a], [gradients((2,), 1)])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[b]["exp_avg"].dtype is torch.float64
    other.state[b]["exp_avg"].add_(1)
    assert (other.state[b]["exp_avg"] - optimizer.state[a]["exp_avg"]).tolist() == [1, 1]


def test_copies_of_an_optimizer_keep_going():
    a = torch.ones(2, dtype=torch.float64, requires_grad=True)
    optimizer = optim.SGD([a], lr=0.1, momentum=0.9)
    taken(optimizer, [a], [gradients((2,), 2)])
    param, other = copy.deepcopy((a, optimizer))
    assert other.param_groups[0]["params"][0] is param
    for p, o in ((a, optimizer), (param, other)):
        taken(o, [p], [gradients((2,), 2, seed=1)])
    assert a.tolist() == param.tolist()


def test_groups():
    a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
    optimizer = optim.SGD([{"params": a}, {"params": [b], "lr": 1.0}], lr=0.1)
    optimizer.add_param_group({"params": [c], "momentum": 0.5})
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 1.0, 0.1]
    assert [g["momentum"] for g in optimizer.param_groups] == [0, 0, 0.5]
    (a + b).sum().backward()
    optimizer.step()
    assert [p.item() for p in (a, b, c)] == pytest.approx([0.9, 0.0, 1.0])
    named = optim.SGD([("weight", a)], lr=0.1)
    assert named.param_groups[0]["param_names"] == ["weight"]
    assert "lr: 0.1" in repr(named) and repr(named).startswith("SGD (\nParameter Group 0\n")


def test_zero_grad():
    a, b = (torch.ones(1, requires_grad=True) for _ in range(2))
    optimizer = optim.SGD([a, b], lr=0.1)
    (a * 2).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert a.grad.tolist() == [0] and b.grad is None
    optimizer.zero_grad()
    assert a.grad is None


def test_closure_and_hooks():
    a, seen = torch.ones(1, requires_grad=True), []
    optimizer = optim.SGD([a], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (a * 3).sum()
        loss.backward()
        return loss

    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("before", a.item())))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("after", round(a.item(), 4))))
    with torch.no_grad():
        assert optimizer.step(closure).item() == 3
    before.remove()
    optimizer.step()
    assert seen == [("before", 1.0), ("after", 0.7), ("after", 0.4)]


def test_steps_are_not_recorded():
    a = torch.ones(2, requires_grad=True)
    (a * a).sum().backward()
    optim.Adam([a]).step()
    assert a.is_leaf and a.requires_grad and a.grad_fn is None


def test_errors():
    a = torch.ones(2, requires_grad=True)
    wrong = [
        (ValueError, lambda: optim.SGD([], lr=0.1)),
        (TypeError, lambda: optim.SGD(a, lr=0.1)),
        (TypeError, lambda: optim.SGD([1.0], lr=0.1)),
        (TypeError, lambda: optim.SGD([{"params": {a}}], lr=0.1)),
        (ValueError, lambda: optim.SGD([a * 2], lr=0.1)),
        (ValueError, lambda: optim.SGD([a], lr=-1)),
        (ValueError, lambda: optim.SGD([a], lr=0.1, nesterov=True)),
        (ValueError, lambda: optim.SGD([a], lr=0.1, momentum=-0.1)),
        (ValueError, lambda: optim.SGD([{"params": [a]}, {"params": [a]}], lr=0.1)),
        (ValueError, lambda: optim.SGD([("a", a), torch.ones(1)], lr=0.1)),
        (ValueError, lambda: optim.Adam([a], betas=(1.0, 0.9))),
        (ValueError, lambda: optim.Adam([a], eps=-1)),
        (ValueError, lambda: optim.Adam([a], weight_decay=-1)),
        (ValueError, lambda: optim.Rprop([a], etas=(1.5, 2))),
        (ValueError, lambda: optim.Adadelta([a], rho=1.5)),
        (ValueError, lambda: optim.LBFGS([{"params": [a]}, {"params": [torch.ones(1)]}])),
        (RuntimeError, lambda: optim.LBFGS([a], line_search_fn="other")),
        (TypeError, lambda: optim.SGD([a], lr=0.1, speed=2)),
    ]
    for kind, make in wrong:
        with pytest.raises(kind):
            make()


IN_ONE_PASS = {
    "addcmul_": lambda x, a, b: x.addcmul_(a, b, value=0.5),
    "addcdiv_": lambda x, a, b: x.addcdiv_(a, b, value=-0.5),
    "lerp_": lambda x, a, b: x.lerp_(a, 0.1),
    "lerp_ by weights": lambda x, a, b: x.lerp_(a, b),
}


@pytest.mark.parametrize("name", IN_ONE_PASS)
def test_what_steps_are_made_of_needs_no_memory(name):
    x, a, b = (torch.rand(1 << 16) + 0.5 for _ in range(3))
    torch.synchronize()
    before = torch.memory_stats()["allocations"]
    IN_ONE_PASS[name](x, a, b)
    torch.synchronize()
    assert torch.memory_stats()["allocations"] == before


@pytest.mark.parametrize("name", IN_ONE_PASS)
@pytest.mark.parametrize("shapes", [((3, 4),) * 3, ((3, 4), (4,), (3, 1)), ((3, 4), (), (1,))])
def test_what_steps_are_made_of_has_gradients(name, shapes):
    tensors = [(torch.rand(shape, dtype=torch.float64) + 0.1).requires_grad_() for shape in shapes]
    call = lambda x, a, b: IN_ONE_PASS[name](x.clone(), a, b)  # noqa: E731
    assert torch.autograd.gradcheck(call, tensors) and torch.autograd.gradgradcheck(call, tensors)


def test_weights_of_half_precision_are_not_rounded():
    x, end = torch.zeros(1, dtype=torch.bfloat16), torch.ones(1, dtype=torch.bfloat16)
    exact = 0.0010004
    assert x.lerp(end, exact).item() == torch.tensor(exact).bfloat16().item()
    assert torch.full((1,), 256.0, dtype=torch.bfloat16).lerp(x, 1 - exact).item() == torch.tensor(256 * exact).bfloat16().item()
    assert torch.ones(1, dtype=torch.bfloat16).addcmul(end, end, value=2**-20).item() == 1.0
