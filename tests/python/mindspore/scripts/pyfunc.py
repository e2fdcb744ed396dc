"""Operators that are Python functions of numpy arrays."""

import numpy as np

import mindspore as ms
import mindspore.ops as ops
from mindspore import Tensor
from mindspore import dtype as mstype

ms.set_context(device_target="CPU")
X = np.array([1.0, 2.0], np.float32)
Y = np.array([3.0, 4.0], np.float32)


def case_sum():
    op = ops.Custom(lambda x, y: x + y, lambda x, _: x, lambda x, _: x, "pyfunc")
    return op(Tensor(X), Tensor(Y)), X + Y


def case_values():
    return ops.Custom(lambda x, y: x * y, [2], mstype.float32, "pyfunc")(Tensor(X), Tensor(Y)), X * Y


def case_several():
    op = ops.Custom(lambda x, y: (x + y, x * y), lambda x, y: (x, y), lambda x, y: (x, y), "pyfunc")
    return list(op(Tensor(X), Tensor(Y))), [X + Y, X * Y]


def case_tuple_of_one():
    results = ops.Custom(lambda x: np.exp(x), ([2],), (mstype.float32,), "pyfunc")(Tensor(X))
    assert isinstance(results, tuple) and len(results) == 1
    return results[0], np.exp(X)


def case_rank_zero():
    return ops.Custom(lambda x: x.sum(), lambda _: [], lambda x: x, "pyfunc")(Tensor(X)), X.sum()


def case_other_dtype():
    op = ops.Custom(lambda x: (x > 1).astype(np.int32), lambda x: x, mstype.int32, "pyfunc")
    return op(Tensor(X)), np.array([0, 1], np.int32)


def case_bprop():
    op = ops.Custom(lambda x, y: x * y, lambda x, _: x, lambda x, _: x, "pyfunc", lambda x, y, out, dout: (dout * y, dout * x))
    gradient = ops.GradOperation(get_all=True, sens_param=True)(lambda x, y: op(x, y))
    return list(gradient(Tensor(X), Tensor(Y), Tensor(Y))), [Y * Y, X * Y]
