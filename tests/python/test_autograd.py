"""Gradients: modes, functions with a backward of their own, checks, derivatives as tensors, hooks, accumulation, checkpoints."""

import gc
import weakref

import pytest

import opforge as torch
from opforge.autograd import Function, functional, gradcheck, gradgradcheck
from opforge.autograd.function import once_differentiable
from opforge.utils.checkpoint import checkpoint, checkpoint_sequential


def leaf(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


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


@pytest.mark.parametrize("mode", [torch.no_grad, torch.no_grad(), torch.inference_mode, torch.inference_mode()], ids=str)
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


# Functions


class Scale(Function):
    """x * factor, with the factor as an attribute."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        assert not torch.is_grad_enabled()
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class Product(Function):
    """x * y and x + y, with saved inputs and output."""

    @staticmethod
    def forward(x, y):
        return x * y, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[0], None)

    @staticmethod
    def backward(ctx, product_grad, sum_grad):
        x, y, product, nothing = ctx.saved_tensors
        assert nothing is None and torch.equal(product, x * y)
        return product_grad * y + sum_grad, product_grad * x + sum_grad


def test_function_with_attributes():
    x = leaf(1.0, 2.0)
    y = Scale.apply(x, 3.0)
    assert y.requires_grad and not y.is_leaf and "Scale" in y.grad_fn.name()
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert not Scale.apply(x.detach(), 3.0).requires_grad
    with torch.no_grad():
        assert not Scale.apply(x, 3.0).requires_grad


def test_function_with_context_and_saved_tensors():
    x, y = leaf(2.0), leaf(5.0)
    product, total = Product.apply(x, y)
    (product * 10 + total).sum().backward()
    assert x.grad.tolist() == [51.0] and y.grad.tolist() == [21.0]
    assert gradcheck(Product.apply, (leaf(1.5, 2.0), leaf(-1.0, 3.0)))
    assert gradgradcheck(Product.apply, (leaf(1.5, 2.0), leaf(-1.0, 3.0)))


def test_missing_gradients_are_zeros_or_none():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, first, second):
            seen.append(None if second is None else second.tolist())
            return first, None

    for materialize in (True, False):
        Two.apply(leaf(1.0, 2.0), materialize)[0].sum().backward()
    assert seen == [[0.0, 0.0], None]


def test_needs_input_grad():
    seen = []

    class Needs(Function):
        @staticmethod
        def forward(ctx, x, n, y):
            seen.append(ctx.needs_input_grad)
            return x * n * y

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx.needs_input_grad)
            return grad, None, None

    Needs.apply(leaf(1.0), 2, torch.ones(1)).sum().backward()
    assert seen == [(True, False, False)] * 2


def test_mark_dirty():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    source = leaf(1.0, 2.0)
    x = source * 1
    y = Double.apply(x)
    assert y is x and x.tolist() == [2.0, 4.0]
    (x * 3).sum().backward()
    assert source.grad.tolist() == [6.0, 6.0]


def test_mark_non_differentiable():
    class SortWithIndex(Function):
        @staticmethod
        def forward(ctx, x):
            values, index = x.sort()
            ctx.mark_non_differentiable(index)
            ctx.save_for_backward(index)
            return values, index

        @staticmethod
        def backward(ctx, grad, nothing):
            (index,) = ctx.saved_tensors
            return torch.zeros_like(grad).scatter(0, index, grad)

    x = leaf(3.0, 1.0, 2.0)
    values, index = SortWithIndex.apply(x)
    assert values.requires_grad and not index.requires_grad
    (values * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [3.0, 1.0, 2.0]


def test_once_differentiable():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            assert not torch.is_grad_enabled()
            return 2 * ctx.saved_tensors[0] * grad

    x, weight = leaf(3.0), leaf(1.0)
    (grad,) = torch.autograd.grad(Square.apply(x) * weight, x, create_graph=True)
    assert grad.tolist() == [6.0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


def test_saved_tensors_that_change_are_found_out():
    x = leaf(2.0)
    y = x * 1
    z = Product.apply(y, leaf(1.0))[0]
    y.add_(1)
    with pytest.raises(RuntimeError, match="(?i)in.?place|version"):
        z.sum().backward()


def test_wrong_numbers_of_gradients():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        Wrong.apply(leaf(1.0), leaf(2.0)).sum().backward()


def test_exceptions_in_a_backward_pass_through():
    class Bad(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise LookupError("in backward")

    with pytest.raises(LookupError, match="in backward"):
        Bad.apply(leaf(1.0)).sum().backward()


# Checks


def test_gradcheck_finds_wrong_gradients():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0].cos() * 1.01

    assert not gradcheck(Wrong.apply, leaf(0.3, 0.4), raise_exception=False)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(Wrong.apply, leaf(0.3, 0.4))
    with pytest.raises(ValueError, match="requires? grad"):
        gradcheck(torch.sin, torch.ones(1))


def test_gradcheck_of_several_inputs_and_outputs():
    def function(x, n, y):
        return x * y**n, (x.sum(), y)[0].exp()

    inputs = leaf(0.5, -1.0), 3, leaf(2.0, 0.3)
    assert gradcheck(function, inputs) and gradgradcheck(function, inputs)


def test_gradgradcheck_finds_wrong_second_derivatives():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * (x * x.detach())

    assert gradcheck(Cube.apply, leaf(0.5, 2.0))
    assert not gradgradcheck(Cube.apply, leaf(0.5, 2.0), raise_exception=False)


# Derivatives as tensors


def close(tensor, expected):
    return torch.allclose(tensor, torch.tensor(expected, dtype=tensor.dtype)) and list(tensor.shape) == list(torch.tensor(expected).shape)


def test_jacobian():
    x, y = leaf(1.0, 2.0), leaf(3.0)
    assert close(functional.jacobian(lambda x: x**2, x), [[2, 0], [0, 4]])
    by_x, by_y = functional.jacobian(lambda x, y: x * y, (x, y))
    assert close(by_x, [[3, 0], [0, 3]]) and close(by_y, [[1], [2]])
    (first,), (second,) = functional.jacobian(lambda x: (x.sum(), x * 2), (x,))
    assert close(first, [1, 1]) and close(second, [[2, 0], [0, 2]])
    assert not functional.jacobian(torch.sin, x).requires_grad and x.grad is None
    matrix = torch.arange(6.0).reshape(2, 3)
    assert functional.jacobian(lambda m: m @ m.T, matrix).shape == (2, 2, 2, 3)


def test_jacobian_can_be_differentiated():
    x = leaf(1.0, 2.0)
    functional.jacobian(lambda x: x**3, x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_hessian():
    x, y = leaf(1.0, 2.0), leaf(3.0)
    assert close(functional.hessian(lambda x: (x**3).sum(), x), [[6, 0], [0, 12]])
    (xx, xy), (yx, yy) = functional.hessian(lambda x, y: (x * x).sum() * y.sum() ** 2, (x, y))
    assert close(xx, [[18, 0], [0, 18]]) and close(xy, [[12], [24]]) and close(yx, [[12, 24]]) and close(yy, [[10]])
    with pytest.raises(RuntimeError):
        functional.hessian(lambda x: x * 2, x)


def test_products():
    x, v = leaf(1.0, 2.0), torch.tensor([1.0, -1.0], dtype=torch.float64)
    matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64)
    value, product = functional.vjp(lambda x: matrix @ x, x, torch.ones(3, dtype=torch.float64))
    assert close(value, [5, 11, 17]) and close(product, [9, 12])
    value, product = functional.jvp(lambda x: (matrix @ x) ** 2, x, v)
    assert close(value, [25, 121, 289]) and close(product, [-10, -22, -34])
    for function in (functional.hvp, functional.vhp):
        value, product = function(lambda x: x[0] ** 2 * x[1], x, v)
        assert close(value, 2.0) and close(product, [2 * 2 - 2 * 1, 2 * 1])
    assert close(functional.vjp(lambda x: x.sum(), x)[1], [1, 1])
    with pytest.raises(RuntimeError):
        functional.vjp(lambda x: x * 2, x)
    with pytest.raises(RuntimeError):
        functional.jacobian(lambda x, y: x * 2, (x, leaf(1.0)), strict=True)


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


def test_graphs_are_no_reference_cycles():
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = Product.apply(x, x.exp())[0]
        marker = weakref.ref(y)
        y.sum().backward()
        del y
        assert marker() is None
    finally:
        gc.enable()


# Checkpoints


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


def test_checkpoint_refuses_second_derivatives():
    x = leaf(1.0)
    y = checkpoint(lambda x: x**3, x, use_reentrant=False)
    with pytest.raises(RuntimeError, match="create_graph"):
        torch.autograd.grad(y.sum(), x, create_graph=True)


def test_checkpoint_sequential():
    module = torch.nn.Sequential(*(Counted() for _ in range(5)))
    expected = trained(module, module)
    found = trained(module, lambda x: checkpoint_sequential(module, 2, x, use_reentrant=False))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(expected, found))
    assert [part.runs for part in module] == [3, 3, 2, 2, 2]
    with pytest.raises(ValueError):
        checkpoint_sequential(module, 0, torch.ones(1, 4), use_reentrant=False)
