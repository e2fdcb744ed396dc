"""Checkpoints: parts that are computed again instead of being kept."""

import weakref

import pytest

import opforge as torch
from opforge.utils.checkpoint import checkpoint, checkpoint_sequential
from leaves import leaf


class Counted(torch.nn.Module):
    """A layer with dropout that counts its runs."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.runs = 0

    def forward(self, x, scale=1.0):
        self.runs += 1
        return torch.nn.functional.dropout(self.layer(x).tanh(), 0.5) * scale


def trained(module, run):
    """The output, and the gradients of the input and the parameters."""
    torch.manual_seed(3)
    x = torch.arange(8.0).reshape(2, 4).requires_grad_()
    module.zero_grad()
    y = run(x * 0.1)
    y.pow(2).sum().backward()
    return [y.detach(), x.grad, *(p.grad.clone() for p in module.parameters()), torch.rand(3)]


def test_all_leaves_get_their_gradients():
    """Each leaf that the function takes from its surroundings is one of its own, however many there are."""
    leaves = [leaf(float(i)) for i in range(200)]
    checkpoint(lambda x: sum(x * other for other in leaves), leaf(2.0), use_reentrant=False).backward()
    assert [other.grad.item() for other in leaves] == [2.0] * 200


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_changes_nothing_but_runs_twice(reentrant):
    module = Counted()
    expected = trained(module, lambda x: module(x, 2.0))
    found = trained(module, lambda x: checkpoint(module, x, 2.0, use_reentrant=reentrant))
    assert module.runs == 3
    assert all(torch.equal(a, b) for a, b in zip(expected, found))


def test_checkpoint_without_the_random_state():
    module = Counted()
    expected = trained(module, module)
    found = trained(module, lambda x: checkpoint(module, x, use_reentrant=False, preserve_rng_state=False))
    assert torch.equal(expected[0], found[0]) and not torch.equal(expected[1], found[1])


def test_checkpoint_of_parameters_alone_and_of_keywords():
    module = Counted().eval()
    y = checkpoint(module, torch.ones(1, 4), scale=3.0, use_reentrant=False)
    assert torch.autograd.grad(y.sum(), module.layer.bias)[0].shape == (4,)
    assert module.layer.bias.grad is None
    with torch.no_grad():
        assert not checkpoint(module, torch.ones(1, 4), use_reentrant=False).requires_grad


def test_checkpoint_of_several_outputs_and_surroundings():
    x = leaf(1.0, 2.0)
    around = x * 3

    def function(pair, n):
        a, b = pair
        return {"product": a * b * around, "sum": a + b, "n": n, "plain": a.detach()}

    result = checkpoint(function, (x, x * 2), 5, use_reentrant=False)
    assert result["n"] == 5 and not result["plain"].requires_grad
    (result["product"].sum() + around.sum()).backward()
    assert x.grad.tolist() == [18.0 + 3, 72.0 + 3]


def test_checkpoint_frees_what_is_computed_again():
    kept = []

    def function(x):
        y = x.exp()
        kept.append(weakref.ref(y))
        return y.sin()

    y = checkpoint(function, leaf(1.0, 2.0), use_reentrant=False)
    assert kept[0]() is None
    y.sum().backward()
    assert len(kept) == 2 and kept[1]() is None


def test_checkpoint_errors():
    count = iter(range(1, 10))
    y = checkpoint(lambda x: x.repeat(next(count)) * 2, leaf(1.0), use_reentrant=False)
    with pytest.raises(RuntimeError):
        y.sum().backward()
    with pytest.raises(TypeError):
        checkpoint(lambda x: x, leaf(1.0), use_reentrant=False, other=1)
    with pytest.raises(ValueError):
        checkpoint(lambda x: x, leaf(1.0), use_reentrant=False, determinism_check="other")


def two(x, w):
    return (x * x * w).sin() * w, (x * w).cos()


def test_checkpoints_have_derivatives_of_all_orders():
    """They refused `create_graph=True`. The input is computed from the parameter: what flows through it is counted once."""
    w, x = leaf(0.5, 1.5), leaf(1.0, 2.0)

    def derivatives(call):
        first, second = call(lambda x: two(x, w), x * w * 3)
        value, found = (first * second + second).sum(), []
        for _ in range(3):
            found += (grads := torch.autograd.grad(value, (x, w), create_graph=True))
            value = sum((grad**2).sum() for grad in grads)
        return found

    found = derivatives(lambda function, x: checkpoint(function, x, use_reentrant=False))
    expected = derivatives(lambda function, x: function(x))
    assert all(torch.allclose(a, b, rtol=1e-12) for a, b in zip(found, expected))


def test_second_derivatives_have_the_same_random_numbers():
    def derivatives(call):
        torch.manual_seed(5)
        x = torch.linspace(0, 1, 50, dtype=torch.float64, requires_grad=True)
        (grad,) = torch.autograd.grad(call(lambda x: torch.nn.functional.dropout(x.exp(), 0.5), x).sum(), x, create_graph=True)
        return [grad, *torch.autograd.grad(grad.sum(), x)]

    expected = derivatives(lambda function, x: function(x))
    assert all(map(torch.equal, derivatives(lambda function, x: checkpoint(function, x, use_reentrant=False)), expected))


def test_transformations_of_checkpoints():
    x = leaf(1.0, 2.0).detach()

    def cubes(x):
        return checkpoint(lambda x: x**3, x, use_reentrant=False)

    assert torch.func.hessian(lambda x: cubes(x).sum())(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert torch.func.jvp(cubes, (x,), (x,))[1].tolist() == [3.0, 24.0]


def test_outputs_are_differentiated_one_after_the_other():
    """The first backward freed the node of all outputs, so the second one raised."""
    runs = []

    def gradients(backward):
        w, x = leaf(0.5, 1.5), leaf(1.0, 2.0)
        backward(*checkpoint(lambda x: runs.append(1) or two(x, w), x, use_reentrant=False))
        return x.grad.tolist(), w.grad.tolist()

    def one_by_one(first, second):
        first.sum().backward()
        second.sum().backward()
        with pytest.raises(RuntimeError, match="second time"):
            second.sum().backward()

    together = gradients(lambda first, second: (first.sum() + second.sum()).backward())
    assert len(runs) == 2
    assert gradients(one_by_one) == together
    assert len(runs) == 5


def test_checkpoint_sequential():
    module = torch.nn.Sequential(*(Counted() for _ in range(5)))
    expected = trained(module, module)
    found = trained(module, lambda x: checkpoint_sequential(module, 2, x, use_reentrant=False))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(expected, found))
    assert [part.runs for part in module] == [3, 3, 2, 2, 2]
    with pytest.raises(ValueError):
        checkpoint_sequential(module, 0, torch.ones(1, 4), use_reentrant=False)


def test_compiled_checkpoints_have_the_same_random_numbers_in_backward():
    """A graph that ran the function again would draw others."""
    dropped = torch.compile(lambda x: checkpoint(lambda x: torch.nn.functional.dropout(x * 1.0, 0.5), x, use_reentrant=False))
    x = torch.ones(1000, requires_grad=True)
    y = dropped(x)
    y.sum().backward()
    assert torch.equal(y.detach(), x.grad)


def test_other_names():
    from opforge.utils import checkpoint as names

    x = leaf(1.0, 2.0)
    doubled = names.checkpoint(use_reentrant=False)(lambda x, by=2: x * by)
    (doubled(x) + names.CheckpointFunction.apply(lambda x: x * 3, True, x)).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    detached = names.detach_variable((x, 3))
    assert detached[0].is_leaf and detached[0].requires_grad and detached[1] == 3
    assert names.get_device_states(x) == ([], [])
    with names.set_checkpoint_early_stop(False), names.set_checkpoint_debug_enabled(True):
        checkpoint(lambda x: x, x, use_reentrant=False, context_fn=names.noop_context_fn)
    with pytest.warns(UserWarning, match="None of the inputs"):
        names.check_backward_validity([torch.ones(1)])
    with pytest.raises(NotImplementedError, match="create_selective_checkpoint_contexts"):
        names.create_selective_checkpoint_contexts([])
    names.set_device_states([], [])


def test_another_second_run_is_an_error_of_its_own():
    from opforge.utils.checkpoint import CheckpointError

    lengths = iter([2, 1])
    with pytest.raises(CheckpointError, match="the same each time"):
        checkpoint(lambda x: x[: next(lengths)], leaf(1.0, 2.0), use_reentrant=False).sum().backward()
