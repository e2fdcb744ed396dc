"""Where MindSpore's meaning of a name is another one than opforge's. Values were checked with MindSpore 2.10."""

from collections import namedtuple

import numpy as np
import pytest

import opforge.mindspore as ms
from opforge.mindspore import Parameter, ParameterTuple, Tensor, nn, ops

X = Tensor([1.0, 2.0, 3.0])
M = Tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
INTEGERS = Tensor([7, -7, 0], ms.int32)


def same(tensor, dtype, values):
    assert tensor.dtype is dtype
    np.testing.assert_allclose(tensor.asnumpy(), values, rtol=1e-6)
    assert type(tensor) is Tensor


@pytest.mark.parametrize(
    ("tensor", "dtype", "values"),
    [
        (M.argmin(), ms.int32, 1),
        (ops.argmin(M, 1), ms.int32, [1, 2]),
        (M.argsort(), ms.int32, [[1, 2, 0], [2, 1, 0]]),
        (ops.sort(M)[1], ms.int32, [[1, 2, 0], [2, 1, 0]]),
        (M.topk(2)[1], ms.int32, [[0, 2], [0, 1]]),
        (M.argmax(), ms.int64, 3),
        (ops.max(M, 1)[1], ms.int64, [0, 0]),
        (M.argmax_with_value(1)[1], ms.int64, [0, 0]),
        (INTEGERS.cumsum(0), ms.int32, [7, 0, 0]),
        (ops.cumsum(Tensor([True, True]), 0), ms.int32, [1, 2]),
        (Tensor([1, 2], ms.uint8).cumsum(), ms.int32, [1, 3]),
        (Tensor([1, 2]).cumsum(0), ms.int64, [1, 3]),
    ],
)
def test_dtypes_of_indices_and_running_sums(tensor, dtype, values):
    same(tensor, dtype, values)


@pytest.mark.parametrize(
    ("tensor", "dtype", "values"),
    [
        (ops.leaky_relu(Tensor([-1.0])), ms.float32, [-0.2]),
        (X.equal(X), ms.bool_, [True] * 3),
        (M.median()[0], ms.float32, [2, 5]),
        (M.median(0)[1], ms.int64, [0, 0, 0]),
        (~Tensor([1, 0]), ms.bool_, [False, True]),
        (ops.RealDiv()(INTEGERS, 2), ms.int32, [3, -3, 0]),
        (ops.div(INTEGERS, 2), ms.float32, [3.5, -3.5, 0]),
        (ops.ReduceMean()(Tensor([-1, -2], ms.int32)), ms.int32, -1),
        (Tensor([1, 2]).mean(), ms.int64, 1),
        (INTEGERS.std(), ms.float32, 5.715476),
        (INTEGERS.var(), ms.float32, 32.666668),
        (M.var(axis=0, ddof=1), ms.float32, [4.5, 8, 2]),
        (Tensor([7, 1, -1, 2]) ** -2, ms.int64, [0, 1, 1, 0]),
        (ops.pow(Tensor([7, 1, -1]), -1), ms.int64, [0, 1, -1]),
        (X + [1, 2, 3], ms.float32, [2, 4, 6]),
        (INTEGERS + [1.5, 1, 2], ms.int32, [8, -6, 2]),
        (Tensor([True, False]) - Tensor([True, True]), ms.bool_, [False, True]),
        (Tensor([True, False]) - Tensor([2, 1], ms.int8), ms.int8, [-1, -1]),
        (1 - Tensor([True, False]), ms.int64, [0, 1]),
        (ops.abs(Tensor([True, False])), ms.bool_, [True, False]),
        (Tensor([300, -1], ms.uint8), ms.uint8, [44, 255]),
        (X[::-1], ms.float32, [3, 2, 1]),
        (M[1, ::-2], ms.float32, [4, 6]),
        (M[..., None, 2:0:-1], ms.float32, [[[2, 1]], [[4, 5]]]),
    ],
)
def test_values(tensor, dtype, values):
    same(tensor, dtype, values)


@pytest.mark.parametrize(
    ("tensor", "values"),
    [
        (Tensor([1, 100], ms.int8) < 200, [True, True]),
        (Tensor([1], ms.uint8) < -2, [False]),
        (ops.less(Tensor([1, 100], ms.int8), 200), [True, True]),
        (200 > Tensor([1], ms.int8), [True]),
        (Tensor([1], ms.int32) < 2**40, [True]),
    ],
)
def test_comparisons_with_numbers_beyond_the_dtype(tensor, values):
    assert tensor.tolist() == values


@pytest.mark.parametrize(
    "call",
    [
        lambda: ops.mean(M, keep_dims=True),
        lambda: ops.prod(M, 0, False, ms.float32),
        lambda: ops.all(M > 0, keep_dims=True),
        lambda: M.mean(keep_dims=True),
        lambda: M.any(keep_dims=True),
        lambda: ops.cross_entropy(M, Tensor([0, 1], ms.int32), None, -100, "sum"),
        lambda: ops.nll_loss(M, Tensor([0, 1], ms.int32), None, -100, "sum"),
        lambda: ops.l1_loss(X, X, "sum"),
        lambda: ops.mse_loss(X, X, "none"),
        lambda: ops.gelu(X, "tanh"),
        lambda: ops.eye(2, 2, ms.int32),
        lambda: ops.cumsum(X, 0, ms.float64),
        lambda: ops.Round()(X, 0),
        lambda: X.sum(0, ms.float64, True),
        lambda: ops.permute(M, axis=(1, 0)),
        lambda: ops.transpose(M, dims=(1, 0)),
        lambda: ops.broadcast_to(X, shape=(2, -1)),
        lambda: ops.ones(shape=(2,)),
        lambda: ops.Ones()(shape=(2,)),
        lambda: ops.expand_dims(input_x=X, axis=0),
        lambda: ops.bmm(input_x=Tensor(np.ones((1, 2, 2))), mat2=Tensor(np.ones((1, 2, 2)))),
        lambda: ops.elu(input_x=X),
        lambda: ops.LogicalAnd()(x=X > 1, y=X > 2),
        lambda: ops.max(X, initial=2.0, where=X > 1)[0],
        lambda: X.sum(initial=10),
        lambda: ops.BatchMatMul(transpose_b=True)(Tensor(np.ones((1, 2, 3))), Tensor(np.ones((1, 2, 3)))),
        lambda: ops.dot(M, Tensor(np.ones((3, 2), np.float32))),
        lambda: ops.flatten(M, order="F"),
        lambda: M.flatten(order="C"),
        lambda: M.gather(Tensor([1, 0]), 0),
        lambda: X.norm(ord=1),
        lambda: Tensor([1 + 2j]).real(),
        lambda: Tensor([1 + 2j]).imag(),
        lambda: X.astype(np.int8),
        lambda: round(X),
        lambda: ops.Range()(Tensor(0), Tensor(5), Tensor(2)),
    ],
)
def test_signatures(call):
    assert isinstance(call(), Tensor)


def test_other_arguments():
    parameter = Parameter(X, name="p")
    assert ops.assign(parameter, 2.0).tolist() == [2, 2, 2]
    assert ops.stop_gradient(3) == 3
    assert hasattr(X, "imag")
    assert ms.pytype_to_dtype(float) is ms.float64
    assert isinstance(Tensor(shape=[4, None], dtype=ms.float32), Tensor)
    assert ms.common.dtype is ms.dtype and ms.dtype.TensorType(ms.float32).element_type() is ms.float32
    with pytest.raises(TypeError, match="name is a int"):
        Parameter(X, name=5)


class Tuple(nn.Cell):
    def __init__(self, auto_prefix=True):
        super().__init__(auto_prefix)
        self.weights = ParameterTuple((Parameter(X, name="p"), Parameter(X)))

    def construct(self, x):
        return x * self.weights[0] * self.weights[1]


def test_parameters_in_tuples_are_registered():
    net = Tuple()
    assert [parameter.name for parameter in net.trainable_params()] == ["p", "Parameter$1"]
    assert ms.grad(net, None, net.trainable_params())(X)[1].tolist() == [1, 4, 9]
    assert [p.name for p in net.weights.clone("x", "zeros")] == ["x.p", "x.Parameter$1"]
    outer = nn.CellList([Tuple()])
    assert [p.name for p in outer.get_parameters()] == ["0.p", "0.Parameter$1"]
    assert [p.name for p in nn.WithLossCell(outer[0], nn.MSELoss()).get_parameters()] == ["0.p", "0.Parameter$1"]


Result = namedtuple("Result", "loss rest")


def test_results_in_containers():
    value, gradient = ms.value_and_grad(lambda a: {"loss": a * a})(X)
    assert value["loss"].tolist() == [1, 4, 9] and gradient.tolist() == [2, 4, 6]
    value, gradient = ms.value_and_grad(lambda a: Result(a * a, 3))(X)
    assert value.rest == 3 and gradient.tolist() == [2, 4, 6]


def test_gradients_by_arguments_that_are_named():
    fn = lambda a, b: a * b  # noqa: E731
    assert ops.GradOperation()(lambda a: a * a)(a=X).tolist() == [2, 4, 6]
    by_b, by_a = ops.GradOperation(get_all=True)(fn)(b=X, a=X * 2)
    assert (by_b.tolist(), by_a.tolist()) == ([2, 4, 6], [1, 2, 3])


def test_what_is_no_tensor_is_left_out():
    fn = lambda a, b: a * b  # noqa: E731
    assert ms.grad(fn, (0, 1))(X, 3.0).tolist() == [3, 3, 3]
    assert ms.grad(fn, 1)(X, 3.0) == () and ops.GradOperation()(fn)(3.0, X) == ()
    assert ops.GradOperation(sens_param=True)(lambda a: a * a)(X, sens=2.0).tolist() == [4, 8, 12]


def test_parameters_without_gradients():
    frozen = Parameter(X, name="b", requires_grad=False)
    assert ms.grad(lambda x: x * frozen, None, (frozen,))(X)[0].tolist() == [0, 0, 0]
    assert ms.grad(lambda p: p * p)(frozen).tolist() == [0, 0, 0]


class Nested(nn.Cell):
    def construct(self, pair, n=2):
        return {"product": pair[0] * pair[1] * n}, None

    def bprop(self, pair, n, out, dout):
        return (dout[0]["product"] * 10, dout[0]["product"] * n), None


def test_bprop_of_nested_arguments_and_results():
    assert Nested()((X, X))[0]["product"].tolist() == [2, 8, 18]
    by_a, by_b = ms.grad(lambda a, b: Nested()([a, b], n=3), (0, 1))(X, X)
    assert (by_a.tolist(), by_b.tolist()) == ([10] * 3, [3] * 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ms.grad(lambda x: x, "a"), TypeError, "grad_position is 'a'"),
        (lambda: ms.grad(lambda x: x, 0, "w")(X), TypeError, "weights: 'w'"),
        (lambda: ms.grad(lambda x: x, has_aux=True)(X), ValueError, "has_aux: the function returned one"),
        (lambda: ms.grad(lambda x: x * X)(INTEGERS), TypeError, "grad_position 0: a tensor of Int32"),
        (lambda: ms.grad(3), TypeError, "fn is a int"),
        (lambda: ms.grad(lambda x: x, (0, 0)), ValueError, "each once"),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("tensor", "text", "described"),
    [
        (Tensor(123456789.0), "123456790.0", "1.23457e+08"),
        (Tensor(1e17), "1e+17", "1e+17"),
        (Tensor([1.5, 2.25], ms.bfloat16), "[1.500000 2.250000]", "[ 1.5, 2.25]"),
        (Tensor([1.0, np.nan, -np.inf]), None, "[ 1.00000000e+00,             nan,            -inf]"),
        (Tensor([1 + 2j, 1.5 - 2j]), None, "[1+2j, 1.5-2j]"),
        (Tensor(np.arange(8).reshape(2, 2, 2)), None, "\n[[[0, 1],\n  [2, 3]],\n [[4, 5],\n  [6, 7]]]"),
        (Tensor(np.arange(20).reshape(2, 10)), None, "\n[[ 0,  1,  2 ...  7,  8,  9],\n [10, 11, 12 ... 17, 18, 19]]"),
        (Tensor(np.arange(14).reshape(7, 2)), None, "\n[[ 0,  1],\n [ 2,  3],\n [ 4,  5],\n ...\n [ 8,  9],\n [10, 11],\n [12, 13]]"),
        (Tensor(np.arange(10)), None, "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"),
    ],
)
def test_printed(tensor, text, described):
    assert text is None or str(tensor) == text
    assert repr(tensor).partition("value=")[2].removeprefix(" ").removesuffix(")") == described
