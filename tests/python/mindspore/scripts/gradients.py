"""Gradients of custom operators, and training with them."""

import os

import numpy as np

import mindspore as ms
import mindspore.ops as ops
from mindspore import Parameter, Tensor
from mindspore import dtype as mstype
from mindspore.nn import Cell
from mindspore.ops import CustomRegOp, DataType

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernels")
ms.set_context(device_target="CPU")
X = np.array([-2.0, -1.0, 1.0, 3.0], np.float32)
Y = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
SENS = np.array([1.0, 10.0, 100.0, 1000.0], np.float32)
SLOPES = np.where(X > 0, 1, 0.25).astype(np.float32)


class Net(Cell):
    def __init__(self, program):
        super().__init__()
        self.program = program

    def construct(self, *args):
        return self.program(*args)


def add(bprop):
    return ops.Custom(f"{KERNELS}/add.cc:Add", lambda x, _: x, lambda x, _: x, "aot", bprop)


def sloped(name, kernel, inputs, bprop=None):
    info = CustomRegOp(name)
    for i in range(inputs):
        info = info.input(i, f"x{i}")
    info = info.output(0, "y").dtype_format(*[DataType.F32_Default] * (inputs + 1))
    info = info.attr("slope", "required", "float", value=0.25).target("CPU").get_op_info()
    return ops.Custom(f"{KERNELS}/leaky.cc:{kernel}", lambda x, *_: x, lambda x, *_: x, "aot", bprop=bprop, reg_info=info)


def leaky(name):
    """The operator whose gradient is an operator too."""
    gradient = sloped(f"{name}_grad", "LeakyGrad", 3)
    return sloped(name, "Leaky", 1, lambda x, out, dout: (gradient(x, out, dout),))


def case_python_bprop():
    net = Net(add(lambda x, y, out, dout: (dout * 2, dout * y)))
    results = ops.GradOperation(get_all=True)(net)(Tensor(X), Tensor(Y))
    return list(results), [np.full(4, 2, np.float32), Y]


def case_sens():
    net = Net(add(lambda x, y, out, dout: (dout, dout * 3)))
    results = ops.GradOperation(get_all=True, sens_param=True)(net)(Tensor(X), Tensor(Y), Tensor(SENS))
    return list(results), [SENS, SENS * 3]


def case_bare_gradient():
    net = Net(sloped("gradients_bare", "Leaky", 1, lambda x, out, dout: dout * 7))
    return ops.GradOperation(sens_param=True)(net)(Tensor(X), Tensor(SENS)), SENS * 7


def case_the_output_in_bprop():
    net = Net(add(lambda x, y, out, dout: (out * dout, x * dout)))
    results = ops.GradOperation(get_all=True)(net)(Tensor(X), Tensor(Y))
    return list(results), [X + Y, X]


def case_bprop_by_an_operator():
    net = Net(leaky("gradients_leaky"))
    outputs = net(Tensor(X)), ops.GradOperation(sens_param=True)(net)(Tensor(X), Tensor(SENS))
    return list(outputs), [X * SLOPES, SLOPES * SENS]


def case_several_outputs():
    def bprop(x, out, dout):
        least, greatest, total = (ops.ExpandDims()(d, 1) for d in dout)
        is_least = ops.Cast()(x == ops.ExpandDims()(out[0], 1), mstype.float32)
        is_greatest = ops.Cast()(x == ops.ExpandDims()(out[1], 1), mstype.float32)
        return (is_least * least + is_greatest * greatest + ops.OnesLike()(x) * total,)

    shapes, dtypes = ([2], [2], [2]), (mstype.float32,) * 3
    op = ops.Custom(f"{KERNELS}/statistics.cc:Statistics", shapes, dtypes, "aot", bprop)

    def weighted(x):
        least, greatest, total = op(x)
        return least * 2 + greatest * 3 + total * 10

    x = Tensor([[3.0, 1.0, 2.0], [-1.0, 0.0, 5.0]])
    return ops.GradOperation()(weighted)(x), np.array([[13, 12, 10], [12, 10, 13]], np.float32)


class Network(Cell):
    """A hidden layer with the custom operator as its activation."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(0)
        self.first = Parameter(Tensor(rng.standard_normal((3, 16)).astype(np.float32)), name="first")
        self.second = Parameter(Tensor(rng.standard_normal((16, 1)).astype(np.float32) / 4), name="second")
        self.matmul = ops.MatMul()
        self.activation = leaky("gradients_activation")
        self.mean = ops.ReduceMean()

    def construct(self, x, y):
        hidden = self.activation(self.matmul(x, self.first))
        return self.mean(ops.square(self.matmul(hidden, self.second) - y))


def case_training():
    """The losses of all steps, and whether they fell."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((32, 3)).astype(np.float32)
    y = np.abs(x[:, :1]) + x[:, 1:2]
    net = Network()
    step = ms.value_and_grad(net, None, net.trainable_params())
    losses = []
    for _ in range(100):
        loss, gradients = step(Tensor(x), Tensor(y))
        for parameter, gradient in zip(net.trainable_params(), gradients):
            parameter.set_data(parameter - 0.1 * gradient)
        losses.append(float(loss.asnumpy()))
    fell = losses[-1] < losses[0] / 20
    return [Tensor(losses), Tensor(fell)], [None, np.array(True)]
