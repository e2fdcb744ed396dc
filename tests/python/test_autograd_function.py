"""Functions with a backward of their own."""

import gc
import weakref

import pytest

import opforge as torch
from opforge.autograd import Function, gradcheck, gradgradcheck
from opforge.autograd.function import once_differentiable
from leaves import leaf


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


def test_a_gradient_that_is_no_tensor():
    """It was a TypeError of the binding, which named neither function nor argument."""

    class Wrong(Scale):
        @staticmethod
        def backward(ctx, grad):
            return 3.0, None

    with pytest.raises(RuntimeError, match="WrongBackward returned float for argument 0"):
        Wrong.apply(leaf(1.0), 2.0).sum().backward()


def test_vjp_is_another_name_of_backward():
    class Tripled(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def vjp(ctx, grad):
            return grad * 3

    x = leaf(1.0)
    Tripled.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0]


def test_functions_have_classes_and_contexts_of_their_own():
    from opforge.autograd import function

    seen = []

    class Named(function.InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            seen.append((ctx.name(), isinstance(ctx, function.BackwardCFunction)))
            ctx.name = "free for the function's own use"
            return x * 1

    assert Named.apply(leaf(1.0)).grad_fn.name() == "NamedBackward" and seen == [("NamedBackward", True)]
    assert isinstance(Named, function.FunctionMeta) and not isinstance(int, function.FunctionMeta)
    assert Named(inplace=True).inplace and not Named().inplace
    with pytest.raises(RuntimeError, match="Named.apply"):
        Named()(leaf(1.0))


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
