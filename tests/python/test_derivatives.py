"""Derivatives as tensors, and checks of gradients against differences."""

import pytest

import opforge as torch
from opforge.autograd import Function, functional, gradcheck, gradgradcheck
from leaves import leaf


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
        assert all(part.requires_grad for part in function(lambda x: x[0] ** 2 * x[1], x, v, create_graph=True))
        with pytest.raises(RuntimeError, match="one element"):
            function(lambda x: x * 2, x, v)
    assert close(functional.vjp(lambda x: x.sum(), x)[1], [1, 1])
    with pytest.raises(RuntimeError):
        functional.vjp(lambda x: x * 2, x)
    with pytest.raises(RuntimeError):
        functional.jacobian(lambda x, y: x * 2, (x, leaf(1.0)), strict=True)
