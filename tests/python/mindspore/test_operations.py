"""Operators as functions and as objects, next to numpy."""

import numpy as np
import pytest

import opforge.mindspore as ms
from opforge.mindspore import Tensor, ops
from opforge.mindspore.ops import operations

A = np.array([[1.0, -2.0], [3.0, 4.0]], np.float32)
B = np.array([[2.0, 2.0], [5.0, 0.5]], np.float32)
X, Y = Tensor(A), Tensor(B)
POSITIVE = np.abs(A)


def close(ours, expected):
    np.testing.assert_allclose(ours.asnumpy(), expected, rtol=1e-6, atol=1e-6)
    assert type(ours) is Tensor


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Add", A + B),
        ("Sub", A - B),
        ("Mul", A * B),
        ("Div", A / B),
        ("RealDiv", A / B),
        ("Pow", np.power(POSITIVE, B)),
        ("Maximum", np.maximum(A, B)),
        ("Minimum", np.minimum(A, B)),
        ("FloorDiv", A // B),
        ("Equal", A == B),
        ("Greater", A > B),
        ("LessEqual", A <= B),
    ],
)
def test_of_two(name, expected):
    left = Tensor(POSITIVE) if name == "Pow" else X
    close(getattr(ops, name)()(left, Y), expected)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("Neg", np.negative),
        ("Sin", np.sin),
        ("Cos", np.cos),
        ("Tan", np.tan),
        ("Exp", np.exp),
        ("Log", np.log),
        ("Sqrt", np.sqrt),
        ("Square", np.square),
        ("Abs", np.abs),
        ("Tanh", np.tanh),
        ("Sign", np.sign),
        ("Floor", np.floor),
        ("Reciprocal", np.reciprocal),
        ("ReLU", lambda x: np.maximum(x, 0)),
        ("Sigmoid", lambda x: 1 / (1 + np.exp(-x))),
        ("ZerosLike", np.zeros_like),
        ("OnesLike", np.ones_like),
    ],
)
def test_of_one(name, function):
    close(getattr(ops, name)()(Tensor(POSITIVE)), function(POSITIVE))


def test_with_arguments():
    close(ops.MatMul()(X, Y), A @ B)
    close(ops.MatMul(transpose_a=True)(X, Y), A.T @ B)
    close(ops.MatMul(False, True)(X, Y), A @ B.T)
    close(ops.ReduceSum()(X), A.sum())
    close(ops.ReduceSum()(X, 0), A.sum(0))
    close(ops.ReduceSum(keep_dims=True)(X, (0, 1)), A.sum((0, 1), keepdims=True))
    close(ops.ReduceSum(skip_mode=True)(X, ()), A)
    close(ops.ReduceMean(True)(X, -1), A.mean(-1, keepdims=True))
    close(ops.ReduceMax()(X, 1), A.max(1))
    close(ops.ReduceMin()(X), A.min())
    close(ops.Reshape()(X, (4,)), A.reshape(4))
    close(ops.Transpose()(X, (1, 0)), A.T)
    close(ops.ExpandDims()(X, 0), A[None])
    close(ops.Squeeze()(X[None]), A)
    close(ops.Squeeze(0)(X[None]), A)
    close(ops.Concat(1)((X, Y)), np.concatenate((A, B), 1))
    close(ops.Stack()((X, Y)), np.stack((A, B)))
    close(ops.BroadcastTo((3, 2, 2))(X), np.broadcast_to(A, (3, 2, 2)))
    close(ops.Softmax(0)(X), np.exp(A) / np.exp(A).sum(0))
    with pytest.raises(ValueError, match="MatMul: 2 and 1"):
        ops.MatMul()(X, X[0])
    with pytest.raises(TypeError):
        ops.Add()(X)


def test_sums_keep_their_dtype():
    assert ops.ReduceSum()(Tensor([1, 2], ms.int8)).dtype is ms.int8
    assert ops.ReduceSum()(X.astype(ms.float16)).dtype is ms.float16


def test_casts():
    assert ops.Cast()(X, ms.int32).tolist() == [[1, -2], [3, 4]]
    assert ops.cast(3, ms.float16).dtype is ms.float16
    assert ops.Cast()(X, ms.float32).dtype is ms.float32


def test_functions():
    close(ops.add(X, 1), A + 1)
    close(ops.mul(X, Y), A * B)
    close(ops.sin(X), np.sin(A))
    close(ops.matmul(X, Y), A @ B)
    close(ops.div(X, Y, rounding_mode="floor"), np.floor(A / B))
    close(ops.reduce_sum(X, 0), A.sum(0))
    close(ops.sum(X, 1), A.sum(1))
    close(ops.mean(X, 0, True), A.mean(0, keepdims=True))
    close(ops.transpose(X, (1, 0)), A.T)
    close(ops.reshape(X, (-1,)), A.ravel())
    close(ops.concat((X, Y), 1), np.concatenate((A, B), 1))
    close(ops.select(X > 0, X, Y), np.where(A > 0, A, B))
    close(ops.clip_by_value(X, 0, 1), A.clip(0, 1))
    close(ops.softmax(X), np.exp(A) / np.exp(A).sum(-1, keepdims=True))
    close(ops.flatten(X[None]), A.reshape(1, 4))
    close(ops.full((2,), 3.0), np.full(2, 3.0))
    close(ops.zeros((2, 3)), np.zeros((2, 3)))
    assert ops.ones(2, ms.int32).dtype is ms.int32 and ops.ones_like(X, dtype=ms.int8).dtype is ms.int8
    value, index = ops.max(X, 1)
    assert value.tolist() == [1, 4] and index.tolist() == [0, 1] and [t.item() for t in ops.max(X)] == [4, 0]
    close(ops.mse_loss(X, Y), np.mean((A - B) ** 2))
    close(ops.cross_entropy(X, Tensor([0, 1], ms.int32)), -np.log(np.exp(A) / np.exp(A).sum(-1, keepdims=True))[[0, 1], [0, 1]].mean())


def test_assign():
    weight = ms.Parameter(X)
    assert ops.assign(weight, Y) is weight and ops.Assign()(weight, Y) is weight
    np.testing.assert_array_equal(weight.asnumpy(), B)
    with pytest.raises(ValueError, match=r"\(2,\).*\(2, 2\)"):
        ops.assign(weight, X[0])


def test_objects():
    assert repr(ops.Add()) == "Prim[Add]" and ops.Add().name == "Add" and operations.Add is ops.Add
    assert not [name for name in operations.__all__ if not getattr(ops, name).__doc__]
    assert not [name for name in ops.functional.__all__ if not callable(getattr(ops, name)) or not getattr(ops, name).__doc__]
