"""`GradOperation`, `grad` and `value_and_grad`. What is expected was observed with MindSpore 2.10."""

import numpy as np
import pytest

import opforge
import opforge.mindspore as ms
from opforge.mindspore import Parameter, ParameterTuple, Tensor, ops
from opforge.mindspore.nn import Cell
from opforge.mindspore.ops import GradOperation

X, Y, SENS = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([10.0, 100.0])


class Scaled(Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]), name="ww")
        self.b = Parameter(Tensor([0.0, 0.0]), requires_grad=False)

    def construct(self, x):
        return self.w * x + self.b


def product(x, y):
    return x * x * y


def plain(value):
    """Tensors in nested tuples, as lists of numbers."""
    return tuple(map(plain, value)) if isinstance(value, tuple) else value.tolist() if isinstance(value, Tensor) else value


@pytest.mark.parametrize(
    ("options", "args", "expected"),
    [
        ({}, (X, Y), [6, 16]),
        ({"get_all": True}, (X, Y), ([6, 16], [1, 4])),
        ({"sens_param": True}, (X, Y, SENS), [60, 1600]),
        ({"get_all": True, "sens_param": True}, (X, Y, SENS), ([60, 1600], [10, 400])),
        ({"get_all": True}, (X, 3.0), ([6, 12],)),
    ],
    ids=str,
)
def test_by_inputs(options, args, expected):
    assert plain(GradOperation(**options)(product)(*args)) == expected


def test_sens_by_name():
    assert plain(GradOperation(sens_param=True)(product)(X, Y, sens=SENS)) == [60, 1600]
    with pytest.raises(ValueError, match=r"sens\[0\].*\(1,\).*\(2,\)"):
        GradOperation(sens_param=True)(product)(X, Y, Tensor([1.0]))
    with pytest.raises(ValueError, match="2 tensors.*accepted: 1"):
        GradOperation(sens_param=True)(product)(X, Y, (SENS, SENS))
    with pytest.raises(TypeError, match="missing"):
        GradOperation(sens_param=True)(lambda: X)()


def test_by_parameters():
    net = Scaled()
    weights = net.trainable_params()
    expected = ([1, 2],)
    for given in (ParameterTuple(weights), weights, None):
        assert plain(GradOperation(get_by_list=True)(net, given)(X)) == expected
    assert plain(GradOperation(get_by_list=True)(net, net.w)(X)) == [1, 2]
    both = GradOperation(get_all=True, get_by_list=True)
    assert plain(both(net, weights)(X)) == (([1, 2],), expected)
    both = GradOperation(get_all=True, get_by_list=True, sens_param=True)
    assert plain(both(net, weights)(X, X)) == (([1, 4],), ([1, 4],))
    assert plain(GradOperation()(net, weights)(X)) == plain(GradOperation()(net)(X))


def test_several_outputs():
    def pair(x):
        return x * 2, (x * 3,)

    assert plain(GradOperation(get_all=True)(pair)(X)) == ([5, 5],)
    assert plain(GradOperation(sens_param=True)(pair)(X, (Tensor([1.0, 1.0]), (Tensor([10.0, 10.0]),)))) == [32, 32]


def test_what_the_result_does_not_depend_on():
    assert plain(GradOperation()(lambda x: Y)(X)) == [0, 0]
    assert plain(GradOperation(get_all=True)(lambda x, i: x * 2)(X, Tensor([1, 2]))) == ([2, 2], [0, 0])
    assert GradOperation(get_all=True)(lambda: X)() == ()
    assert plain(GradOperation()(lambda x: ops.stop_gradient(x) * x)(X)) == [1, 2]


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_derivatives_of_derivatives(depth):
    function = cube = lambda x: x * x * x  # noqa: E731
    for _ in range(depth):
        function = GradOperation()(function)
    expected = [lambda x: 3 * x * x, lambda x: 6 * x, lambda x: 6 + 0 * x, lambda x: 0 * x][depth - 1]
    assert cube(X).tolist() == [1, 8]
    assert plain(function(X)) == expected(np.array([1.0, 2.0])).tolist()


def test_a_gradient_inside_of_a_function():
    def mixed(x, y):
        slope = GradOperation()(lambda t: t * t * y)(x)
        return slope * x

    # d/dx (2 x y x) = 4 x y, d/dy = 2 x^2
    assert plain(GradOperation(get_all=True)(mixed)(X, Y)) == ([12, 32], [2, 8])


def test_a_penalty_on_a_gradient():
    net = Scaled()

    def penalty(x):
        return GradOperation()(lambda t: net(t) * net(t))(x)

    # d/dw (2 w^2 x) = 4 w x
    assert plain(ms.grad(penalty, None, net.w)(X)) == [4, 16]


def test_grad():
    net = Scaled()
    assert plain(ms.grad(product)(X, Y)) == [6, 16]
    assert plain(ms.grad(product, (0, 1))(X, Y)) == ([6, 16], [1, 4])
    assert plain(ms.grad(product, (1,))(X, Y)) == [1, 4]
    assert plain(ms.grad(net, None, net.trainable_params())(X)) == ([1, 2],)
    assert plain(ms.grad(net, None, net.w)(X)) == [1, 2]
    assert plain(ms.grad(net, 0, net.trainable_params())(X)) == ([1, 2], ([1, 2],))
    assert plain(ms.grad(product, (0, 1), return_ids=True)(X, Y)) == ((0, [6, 16]), (1, [1, 4]))
    assert plain(ms.grad(net, None, net.trainable_params(), return_ids=True)(X)) == (("ww", [1, 2]),)
    assert plain(ms.grad(product, sens_param=True)(X, Y, SENS)) == [60, 1600]
    assert plain(ms.grad(lambda x: (x * 2, x * 3), has_aux=True)(X)) == ([2, 2], ([3, 6],))
    assert plain(ops.grad(product)(X, Y)) == [6, 16]


def test_value_and_grad():
    assert plain(ms.value_and_grad(product, (0, 1))(X, Y)) == ([3, 16], ([6, 16], [1, 4]))
    assert plain(ms.value_and_grad(lambda x: (x * 2, x * 3), has_aux=True)(X)) == (([2, 4], [3, 6]), [2, 2])
    assert plain(ms.value_and_grad(Scaled(), None, None or Scaled().trainable_params())(X))[0] == [1, 4]


def test_refused():
    for options in ({"get_all": 1}, {"get_by_list": None}, {"sens_param": "x"}):
        with pytest.raises(TypeError, match=next(iter(options))):
            GradOperation(**options)
    with pytest.raises(ValueError, match="both be None"):
        ms.grad(product, None)
    with pytest.raises(ValueError, match="grad_position 5"):
        ms.grad(product, 5)(X, Y)


def test_nothing_stays_recorded():
    net = Scaled()
    value, gradient = ms.value_and_grad(net, 0, net.trainable_params())(X)
    recorded = opforge.Tensor.requires_grad.__get__
    assert not any(map(recorded, (X, value, net.w, net(X), gradient[0], *gradient[1])))
    with pytest.raises(ZeroDivisionError):
        ms.grad(lambda x: 1 / 0, 0, net.trainable_params())(X)
    assert not recorded(net.w)
    with opforge.no_grad():
        assert plain(ms.grad(product)(X, Y)) == [6, 16]
