"""Shapes and dtypes of outputs, and how many there are."""

import os

import numpy as np

import mindspore as ms
import mindspore.ops as ops
from mindspore import Tensor
from mindspore import dtype as mstype
from mindspore.nn import Cell
from mindspore.ops import CustomRegOp, DataType

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernels")
ms.set_context(device_target="CPU")
X = np.array([[3.0, 1.0, 2.0], [-1.0, 0.0, 5.0]], np.float32)
STATISTICS = [X.min(1), X.max(1), X.sum(1)]


def add(out_shape, out_dtype):
    return ops.Custom(f"{KERNELS}/add.cc:Add", out_shape, out_dtype, "aot")


def case_functions():
    return add(lambda x, _: x, lambda x, _: x)(Tensor(X), Tensor(X)), X + X


def case_values():
    return add([2, 3], mstype.float32)(Tensor(X), Tensor(X)), X + X


def case_shape_as_tuple():
    return add((2, 3), mstype.float32)(Tensor(X), Tensor(X)), X + X


def case_tuple_of_one():
    results = add(([2, 3],), (mstype.float32,))(Tensor(X), Tensor(X))
    assert isinstance(results, tuple) and len(results) == 1
    return results[0], X + X


def case_function_to_a_tuple_of_one():
    results = add(lambda x, _: (x,), lambda x, _: (x,))(Tensor(X), Tensor(X))
    assert isinstance(results, tuple) and len(results) == 1
    return results[0], X + X


def case_rank_zero():
    return add([], mstype.float32)(Tensor(np.float32(2)), Tensor(np.float32(3))), np.float32(5)


def case_strided_inputs():
    return add(lambda x, _: x, lambda x, _: x)(Tensor(X).transpose((1, 0)), Tensor(X.T[:, ::-1].copy())), X.T + X.T[:, ::-1]


def case_chained():
    op = add(lambda x, _: x, lambda x, _: x)
    x = Tensor(X)
    for _ in range(5):
        x = op(x, x)
    return x, X * 32


def case_three_outputs():
    op = ops.Custom(f"{KERNELS}/statistics.cc:Statistics", ([2], [2], [2]), (mstype.float32,) * 3, "aot")
    return list(op(Tensor(X))), STATISTICS


def case_three_outputs_by_functions():
    op = ops.Custom(f"{KERNELS}/statistics.cc:Statistics", lambda x: ([x[0]],) * 3, lambda x: (x,) * 3, "aot")
    return list(op(Tensor(X))), STATISTICS


class Spread(Cell):
    def __init__(self):
        super(Spread, self).__init__()
        info = CustomRegOp("outputs_spread").input(0, "x").output(0, "least").output(1, "greatest").output(2, "sum")
        info = info.dtype_format(*[DataType.F32_Default] * 4).target("CPU").get_op_info()
        shapes, dtypes = ([2], [2], [2]), (mstype.float32,) * 3
        self.program = ops.Custom(f"{KERNELS}/statistics.cc:Statistics", shapes, dtypes, "aot", None, info)
        self.sub = ops.Sub()
        self.mul = ops.Mul()

    def construct(self, x):
        least, greatest, total = self.program(x)
        return self.mul(self.sub(greatest, least), total)


def case_three_outputs_in_a_network():
    return Spread()(Tensor(X)), (X.max(1) - X.min(1)) * X.sum(1)


def case_other_dtype_and_rank():
    op = ops.Custom(f"{KERNELS}/dtypes.cc:Measure", [2], mstype.int64, "aot")
    return [op(Tensor(X)), op(Tensor(np.ones((2, 1, 3), np.float16)))], [np.array([2, 6]), np.array([3, 6])]


NAMES = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def case_dtypes_copied():
    op = ops.Custom(f"{KERNELS}/dtypes.cc:Copy", lambda x: x, lambda x: x, "aot")
    arrays = [np.array([[0, 1], [2, 100]]).astype(name) for name in NAMES] + [np.array([True, False])]
    return [op(Tensor(array)) for array in arrays], arrays


def case_dtype_names():
    op = ops.Custom(f"{KERNELS}/dtypes.cc:Name", [16], mstype.uint8, "aot")
    kinds = [getattr(mstype, name) for name in NAMES] + [mstype.bool_, mstype.bfloat16]
    expected = [np.frombuffer(name.encode().ljust(16, b"\0"), np.uint8) for name in [*NAMES, "bool", "bfloat16"]]
    return [op(Tensor([1], kind)) for kind in kinds], expected


def case_registered_dtypes():
    info = CustomRegOp("outputs_registered").input(0, "x").output(0, "y")
    info = info.dtype_format(DataType.F32_Default, DataType.F32_Default).dtype_format(DataType.I64_Default, DataType.I64_Default)
    op = ops.Custom(f"{KERNELS}/dtypes.cc:Copy", lambda x: x, lambda x: x, "aot", reg_info=info.target("CPU").get_op_info())
    return [op(Tensor([1.5])), op(Tensor([2]))], [np.array([1.5], np.float32), np.array([2])]
