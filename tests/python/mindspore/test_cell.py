"""Cells: parameters, names, declared inputs, gradients of their own."""

import numpy as np
import pytest

import opforge.mindspore as ms
from opforge.mindspore import Parameter, Tensor, ops
from opforge.mindspore.nn import Cell


class Affine(Cell):
    def __init__(self, name=None):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0]), name=name)
        self.b = Parameter(Tensor([0.0, 1.0]), requires_grad=False)

    def construct(self, x):
        return self.w * x + self.b


class Two(Cell):
    def __init__(self):
        super(Two, self).__init__()
        self.scale = Parameter(Tensor([2.0]))
        self.first = Affine()
        self.second = Affine()
        self.add = ops.Add()
        self.number = 3

    def construct(self, x):
        return self.add(self.first(x), self.second(x)) * self.scale


class Product(Cell):
    def construct(self, x, y):
        return x * x * y


def test_calls():
    assert Two()(Tensor([1.0, 1.0])).tolist() == [4, 12]
    assert Product()(Tensor([2.0]), y=Tensor([3.0])).tolist() == [12]
    with pytest.raises(AttributeError, match="construct"):
        Cell()(1)
    with pytest.raises(TypeError, match="construct"):
        Product()(1)


def test_names_of_parameters():
    net = Two()
    names = ["scale", "first.w", "first.b", "second.w", "second.b"]
    assert [name for name, _ in net.parameters_and_names()] == names
    assert [parameter.name for parameter in net.get_parameters()] == names == list(net.parameters_dict())
    assert [parameter.name for parameter in net.trainable_params()] == ["scale", "first.w", "second.w"]
    assert [parameter.name for parameter in net.untrainable_params()] == ["first.b", "second.b"]
    assert [name for name, _ in net.parameters_and_names("net", expand=False)] == ["net.scale"]
    assert Affine("own").w.name == "own" and Affine().w.name == "w"
    outer = Cell()
    outer.net = net
    assert net.first.w.name == "net.first.w"


def test_shared_parameters_are_listed_once():
    net = Two()
    net.second.w = net.first.w
    net.again = net.first
    assert len(list(net.get_parameters())) == 4


def test_cells():
    net = Two()
    assert list(net.name_cells()) == ["first", "second"] and list(net.cells()) == [net.first, net.second]
    assert [name for name, _ in net.cells_and_names()] == ["", "first", "second"]
    assert repr(net) == "Two(\n  (first): Affine()\n  (second): Affine()\n)" and net.cls_name == "Two"
    assert not net.training and net.set_train() is net and net.second.training
    net.set_train(False)
    assert not net.first.training


def test_attributes():
    net = Two()
    net.first.w = Tensor([5.0, 6.0])
    assert type(net.first.w) is Parameter and net.first.w.asnumpy().tolist() == [5, 6]
    net.first = 3
    assert net.first == 3 and list(net.name_cells()) == ["second"]
    del net.scale
    assert [name for name, _ in net.parameters_and_names()] == ["second.w", "second.b"]
    for attempt in (lambda: net.scale, lambda: delattr(net, "scale"), lambda: net.nothing):
        with pytest.raises(AttributeError, match="'Two'"):
            attempt()
    with pytest.raises(KeyError, match="a.b"):
        net.insert_param_to_cell("a.b", Parameter(Tensor([1.0])))


def test_init_comes_first():
    class Early(Cell):
        def __init__(self):
            self.w = Parameter(Tensor([1.0]))

    with pytest.raises(AttributeError, match=r"Early.*Cell.__init__\(\)"):
        Early()


# Declared inputs


def declared(*shapes, dtype=ms.float32):
    return [Tensor(shape=shape, dtype=dtype) for shape in shapes]


@pytest.mark.parametrize("shape", [[None], [2], [-1], None], ids=str)
def test_inputs_that_fit(shape):
    net = Product()
    net.set_inputs(*declared(shape, shape))
    assert net(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])).tolist() == [3, 16]
    assert [given.dtype for given in net.get_inputs()] == [ms.float32] * 2


def test_other_sizes_than_declared():
    net = Product()
    net.set_inputs(*declared([4, None], [4, None]))
    assert net(Tensor(np.ones((4, 5), np.float32)), Tensor(np.ones((4, 5), np.float32))).shape == (4, 5)
    for shape in ((2,), (3, 5), (4, 5, 1)):
        x = Tensor(np.ones(shape, np.float32))
        with pytest.raises(ValueError, match=r"input 0.*\(4, -1\)"):
            net(x, x)
    with pytest.raises(TypeError, match="input 1: Float64.*Float32"):
        net(Tensor(np.ones((4, 5), np.float32)), Tensor(np.ones((4, 5))))
    with pytest.raises(ValueError, match="declared 2 inputs, but 1"):
        net(Tensor([1.0]))
    with pytest.raises(TypeError, match="input 1: a float"):
        net(Tensor(np.ones((4, 5), np.float32)), 2.0)


def test_declarations_of_all_kinds():
    net = Product()
    net.set_inputs(None, 2.0)
    assert net(Tensor([3.0]), 2.0).tolist() == [18]
    net.set_inputs(y=Tensor(shape=[1], dtype=ms.float32))
    with pytest.raises(ValueError, match="input 1"):
        net(3.0, Tensor([1.0, 2.0]))
    net.set_inputs()
    assert net(Tensor([3.0]), 2.0).tolist() == [18]
    with pytest.raises(TypeError, match="set_inputs: input 0 .* not str"):
        net.set_inputs("x")

    class Total(Cell):
        def construct(self, pair):
            return pair[0] + pair[1]

    net = Total()
    net.set_inputs(tuple(declared([None], [None])))
    assert net((Tensor([1.0]), Tensor([2.0]))).tolist() == [3]
    with pytest.raises(TypeError, match="input 0.*2 tensors"):
        net((Tensor([1.0]),))
    with pytest.raises(ValueError, match=r"input 0\[1\]"):
        net((Tensor([1.0]), Tensor(1.0)))


# A gradient of their own


def test_bprop():
    class Hundred(Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            assert out.tolist() == [2, 4] and type(x) is type(out) is type(dout) is Tensor
            return (dout * 100,)

    x = Tensor([1.0, 2.0])
    assert Hundred()(x).tolist() == [2, 4]
    assert ops.GradOperation()(Hundred())(x).tolist() == [100, 100]
    assert ops.GradOperation()(lambda x: Hundred()(x) * 3)(x).tolist() == [300, 300]


def test_trains():
    class Linear(Cell):
        def __init__(self):
            super().__init__()
            self.weight = Parameter(Tensor(np.zeros((3, 1), np.float32)), name="weight")

        def construct(self, x, y):
            return ops.ReduceMean()(ops.square(ops.MatMul()(x, self.weight) - y))

    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 3)).astype(np.float32)
    true = np.array([[1.0], [-2.0], [0.5]], np.float32)
    net = Linear()
    step = ms.value_and_grad(net, None, net.trainable_params())
    for _ in range(200):
        loss, (gradient,) = step(Tensor(x), Tensor(x @ true))
        ops.assign(net.weight, net.weight - 0.1 * gradient)
    assert loss < 1e-6
    np.testing.assert_allclose(net.weight.asnumpy(), true, atol=1e-3)
