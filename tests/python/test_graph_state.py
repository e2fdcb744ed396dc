"""Compiled functions see the world as it is at each call: gradients, elements that the host reads, attributes, variables, containers, random numbers."""

import dataclasses
import random
import types
import warnings

import numpy as np
import pytest

import opforge as torch
from opforge import nn


def compiled(function, **options):
    """The compiled function, without its warnings."""
    traced = torch.compile(function, **options)

    def call(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return traced(*args, **kwargs)

    return call


@pytest.fixture(params=["eager", "compiled"])
def compile(request):
    """What is the same for functions as they are and for compiled ones."""
    return compiled if request.param == "compiled" else lambda function: function


def test_an_optimizer_takes_the_gradients_of_each_step(compile):
    p = nn.Parameter(torch.ones(1))
    step, found = compile(torch.optim.SGD([p], lr=1.0).step), []
    for i in range(6):
        p.grad = torch.ones(1) * i
        step()
        found.append(p.item())
    assert found == [1.0, 0.0, -2.0, -5.0, -9.0, -14.0]


def test_gradients_that_change_in_place_are_read(compile):
    w = nn.Parameter(torch.ones(1))
    w.grad = torch.zeros(1)

    @torch.no_grad()
    def step():
        w.sub_(w.grad * 0.5)

    step, found = compile(step), []
    for _ in range(4):
        w.grad += 1
        step()
        found.append(w.item())
    assert found == [0.5, -0.5, -2.0, -4.0]


def test_norms_of_gradients_are_clipped(compile):
    w = nn.Parameter(torch.ones(1))
    clip = compile(lambda: nn.utils.clip_grad_norm_([w], 1.0))
    for size in (2.0, 4.0, 8.0):
        w.grad = torch.full((1,), size)
        assert clip().item() == size and w.grad.item() == pytest.approx(1, abs=1e-5)


def test_gradients_of_arguments_are_theirs(compile):
    f = compile(lambda x: x * 10 if x.grad is None else x.grad + 1)
    x = torch.ones(1, requires_grad=True)
    assert f(x).item() == 10
    for i in range(3):
        x.grad = torch.full((1,), float(i))
        assert f(x).item() == i + 1
    x.grad = None
    assert f(x).item() == 10


def test_gradients_are_left_with_leaves_again_and_again(compile):
    w = torch.ones(1, requires_grad=True)

    def f(x):
        (w * x).sum().backward()
        return x + 1

    f = compile(f)
    for i in range(5):
        w.grad = None
        assert f(torch.full((1,), float(i))).item() == i + 1
        assert w.grad.item() == i
    for i in range(3):
        f(torch.ones(1))
        assert w.grad.item() == 5 + i

    p = torch.ones(1, requires_grad=True)
    g = compile(lambda p, x: (p * x).sum().backward())
    for i in range(3):
        g(p, torch.ones(1))
        assert p.grad.item() == i + 1


def test_what_is_read_of_captured_tensors_is_what_it_is(compile):
    n = torch.zeros(())
    f = compile(lambda x: (n.add_(1), x * n.item())[1])
    assert [f(torch.ones(1)).item() for _ in range(3)] == [1.0, 2.0, 3.0]
    m = torch.ones(())
    g = compile(lambda x: x * float(m))
    found = []
    for i in range(8):
        m.fill_(i // 2)
        found.append(g(torch.ones(1)).item())
    assert found == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    sizes = torch.tensor([1, 3])
    h = compile(lambda x: x.split(sizes.tolist())[0])
    assert h(torch.ones(4)).tolist() == [1.0]
    sizes.copy_(torch.tensor([2, 2]))
    assert h(torch.ones(4)).tolist() == [1.0, 1.0]
    array = np.zeros(1)
    k = compile(lambda x: x * torch.from_numpy(array).item())
    for i in range(3):
        array[0] = i
        assert k(torch.ones(1)).item() == i


def test_constants_that_are_read_stay_part_of_a_graph():
    sizes = torch.tensor([1, 3])
    f = torch.compile(lambda x: x.split(sizes.tolist())[1] * torch.tensor([2.0]).item(), fullgraph=True)
    assert [f(torch.ones(4)).tolist() for _ in range(3)] == [[2.0] * 3] * 3


def test_exported_programs_do_not_keep_what_was_read():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.ones(()))

        def forward(self, x):
            return x * self.n.item()

    with pytest.raises(ValueError, match="elements are read"):
        torch.export.export(Model(), (torch.ones(1),))


def test_averages_over_all_batches(compile):
    norm = nn.BatchNorm1d(1, momentum=None)
    f = compile(norm)
    for i in range(4):
        f(torch.full((2, 1), float(i)))
    assert norm.running_mean.item() == 1.5


def test_hooks_of_parameters_run_once(compile):
    w = torch.ones(1, requires_grad=True)
    w.register_hook(lambda grad: grad * 2)
    f = compile(lambda x: (x * w).sum())
    f(torch.ones(1)).backward()
    f(torch.ones(1)).backward()
    assert w.grad.item() == 4


def test_generators_are_asked_at_each_call(compile):
    generator = torch.Generator().manual_seed(3)
    f = compile(lambda: torch.rand(2, generator=generator))
    found = [f().tolist() for _ in range(3)]
    generator.manual_seed(3)
    assert [f().tolist() for _ in range(3)] == found
    other = torch.Generator().manual_seed(3)
    assert [torch.rand(2, generator=other).tolist() for _ in range(3)] == found
    state = torch.get_rng_state()
    f()
    assert torch.equal(torch.get_rng_state(), state)


def test_containers_among_arguments_are_changed(compile):
    f = compile(lambda x, l: l.append(x * 2))
    values = []
    for _ in range(3):
        f(torch.ones(1), values)
    assert [v.item() for v in values] == [2.0, 2.0, 2.0]
    g = compile(lambda x, d: d.update(k=torch.cat([d["k"], x])) or d["k"].sum())
    cache = {"k": torch.zeros(0)}
    assert [g(torch.ones(1), cache).item() for _ in range(3)] == [1.0, 2.0, 3.0]
    h = compile(lambda l: l.pop() * 2)
    rest = [torch.tensor(float(i)) for i in range(4)]
    assert [h(rest).item() for _ in range(3)] == [6.0, 4.0, 2.0]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.act, self.pair, self.table, self.numbers = torch.relu, (1.0, 2.0), {"k": 2.0}, [3.0]
        self.config = types.SimpleNamespace(lr=1.0)
        self.settings = Settings(5.0)
        self.tensors, self.constant = [torch.ones(1)], torch.ones(1)

    def forward(self, x):
        x = self.act(x) * self.pair[1] * self.table["k"] * self.numbers[0] * self.config.lr * self.settings.factor
        return x * self.tensors[0] * self.constant


@dataclasses.dataclass
class Settings:
    factor: float


def test_attributes_of_modules_of_any_kind(compile):
    model, x = Model(), torch.tensor([-1.0, 1.0])
    f = compile(model)

    def check():
        for _ in range(2):
            assert torch.equal(f(x), model.forward(x))

    def change(container, key, value):
        container[key] = value
        check()

    check()
    change(vars(model), "act", torch.tanh)
    change(vars(model), "act", lambda x: x + 1)
    change(vars(model), "pair", (1.0, 7.0))
    change(model.table, "k", 5.0)
    change(model.numbers, 0, 4.0)
    change(vars(model), "numbers", [9.0])
    change(vars(model.settings), "factor", 11.0)
    change(model.tensors, 0, torch.full((1,), 13.0))
    change(vars(model), "constant", torch.full((1,), 17.0))
    model.constant.fill_(19.0)
    check()


class Constants:
    k = 2.0


namespace = types.ModuleType("namespace_of_tests")
namespace.K, namespace.T = 3.0, torch.ones(1)


def test_constants_of_modules_and_classes_and_in_lists(compile):
    numbers = [5.0]
    f = compile(lambda x: x * Constants.k * namespace.K * namespace.T * numbers[0])
    try:
        for k, other, t, n in [(2, 3, 1, 5), (7, 3, 1, 5), (7, 11, 1, 5), (7, 11, 13, 5), (7, 11, 13, 17)]:
            Constants.k, namespace.K, namespace.T, numbers[0] = float(k), float(other), torch.full((1,), float(t)), float(n)
            assert f(torch.ones(1)).item() == f(torch.ones(1)).item() == k * other * t * n
    finally:
        Constants.k, namespace.K, namespace.T = 2.0, 3.0, torch.ones(1)


def test_functions_do_once_in_each_call_what_they_do(compile):
    count, log = 0, []

    def f(x):
        nonlocal count
        count += 1
        log.append(count)
        return x * count if x.sum() > 0 else x

    f = compile(f)
    assert [f(torch.ones(1)).item() for _ in range(4)] == [1.0, 2.0, 3.0, 4.0] and log == [1, 2, 3, 4]

    def g(x):
        log.append(len(log))
        return x * len(log)

    g = compile(g)
    assert [g(torch.ones(1)).item() for _ in range(4)] == [5.0, 6.0, 7.0, 8.0] and log[4:] == [4, 5, 6, 7]


def test_random_numbers_of_python_are_drawn_in_each_call(compile):
    f, g = compile(lambda x: x * random.random()), compile(lambda x: x * float(np.random.rand()))
    random.seed(1)
    np.random.seed(1)
    found = [f(torch.ones(1, dtype=torch.float64)).item() for _ in range(3)], [g(torch.ones(1, dtype=torch.float64)).item() for _ in range(3)]
    random.seed(1)
    np.random.seed(1)
    assert found == ([random.random() for _ in range(3)], [np.random.rand() for _ in range(3)])


def test_what_was_changed_before_an_exception_is(compile):
    def f(x):
        x.add_(1)
        if x.shape[0] == 1:
            raise KeyError("told")
        return x

    f, x = compile(f), torch.zeros(1)
    for i in range(3):
        with pytest.raises(KeyError, match="told"):
            f(x)
        assert x.item() == i + 1
    assert f(torch.zeros(2)).tolist() == [1.0, 1.0]


def test_arguments_get_histories(compile):
    w = torch.full((1,), 3.0, requires_grad=True)
    f = compile(lambda x, y: (y.add_(x * x), None)[1])
    for _ in range(2):
        y = torch.zeros(1)
        f(w, y)
        assert torch.autograd.grad(y.sum(), w)[0].item() == 6
    a = torch.ones(2, requires_grad=True)
    x = a * 3
    compile(lambda x: (x.mul_(2), x.sum())[1])(x).backward()
    assert a.grad.tolist() == [6.0, 6.0]


def test_steps_that_read_their_loss(compile):
    model = nn.Linear(2, 1, bias=False)
    nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.5)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    step = compile(step)
    assert [step(torch.ones(1, 2)) for _ in range(4)] == [2.0, 1.0, -0.5, -2.25]


def test_losses_that_were_differentiated_are_given(compile):
    model = nn.Linear(2, 1, bias=False)
    nn.init.ones_(model.weight)

    def f(x):
        loss = model(x).sum()
        loss.backward()
        return loss

    f = compile(f)
    for i in range(4):
        model.zero_grad()
        assert f(torch.ones(1, 2)).item() == 2 and model.weight.grad.tolist() == [[1.0, 1.0]]


def test_histories_of_others_and_second_derivatives(compile):
    w = torch.full((1,), 2.0, requires_grad=True)
    h = w * 3
    assert torch.autograd.grad(compile(lambda x: (x * h).sum())(torch.ones(1)), w)[0].item() == 3
    assert torch.func.hessian(compile(lambda x: (x**3).sum()))(torch.ones(1)).item() == 6


def test_a_step_graph_sees_what_it_reads():
    class Step(nn.Graph):
        def __init__(self):
            super().__init__()
            self.factor = torch.ones(())

        def build(self, x):
            return x * self.factor.item()

    step = Step()
    for i in range(4):
        step.factor.fill_(i)
        assert step(torch.ones(1)).item() == i


def test_calls_of_many_kinds_are_given_up():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    model, x = Counting(), torch.ones(1)
    f = torch.compile(model)
    with pytest.warns(UserWarning, match="runs as it is") as told:
        assert [f(x).item() for _ in range(100)] == [float(i + 1) for i in range(100)]
    assert len(told) == 1


def test_states_of_compiled_modules_of_others():
    model = torch.compile(nn.Linear(2, 1))
    model.load_state_dict({"_orig_mod.weight": torch.ones(1, 2), "_orig_mod.bias": torch.zeros(1)})
    assert model(torch.ones(1, 2)).item() == 2


SCALE = 1.0


class Named(nn.Module):
    factor = 1.0

    def forward(self, x):
        return self.scaled(x) * SCALE

    def scaled(self, x):
        return x * self.factor


def test_what_methods_of_modules_name(compile):
    global SCALE
    f, x = compile(Named()), torch.ones(1)
    assert f(x).item() == f(x).item() == 1
    try:
        SCALE = 2.0
        assert f(x).item() == f(x).item() == 2
        Named.factor = 5.0
        assert f(x).item() == f(x).item() == 10
        scaled, Named.scaled = Named.scaled, lambda self, x: x + 1
        assert f(x).item() == f(x).item() == 4
        Named.scaled = scaled
    finally:
        SCALE = Named.factor = 1.0


ACTIVATION = torch.relu


def test_functions_in_the_place_of_others(compile):
    global ACTIVATION
    table, x = {"a": torch.relu}, torch.tensor([-1.0])
    f, g = compile(lambda x: ACTIVATION(x)), compile(lambda x: table["a"](x))
    assert f(x).item() == g(x).item() == 0
    ACTIVATION = table["a"] = torch.abs
    assert f(x).item() == g(x).item() == 1
    ACTIVATION = torch.relu
    factor = [2.0]
    model = nn.Identity()
    model.act = lambda x: x * factor[0]
    h = compile(lambda x: model.act(x))
    assert h(x).item() == -2
    factor[0] = 3.0
    assert h(x).item() == -3


def test_other_values_that_are_rebound(compile):
    dtype, part, size = torch.float32, slice(0, 1), np.int64(1)
    f = compile(lambda x: x.to(dtype)[part].repeat(int(size)))
    assert (f(torch.ones(2)).dtype, f(torch.ones(2)).shape) == (torch.float32, (1,))
    dtype, part, size = torch.float64, slice(0, 2), np.int64(3)
    assert (f(torch.ones(2)).dtype, f(torch.ones(2)).shape) == (torch.float64, (6,))
    array = np.ones(2, np.float32)
    g = compile(lambda x: x * float(array[0]))
    assert g(torch.ones(1)).item() == 1
    array[0] = 7
    assert g(torch.ones(1)).item() == 7


class Slotted:
    __slots__ = ("k",)


def test_settings_of_any_kind(compile):
    slotted, space = Slotted(), types.SimpleNamespace(k=1.0)
    slotted.k = 1.0
    f = compile(lambda x: x * slotted.k * space.k)
    assert f(torch.ones(1)).item() == 1
    slotted.k = 3.0
    assert f(torch.ones(1)).item() == 3
    space.k = 5.0
    assert f(torch.ones(1)).item() == 15


def test_the_structure_of_containers(compile):
    values, table, deep = [], {1: 0}, [[1.0], []]
    f = compile(lambda x: x * len(values) + sum(table) + 10 * len(deep[0]))
    assert f(torch.ones(1)).item() == 11
    values.append([])
    assert f(torch.ones(1)).item() == 12
    table[5] = table.pop(1)
    assert f(torch.ones(1)).item() == 16
    deep[1].append(deep[0].pop())
    assert f(torch.ones(1)).item() == 6
    parameters = [nn.Parameter(torch.full((1,), float(i))) for i in range(300)]
    g = compile(lambda x: sum(p * x for p in parameters))
    assert g(torch.ones(1)).item() == 44850
    parameters[7] = nn.Parameter(torch.full((1,), 1007.0))
    assert g(torch.ones(1)).item() == 45850


def test_iterators_and_generators_go_on(compile):
    numbers, generator = iter(range(10)), np.random.default_rng(3)
    f, g = compile(lambda x: x * next(numbers)), compile(lambda x: x * generator.random())
    assert [f(torch.ones(1)).item() for _ in range(4)] == [0.0, 1.0, 2.0, 3.0]
    other = np.random.default_rng(3)
    assert [g(torch.ones(1, dtype=torch.float64)).item() for _ in range(3)] == [other.random() for _ in range(3)]


def test_hooks_that_are_registered_later(compile):
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    f = compile(lambda x: model(x))
    assert f(torch.ones(1)).item() == 1
    handle = model.register_forward_hook(lambda module, x, y: y * 2)
    assert f(torch.ones(1)).item() == 2
    handle.remove()
    assert f(torch.ones(1)).item() == 1


def test_generators_that_are_seeded_inside(compile):
    generator = torch.Generator()
    f = compile(lambda x: (generator.manual_seed(7), torch.rand(2, generator=generator))[1])
    assert f(torch.ones(1)).tolist() == f(torch.ones(1)).tolist() == f(torch.ones(1)).tolist()


def test_new_leaves_and_shapes_of_arguments(compile):
    p = compile(lambda x: nn.Parameter(x * 2))(torch.ones(1))
    (p * 2).sum().backward()
    assert p.grad.item() == 2
    x = torch.ones(2)
    compile(lambda x: x.unsqueeze_(0) * 2)(x)
    assert x.shape == (1, 2)


def test_many_shapes_are_one_graph():
    f = torch.compile(lambda x: x * 2 + 1, fullgraph=True)
    for n in range(1, 100):
        assert f(torch.ones(n)).sum().item() == 3 * n


def test_one_tensor_as_several_arguments(compile):
    f, x = compile(lambda x, y: x * 10 if x is y else x + y), torch.full((1,), 2.0, requires_grad=True)
    assert f(x, x).item() == 20 and f(x, x.detach()).item() == 4
    f(x, x).backward()
    assert x.grad.item() == 10


def test_hooks_that_keep_gradients(compile):
    model, kept = nn.Linear(1, 1), []
    model.register_full_backward_hook(lambda module, into, out: kept.append(out[0].item()))
    x = torch.ones(1, 1, requires_grad=True)
    f = compile(model)
    for _ in range(2):
        f(x).sum().backward()
    assert kept == [1.0, 1.0]
    w, seen = torch.ones(1, requires_grad=True), []
    compile(lambda x: (h := x * w, h.register_hook(seen.append), h)[2])(torch.ones(1)).sum().backward()
    assert [grad.item() for grad in seen] == [1.0]


def test_views_of_intermediates_that_are_changed_in_place(compile):
    a, w = torch.arange(16.0).reshape(4, 4), torch.eye(4)
    f = compile(lambda a: (v := a @ w, v[:, :2].mul_(2), v[:, :2] + 1)[2])
    assert torch.equal(f(a), a[:, :2] * 2 + 1)
    g = compile(lambda a: (v := a @ w, v.t().add_(1), v + 1)[2])
    assert torch.equal(g(a), a + 2)
    h = compile(lambda b: (v := b @ w, v[1:].mul_(2), v + 1)[2])
    assert h(torch.ones(1, 4)).tolist() == [[2.0] * 4] and h(torch.ones(2, 4)).tolist() == [[2.0] * 4, [3.0] * 4]


def test_results_that_are_arguments_are_the_arguments(compile):
    def function(x, pair):
        x.add_(1)
        return x, x * 2, pair[1]

    call = compile(function)
    for _ in range(2):
        x, y = torch.zeros(3), torch.zeros(2, requires_grad=True)
        first, second, third = call(x, [y, y])
        assert first is x and third is y and second.tolist() == [2.0] * 3
    assert compile(lambda x: x)(x) is x


def test_a_step_of_training_under_no_grad_is_as_one_that_is_no_graph():
    class Step(nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = nn.Linear(2, 1)
            self.add_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

        def build(self, x):
            loss = self.model(x).sum()
            loss.backward()
            return loss

    step, x = Step(), torch.ones(1, 2)
    step(x)
    with torch.no_grad(), pytest.raises(RuntimeError, match="grad"):
        step(x)
    before = step.model.weight.tolist()
    step(x)
    assert step.model.weight.tolist() != before


def test_a_step_that_changes_a_container_among_its_arguments_is_an_error():
    class Step(nn.Graph):
        def build(self, found, x):
            found.append(x * 2)
            return x

    with pytest.raises(RuntimeError, match="Step.build changes a container"):
        Step()([], torch.ones(1))
