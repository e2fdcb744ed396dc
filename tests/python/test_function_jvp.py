"""Functions with a derivative of their own in a direction."""

import numpy as np
import pytest

import opforge as torch
from opforge.autograd import Function
from opforge.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vmap

X, V = (torch.tensor(values, dtype=torch.float64) for values in ([3.0, 1.0, 2.0], [1.0, 2.0, 3.0]))


def near(actual, expected):
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-12)


class Cube(Function):
    """x³ and x², times a factor, whose `jvp` is the derivative, and whose `backward` is wrong, to tell who called."""

    @staticmethod
    def forward(x, factor):
        return x**3 * factor, x**2 * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.factor = inputs
        ctx.save_for_backward(output[0])
        ctx.save_for_forward(x, output[1], None)

    @staticmethod
    def jvp(ctx, tangent, nothing):
        x, square, none = ctx.saved_tensors
        assert nothing is None and none is None
        return 3 * square * tangent, 2 * x * tangent * ctx.factor

    @staticmethod
    def backward(ctx, first, second):
        (cube,) = ctx.saved_tensors
        return first + second + 0 * cube, None


class Tripled(Function):
    """3x, with `jvp` alone."""

    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 3


def test_forward_mode_calls_jvp():
    """It called `backward`, and raised where there was none."""
    outputs, tangents = jvp(lambda x: Cube.apply(x, 2.0), (X,), (V,))
    near(outputs[0], 2 * X**3)
    near(tangents[0], 6 * X**2 * V)
    near(tangents[1], 4 * X * V)
    near(jacfwd(lambda x: Cube.apply(x, 2.0)[1])(X), torch.diag(4 * X))
    near(linearize(lambda x: Cube.apply(x, 1.0)[0].sin(), X)[1](V), (X**3).cos() * 3 * X**2 * V)
    near(jvp(Tripled.apply, (X,), (V,))[1], 3 * V)
    near(vmap(lambda v: jvp(Tripled.apply, (X,), (v,))[1])(torch.stack([V, X])), torch.stack([3 * V, 3 * X]))


def test_gradients_call_backward():
    near(grad(lambda x: Cube.apply(x, 2.0)[0].sum())(X), np.ones(3))
    with pytest.raises(NotImplementedError, match="backward"):
        grad(lambda x: Tripled.apply(x).sum())(X)


def test_derivatives_of_jvp():
    def cube(x):
        return Cube.apply(x, 1.0)[0]

    near(jvp(lambda x: jvp(cube, (x,), (V,))[1], (X,), (V,))[1], 6 * X * V * V)
    near(jacfwd(jacfwd(cube))(X).sum((1, 2)), 6 * X)
    # d/dx of x³ in the direction, 3 x², whose gradient goes by backward of x², which gives 1
    near(jacrev(jacfwd(cube))(X).sum((1, 2)), 3 * np.ones(3))
    near(hessian(lambda x: cube(x).sum())(X), np.zeros((3, 3)))


def test_a_backward_that_differentiates_within():
    """What it computes is its own affair: zeros would be wrong there."""

    class Implicit(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            with torch.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                (slope,) = torch.autograd.grad(Both.apply(x).sum(), x)
            return slope * grad

    class Both(Tripled):
        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    near(jvp(Implicit.apply, (X,), (V,))[1], 3 * V)


def test_complex_tangents():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def jvp(ctx, tangent):
            return 2 * ctx.saved_tensors[0] * tangent

    c = torch.tensor([1 + 2j, 2 - 1j], dtype=torch.complex128)
    near(jvp(lambda x: Square.apply(x * 1j), (c,), (c,))[1], -2 * c * c)


@pytest.mark.parametrize("materialize, expected", [(True, [0.0, 0.0, 0.0]), (False, None)])
def test_tangents_of_constants(materialize, expected):
    seen = []

    class Product(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(materialize)
            return x * y

        @staticmethod
        def jvp(ctx, x, y):
            seen.append(y if y is None else y.tolist())
            return x

    jvp(lambda x: Product.apply(x, V), (X,), (V,))
    assert seen == [expected]


@pytest.mark.parametrize(
    "found, match",
    [((V, V), "invalid number"), (V.sum(), "shape"), (3.0, "float")],
)
def test_bad_tangents(found, match):
    class Bad(Tripled):
        @staticmethod
        def jvp(ctx, tangent):
            return found

    with pytest.raises(RuntimeError, match=match):
        jvp(Bad.apply, (X,), (V,))
