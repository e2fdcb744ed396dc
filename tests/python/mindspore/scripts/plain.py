"""Tensors, plain operators and gradients, without custom operators."""

import numpy as np

import mindspore as ms
import mindspore.ops as ops
from mindspore import Tensor

ms.set_context(device_target="CPU")
A = np.array([[1.0, -2.0, 0.5], [3.0, 4.0, -1.5]], np.float32)
B = np.array([[2.0, 0.5, 1.0], [5.0, 0.25, 3.0]], np.float32)
POSITIVE = np.abs(A)
SENS = np.array([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]], np.float32)


def case_operators():
    x, y = Tensor(A), Tensor(B)
    results = [x + y, 1 - x, x * 2, x / y, x // y, x % y, y**2, -x, abs(x), x @ y.T, x > y, x == x, x[0], x[:, 1], x[x > 0]]
    expected = [A + B, 1 - A, A * 2, A / B, A // B, A % B, B**2, -A, abs(A), A @ B.T, A > B, A == A, A[0], A[:, 1], A[A > 0]]
    return results, expected


def case_methods():
    x = Tensor(A)
    results = [x.sum(), x.sum(axis=1), x.mean(0), x.max(), x.min(axis=1), x.argmax(axis=1), x.var(), x.std(axis=0), x.prod(), x.cumsum(1)]
    results += [x.reshape(3, 2), x.view(-1), x.transpose(), x.swapaxes(0, 1), x.expand_dims(1), x.clip(-1, 1), x.astype(ms.int32), x.half()]
    expected = [A.sum(), A.sum(1), A.mean(0), A.max(), A.min(1), A.argmax(1), A.var(), A.std(0), A.prod(), A.cumsum(1)]
    expected += [A.reshape(3, 2), A.ravel(), A.T, A.T, A[:, None], A.clip(-1, 1), A.astype(np.int32), A.astype(np.float16)]
    return results, expected


def case_promotion():
    kinds = (ms.int32, ms.int64, ms.uint8, ms.float16, ms.float32, ms.float64)
    pairs = [(left, right) for left in kinds for right in kinds]
    results = [Tensor([2], left) + Tensor([3], right) for left, right in pairs]
    results += [Tensor([2], kind) * 2.5 for kind in kinds] + [Tensor([2], kind) + 1 for kind in kinds]
    return results, [None] * len(results)


def case_of_one():
    names = ["Neg", "Sin", "Cos", "Tan", "Exp", "Log", "Sqrt", "Square", "Abs", "Sign", "Floor", "Reciprocal", "Rsqrt", "ReLU"]
    names += ["Sigmoid", "ZerosLike", "OnesLike", "Ceil", "Erf", "GeLU", "Log1p", "Round"]
    return [getattr(ops, name)()(Tensor(POSITIVE)) for name in names], [None] * len(names)


def case_of_two():
    names = [
        "Add",
        "Sub",
        "Mul",
        "Div",
        "RealDiv",
        "Pow",
        "Maximum",
        "Minimum",
        "FloorDiv",
        "Equal",
        "NotEqual",
        "Greater",
        "GreaterEqual",
        "Less",
    ]
    return [getattr(ops, name)()(Tensor(POSITIVE), Tensor(B)) for name in names], [None] * len(names)


def case_with_arguments():
    x, y = Tensor(A), Tensor(B)
    results = [
        ops.MatMul(transpose_b=True)(x, y),
        ops.MatMul(True, False)(x, y),
        ops.BatchMatMul()(x[None], y.T[None]),
        ops.ReduceSum()(x),
        ops.ReduceSum(keep_dims=True)(x, 0),
        ops.ReduceSum()(Tensor([1, 2], ms.int8)),
        ops.ReduceMean()(x, (0, 1)),
        ops.ReduceMax(True)(x, 1),
        ops.ReduceMin()(x, -1),
        ops.Cast()(x, ms.int32),
        ops.Reshape()(x, (3, 2)),
        ops.Transpose()(x, (1, 0)),
        ops.ExpandDims()(x, -1),
        ops.Squeeze(0)(x[None]),
        ops.Concat(1)((x, y)),
        ops.Stack(1)((x, y)),
        ops.Softmax()(x),
        ops.BroadcastTo((2, 2, 3))(x),
        ops.Tile()(x, (2, 1)),
        ops.Select()(x > 0, x, y),
    ]
    return results, [None] * len(results)


def case_functions():
    x, y = Tensor(A), Tensor(B)
    results = [
        ops.div(x, y, rounding_mode="floor"),
        ops.reduce_sum(x, 1),
        ops.sum(x, 1, True),
        ops.mean(x, 0, True),
        ops.softmax(x, 0),
        ops.log_softmax(x),
        ops.flatten(x[None]),
        ops.full((2,), 3.0, dtype=ms.float32),
        ops.zeros((2, 3)),
        ops.ones((2, 3), ms.int32),
        ops.arange(5),
        ops.eye(2),
        ops.clip_by_value(x, -1, 1),
        *ops.max(x, 1),
        *ops.min(x),
        *ops.split(x, 1),
        ops.cat((x, y)),
        ops.cumsum(x, 1),
        ops.where(x > 0, x, y),
        ops.mse_loss(x, y),
        ops.l1_loss(x, y),
        ops.cross_entropy(x, Tensor([0, 2], ms.int32)),
        ops.gelu(x),
        ops.argmax(x, dim=1),
        ops.broadcast_to(x, (2, 2, 3)),
    ]
    return results, [None] * len(results)


def case_gradients():
    def function(x, y):
        return ops.sin(x * y) + ops.exp(-x) / y + ops.sqrt(y) * ops.sigmoid(x)

    x, y, sens = Tensor(A), Tensor(B), Tensor(SENS)
    results = [ops.GradOperation()(function)(x, y)]
    results += ops.GradOperation(get_all=True)(function)(x, y)
    results += ops.GradOperation(get_all=True, sens_param=True)(function)(x, y, sens)
    results += ms.grad(function, (0, 1))(x, y)
    results.append(ops.GradOperation()(ops.GradOperation()(function))(x, y))
    return results, [None] * len(results)


def case_reductions_and_products():
    def function(x, y):
        product = ops.matmul(x, ops.transpose(y, (1, 0)))
        return ops.ReduceSum()(ops.softmax(product) * product) + ops.ReduceMean()(ops.relu(x)) + ops.reduce_max(y)

    results = ops.GradOperation(get_all=True)(function)(Tensor(A), Tensor(B))
    return list(results), [None] * 2
