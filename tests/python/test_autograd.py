"""Gradients: modes, accumulation, hooks."""

import pytest

import opforge as torch
from leaves import leaf


# Modes


def test_modes_nest_and_are_restored_after_exceptions():
    x = leaf(1.0)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
        assert not torch.is_grad_enabled()
    with pytest.raises(ZeroDivisionError), torch.no_grad():
        1 / 0
    assert torch.is_grad_enabled()
    with torch.inference_mode():
        assert not (x * 2).requires_grad
    with torch.inference_mode(False):
        assert (x * 2).requires_grad


def test_set_grad_enabled():
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def decorated():
        return torch.is_grad_enabled()

    assert torch.is_grad_enabled() and not decorated() and torch.is_grad_enabled()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.no_grad(), torch.inference_mode, torch.inference_mode()], ids=["no_grad", "no_grad()", "inference_mode", "inference_mode()"])
def test_decorated_functions(mode):
    @mode
    def factorial(n):
        """Of n."""
        assert not torch.is_grad_enabled()
        return 1 if n == 0 else n * factorial(n - 1)

    assert factorial(4) == 24 and torch.is_grad_enabled()
    assert factorial.__name__ == "factorial" and factorial.__doc__ == "Of n."


def test_decorated_generators_switch_only_while_they_run():
    log = []

    @torch.no_grad()
    def generator():
        log.append(torch.is_grad_enabled())
        try:
            sent = yield 1
            log.append((sent, torch.is_grad_enabled()))
            yield 2
        except ValueError:
            log.append(torch.is_grad_enabled())
            yield 3
        finally:
            log.append(torch.is_grad_enabled())
        return 4

    run = generator()
    assert next(run) == 1 and torch.is_grad_enabled()
    assert run.send("sent") == 2 and torch.is_grad_enabled()
    assert run.throw(ValueError()) == 3
    with pytest.raises(StopIteration) as end:
        next(run)
    assert end.value.value == 4
    assert log == [False, ("sent", False), False, False]
    run = generator()
    next(run)
    run.close()
    assert log[-2:] == [False, False] and torch.is_grad_enabled()


# Backward


def test_gradients_accumulate():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    held = x.grad
    (x * x).sum().backward()
    assert x.grad.tolist() == held.tolist() == [4.0, 8.0]
    x.grad = None
    (3 * x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and held.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError):
        x.grad = torch.ones(3, dtype=torch.float64)


def test_backward_with_gradients_and_inputs():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    z = x * y
    z.backward(torch.tensor([1.0, 10.0], dtype=torch.float64), inputs=[x])
    assert x.grad.tolist() == [3.0, 40.0] and y.grad is None
    with pytest.raises(RuntimeError):
        (x * y).backward()
    torch.autograd.backward([(x * 1).sum(), (y * 2).sum()])
    assert x.grad.tolist() == [4.0, 41.0] and y.grad.tolist() == [2.0, 2.0]


def test_a_graph_is_freed_unless_retained():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_grad():
    x, unused = leaf(2.0), leaf(1.0)
    y = x**3
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (first.item(), second.item(), x.grad) == (12.0, 12.0, None)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(x * 2, [x, unused])
    assert torch.autograd.grad(x * 2, [x, unused], allow_unused=True)[1] is None
    assert torch.autograd.grad(x * 2, [x, unused], materialize_grads=True)[1].tolist() == [0.0]


def test_no_gradients_where_none_can_be():
    with pytest.raises(RuntimeError):
        torch.ones(1).backward()
    with pytest.raises(RuntimeError):
        torch.ones(1, dtype=torch.int64).requires_grad_()
    with pytest.raises(RuntimeError):
        leaf(1.0).add_(1)
    x = leaf(1.0) * 2
    with pytest.raises(RuntimeError):
        x.requires_grad_(False)
    assert not x.detach().requires_grad


def test_changes_in_place():
    x = leaf(1.0, 2.0)
    y = x * 3
    before = y._version
    y.mul_(y.detach().clone())
    assert y._version == before + 1
    y[0] = 7.0
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 18.0]
    a = x.exp()
    a.add_(1)
    with pytest.raises(RuntimeError, match="(?i)in.?place|version"):
        a.sum().backward()


# Hooks


def test_hooks_on_tensors():
    x, seen = leaf(1.0, 2.0), []
    y = x * 2
    first = y.register_hook(lambda grad: seen.append(grad.tolist()))
    y.register_hook(lambda grad: grad * 10)
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    y.sum().backward(retain_graph=True)
    assert seen == [[1.0, 1.0], [20.0, 20.0]] and x.grad.tolist() == [20.0, 20.0]
    first.remove()
    y.sum().backward()
    assert seen[2:] == [[20.0, 20.0]]
    with pytest.raises(RuntimeError):
        torch.ones(1).register_hook(print)


def test_hooks_stay_when_the_data_is_another():
    x, seen = torch.ones(2, requires_grad=True), []
    handles = [x.register_hook(lambda grad: seen.append("hook")), x.register_post_accumulate_grad_hook(lambda param: seen.append(param is x))]
    x.data = torch.zeros(3, dtype=torch.float64)
    (x * 2).sum().backward()
    assert seen == ["hook", True] and x.grad.tolist() == [2, 2, 2]
    handles[0].remove()
    x.data = torch.ones(3, dtype=torch.float64)
    (x * 2).sum().backward()
    handles[1].remove()
    (x * 2).sum().backward()
    assert seen == ["hook", True, True]


def test_a_leaf_with_other_data_gets_the_gradient_of_calls_before():
    """The tensor that took its place was another leaf: the gradient was lost, as of a module whose `float()` changed nothing."""
    w = leaf(1.0, 2.0)
    y, node = (w * w).sum(), (w * 1).grad_fn.next_functions[0][0]
    w.data = torch.full((2,), 5.0, dtype=torch.float64)
    assert torch.autograd.grad(y, w, retain_graph=True)[0].tolist() == [2.0, 4.0] and node.variable is w
    y.backward()
    (w * 3).sum().backward()
    assert w.grad.tolist() == [5.0, 7.0] and w.tolist() == [5.0, 5.0]
    for change in (torch.nn.Module.float, torch.nn.Module.double):
        model = torch.nn.Linear(2, 1)
        loss = model(torch.ones(1, 2)).sum()
        change(model)
        loss.backward()
        assert model.weight.grad.tolist() == [[1.0, 1.0]]
        model(torch.ones(1, 2, dtype=model.weight.dtype)).sum().backward()
        assert model.weight.grad.tolist() == [[2.0, 2.0]]


def test_post_accumulate_hooks():
    x, seen = leaf(1.0), []
    x.register_post_accumulate_grad_hook(lambda param: seen.append((param is x, param.grad.tolist())))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert seen == [(True, [2.0]), (True, [4.0])]
    with pytest.raises(RuntimeError):
        (x * 2).register_post_accumulate_grad_hook(print)


def test_retain_grad():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0, 8.0]
    x.retain_grad()
    with pytest.raises(RuntimeError):
        torch.ones(1).retain_grad()


def test_other_elements_in_a_computed_tensor_keep_its_graph():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = y * y
    y.data = torch.zeros(3)
    assert y.tolist() == [0.0] * 3 and y.requires_grad and not y.is_leaf
    (y.sum() + z.sum()).backward()
    # What `z` saved are the elements that it was computed from: dz/dx = 2 y * 2 = 8.
    assert x.grad.tolist() == [10.0] * 3
    with torch.no_grad():
        w = torch.ones(2, requires_grad=True)
    v = w * 3
    with torch.no_grad():
        v.data = torch.tensor([5.0, 6.0])
    v.sum().backward()
    assert w.grad.tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="as it was computed"):
        (w * 2).data = torch.zeros(3)
