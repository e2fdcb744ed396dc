"""`jit`: functions and cells as graphs give what they give without, also when parameters, attributes and shapes change."""

from queue import SimpleQueue

import numpy as np
import pytest

import opforge.mindspore as ms
from opforge.mindspore import Parameter, Tensor, jit, nn, ops

pytestmark = pytest.mark.usefixtures("no_warnings")


class Layer(nn.Cell):
    def __init__(self, width=2):
        super().__init__()
        self.weight = Parameter(Tensor(np.full((width, width), 0.5, np.float32)), name="weight")
        self.scale = 2.0

    def construct(self, x):
        return ops.matmul(x, self.weight).relu() * self.scale


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.calls = Layer(), SimpleQueue()

    @jit(fullgraph=True)
    def construct(self, x):
        self.calls.put(x.shape)
        return self.first(x) + 1


def ones(*shape):
    return Tensor(np.ones(shape, np.float32))


def test_functions():
    @jit
    def f(x, factor, others=()):
        return (x * factor).exp() + sum(others), {"x": x}

    result, named = f(Tensor([0.0, 1.0]), 2, others=[Tensor([1.0, 1.0])])
    assert type(result) is Tensor and np.allclose(result.asnumpy(), np.exp([0.0, 2.0]) + 1)
    assert type(named["x"]) is Tensor and f.__name__ == "f"
    assert np.allclose(f(Tensor([0.0, 1.0]), 3)[0].asnumpy(), np.exp([0.0, 3.0]))


def test_cells_with_their_parameters_of_the_moment():
    net, plain = Net(), Layer()
    net.set_inputs(Tensor(shape=[None, 2], dtype=ms.float32))
    compiled = jit(plain)
    for change in (lambda: None, lambda: net.first.weight.set_data(ones(2, 2)), lambda: setattr(net.first, "scale", -3.0)):
        change()
        for rows in (1, 3):
            expected = np.maximum(np.ones((rows, 2)) @ net.first.weight.asnumpy(), 0) * net.first.scale + 1
            assert np.allclose(net(ones(rows, 2)).asnumpy(), expected)
            assert np.allclose(net(ones(rows, 2)).asnumpy(), expected)
    assert net.calls.qsize() == 6
    assert np.allclose(compiled(ones(1, 2)).asnumpy(), plain(ones(1, 2)).asnumpy())
    with pytest.raises(ValueError, match="set_inputs"):
        net(ones(2, 3))


def test_gradients():
    net = Net()
    values = [ms.value_and_grad(lambda x: run(x).sum(), None, net.trainable_params())(ones(3, 2)) for run in (net, lambda x: net.first(x) + 1)]
    for found, expected in zip(values[0][1], values[1][1]):
        assert np.allclose(found.asnumpy(), expected.asnumpy()) and found.asnumpy().any()


def test_what_reads_elements():
    def f(x):
        return x * (2 if float(x.sum()) > 0 else 3)

    with pytest.warns(UserWarning, match="runs as it is"):
        assert np.allclose(jit(f)(ones(2)).asnumpy(), 2)
    with pytest.raises(RuntimeError, match="is not one graph"):
        jit(f, fullgraph=True)(ones(2))


def test_what_is_refused():
    with pytest.raises(ValueError, match="capture_mode"):
        jit(lambda x: x, capture_mode="none")
    with pytest.raises(TypeError, match="int"):
        jit(3)


def test_python_operators_are_called_at_each_run():
    calls = []

    def add(x, y, by):
        calls.append(x.shape)
        return x + by * y

    custom = ops.Custom(add, lambda x, *_: x, lambda x, *_: x, "pyfunc", bprop=lambda x, y, by, out, dout: (dout, dout * by, 0))

    @jit(fullgraph=True)
    def f(x):
        return custom(x * 2, x, 3.0) + 1

    for _ in range(3):
        assert f(ones(2)).asnumpy().tolist() == [6.0, 6.0]
    assert calls == [(2,)] * 3
    assert ms.grad(f)(ones(2)).asnumpy().tolist() == [5.0, 5.0]
    unknown = ops.Custom(add, func_type="pyfunc")
    with pytest.warns(UserWarning, match="out_shape and out_dtype"):
        assert jit(lambda x: unknown(x, x, 1.0))(ones(2)).asnumpy().tolist() == [2.0, 2.0]
