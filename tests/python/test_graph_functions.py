"""Custom operators in Python as parts of graphs: called each time that the graph runs, between kernels."""

import numpy as np
import pytest

import opforge as torch
from opforge import Tensor


@pytest.fixture
def library():
    with torch.library._scoped_library("graphs", "FRAGMENT") as library:
        yield library


@pytest.fixture
def doubled(library):
    """An operator that NumPy computes, with the number of its calls."""
    calls = []

    def kernel(x):
        calls.append(x.shape)
        return torch.from_numpy(2 * x.numpy())

    library.define("doubled(Tensor x) -> Tensor")
    library.impl("doubled", kernel, "CPU")
    torch.library.register_fake("graphs::doubled", torch.empty_like)
    torch.library.register_autograd("graphs::doubled", lambda ctx, grad: 2 * grad)
    torch.ops.graphs.doubled.calls = calls
    return torch.ops.graphs.doubled


def same(function, *arguments, calls=3):
    """Calls a function as it is and compiled, with the same random numbers, and compares results and gradients; gives what the compiled one tells of itself."""
    compiled = torch.compile(function, fullgraph=True)
    for _ in range(calls):
        found = []
        for f in (function, compiled):
            torch.manual_seed(7)
            given = [x.clone().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in arguments]
            results = f(*given)
            results = results if isinstance(results, (tuple, list)) else [results]
            leaves = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
            if leaves:
                sum(y.square().sum() for y in results if y.requires_grad).backward()
            found.append([*results, *given, *(leaf.grad for leaf in leaves)])
        for own, other in zip(*found):
            torch.testing.assert_close(other, own)
    return compiled.explain()


def test_a_function_is_called_at_each_run_between_kernels(doubled):
    text = same(lambda x: doubled(x * 3 + 1).relu().sum(0), torch.randn(4, 3))
    assert "doubled f32[4, 3]" in text and "doubled is a function, which the calling thread runs" in text
    assert doubled.calls == [(4, 3)] * 6
    assert "mul" in text.split("doubled")[0] and "relu" in text.split("doubled")[-1]


def test_gradients_flow_through_it(doubled):
    same(lambda x, w: (doubled(x @ w).tanh(), doubled(w)), torch.randn(5, 4), torch.randn(4, 3, requires_grad=True))


def test_gradients_may_call_functions(library, doubled):
    torch.library.register_autograd("graphs::doubled", lambda ctx, grad: doubled(grad))
    same(lambda x: doubled(doubled(x) * x), torch.randn(6, requires_grad=True))


def test_functions_at_both_ends_and_one_after_the_other(doubled):
    same(lambda x: doubled(doubled(x)), torch.randn(3))
    same(lambda x: (doubled(x), x + 1, doubled(x.T[1:])), torch.randn(3, 2))


def test_what_a_function_changes_is_changed_by_each_run(library):
    library.define("scale(Tensor(a!) x, float by, Tensor(b!)[] others) -> Tensor(a!)")

    @torch.library.impl(library, "scale", "CPU")
    def _(x, by, others):
        x.copy_(torch.from_numpy(by * x.numpy()))
        for other in others:
            other += 1
        return x

    torch.library.register_fake("graphs::scale", lambda x, by, others: x)

    def function(x, y):
        part = x * 2
        found = torch.ops.graphs.scale(part[1:], 3.0, [y, x])
        return found + 1, part.exp(), y * x

    same(function, torch.randn(4), torch.zeros(4))


def test_lists_of_tensors_names_and_several_results(library):
    library.define("parts(Tensor[] xs, int count, *, Tensor? by=None) -> (Tensor[], Tensor)")

    @torch.library.impl(library, "parts", "CPU")
    def _(xs, count, *, by=None):
        whole = np.concatenate([x.numpy() for x in xs]) * (1 if by is None else by.numpy())
        return [torch.from_numpy(part.copy()) for part in np.split(whole, count)], torch.tensor(whole.sum(keepdims=True))

    @torch.library.register_fake("graphs::parts")
    def _(xs, count, *, by=None):
        size = sum(x.shape[0] for x in xs)
        return [xs[0].new_empty(size // count) for _ in range(count)], xs[0].new_empty(1)

    def function(x, y, by):
        (a, b, c), total = torch.ops.graphs.parts([x + 1, y], 3, by=by)
        (d, _), _ = torch.ops.graphs.parts([x, y, y], 2)
        return a * b, c - total, d

    same(function, torch.randn(2), torch.randn(4), torch.tensor(2.0))


def test_random_numbers_come_in_the_order_of_calls(library):
    library.define("noisy(Tensor x) -> Tensor")
    library.impl("noisy", lambda x: x + torch.rand(x.shape), "CPU")
    torch.library.register_fake("graphs::noisy", torch.empty_like)
    same(lambda x: (torch.rand(3) * torch.ops.graphs.noisy(x), torch.nn.functional.dropout(torch.ops.graphs.noisy(x))), torch.zeros(3))


def test_what_is_given_otherwise_than_told_is_an_error(library):
    library.define("wrong(Tensor x) -> Tensor")
    library.impl("wrong", lambda x: x[:2].clone(), "CPU")
    torch.library.register_fake("graphs::wrong", torch.empty_like)
    compiled = torch.compile(lambda x: torch.ops.graphs.wrong(x) + 1, fullgraph=True)
    with pytest.raises(ValueError, match=r"wrong.*f32\[2\].*f32\[3\]"):
        compiled(torch.ones(3))


def test_errors_of_functions_are_theirs(library):
    class Told(Exception):
        pass

    def kernel(x):
        raise Told(f"of {x.sum().item()}")

    library.define("fails(Tensor x) -> Tensor")
    library.impl("fails", kernel, "CPU")
    torch.library.register_fake("graphs::fails", torch.empty_like)
    with pytest.raises(Told, match="of 3.0"):
        torch.compile(lambda x: torch.ops.graphs.fails(x) + 1, fullgraph=True)(torch.ones(3))


def test_sizes_that_depend_on_elements_run_as_they_are(library):
    library.define("where(Tensor x) -> Tensor")
    library.impl("where", lambda x: x[x > 0], "CPU")
    with pytest.warns(UserWarning, match="graphs::where.*register_fake"):
        assert torch.compile(torch.ops.graphs.where)(torch.tensor([1.0, -1.0])).tolist() == [1.0]
    torch.library.register_fake("graphs::where", lambda x: x.new_empty(int(x.sum())))
    with pytest.warns(UserWarning, match="not known without elements"):
        assert torch.compile(lambda x: torch.ops.graphs.where(x))(torch.tensor([1.0, -1.0])).tolist() == [1.0]


def test_results_of_functions_have_memory_of_their_own(library):
    held = torch.zeros(3)
    library.define("same(Tensor x) -> Tensor")
    library.impl("same", lambda x: x, "CPU")
    torch.library.register_fake("graphs::same", torch.empty_like)
    library.define("held(Tensor x) -> Tensor")
    library.impl("held", lambda x: held, "CPU")
    torch.library.register_fake("graphs::held", torch.empty_like)

    @torch.compile(fullgraph=True)
    def function(x):
        y = x + 1
        z = torch.ops.graphs.same(y)
        z += 5
        return y, z, torch.ops.graphs.held(x)

    y, z, h = function(torch.zeros(3))
    assert y.tolist() == [1.0] * 3 and z.tolist() == [6.0] * 3 and h.tolist() == [0.0] * 3


@pytest.mark.parametrize("told", [{"shapes": 0}, {"fake": lambda tensors, attributes: (torch.empty_like(tensors[0]),)}])
def test_custom_op_with_a_rule_or_a_fake(told):
    def scaled(tensors, attributes):
        return (torch.from_numpy(tensors[0].numpy() * attributes["by"]),)

    by = torch.custom_op(lambda x, by: torch.from_numpy(x.numpy() * by), schema="(Tensor x, float by) -> Tensor", name="by", **told)
    by._declare(gradient=lambda inputs, outputs, grads, attributes, needs: (grads[0] * attributes["by"],))
    same(lambda x: by(x + 1, 3.0) * by(x, 2.0), torch.randn(4, requires_grad=True))


def test_a_step_of_training_calls_them(doubled):
    class Step(torch.nn.Graph):
        def __init__(self, model):
            super().__init__()
            self.model = model
            self.add_optimizer(torch.optim.SGD(model.parameters(), lr=0.1))

        def build(self, x):
            loss = doubled(self.model(x)).square().mean()
            loss.backward()
            return loss

    torch.manual_seed(0)
    model, x = torch.nn.Linear(3, 2), torch.randn(5, 3)
    twin = torch.nn.Linear(3, 2)
    twin.load_state_dict(model.state_dict())
    step, optimizer = Step(model), torch.optim.SGD(twin.parameters(), lr=0.1)
    for _ in range(3):
        loss = doubled(twin(x)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.testing.assert_close(step(x), loss)
    torch.testing.assert_close(model.weight, twin.weight)


def test_programs_with_functions_are_measured_and_drawn(doubled):
    compiled = torch.compile(lambda x: doubled(x.exp() + 1).sum(), fullgraph=True)
    x = torch.randn(8)
    assert "doubled f32[8]" in compiled.profile(x)
    assert "doubled f32[8]" in compiled.draw(x)


def test_graphs_with_functions_are_not_saved(doubled):
    class Model(torch.nn.Module):
        def forward(self, x):
            return doubled(x)

    with pytest.raises(Exception, match="doubled"):
        torch.export.export(Model(), (torch.ones(2),))
