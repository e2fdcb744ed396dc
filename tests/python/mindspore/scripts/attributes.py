"""Attributes and workspaces."""

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


def declared(name, inputs=1, **attributes):
    info = CustomRegOp(name)
    for i in range(inputs):
        info = info.input(i, f"x{i}")
    info = info.output(0, "y").dtype_format(*[DataType.None_None] * (inputs + 1))
    for key, value in attributes.items():
        info = info.attr(key, "required", "all", value=value)
    return info.target("CPU").get_op_info()


def case_all_types():
    values = {
        "flag": True,
        "count": 3,
        "ratio": 0.25,
        "text": "opérateur",
        "ints": [1, 2, 3],
        "floats": [0.5, 1.5],
        "int_rows": [[1, 2], [3]],
        "float_rows": [[0.5], [1.0, 2.0]],
    }
    info = declared("attributes_all_types", **values)
    op = ops.Custom(f"{KERNELS}/attributes.cc:Attributes", [8], mstype.float32, "aot", reg_info=info)
    length = len(values["text"].encode())
    return op(Tensor([0.0])), np.array([1, 3, 0.25, length, 6, 2, 33, 8], np.float32)


def case_two_values():
    x = np.arange(4, dtype=np.float32)
    factors = (0.5, -3.0)
    results = []
    for i, factor in enumerate(factors):
        info = declared(f"attributes_two_values_{i}", factor=factor)
        op = ops.Custom(f"{KERNELS}/attributes.cc:Scale", lambda x: x, lambda x: x, "aot", reg_info=info)
        results.append(op(Tensor(x)))
    return results, [x * factor for factor in factors]


def case_none():
    op = ops.Custom(f"{KERNELS}/attributes.cc:Scale", lambda x: x, lambda x: x, "aot")
    return op(Tensor([1.0, 2.0])), np.array([1, 2], np.float32)


class Fused(Cell):
    def __init__(self, name, axis, keep_dims):
        super().__init__()
        info = declared(name, inputs=2, axis=axis, keep_dims=keep_dims)
        self.program = ops.Custom(f"{KERNELS}/sum_of_both.cc:SumOfBoth", None, mstype.float32, "aot", reg_info=info)

    def construct(self, x, y):
        return self.program(x, y)


def fused(name, axis, keep_dims, shapes, *declared_shape):
    """The results for each of the shapes, in a network whose inputs are of the declared shape."""
    net = Fused(name, axis, keep_dims)
    if declared_shape:
        dynamic = Tensor(shape=declared_shape[0], dtype=mstype.float32)
        net.set_inputs(dynamic, dynamic)
    results, expected = [], []
    for shape in shapes:
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        results.append(net(Tensor(x), Tensor(np.ones(shape, np.float32))))
        expected.append((x + 1).sum(axis, keepdims=keep_dims))
    return results, expected


def case_workspace():
    return fused("fused_rows", 1, False, [(4, 5)])


def case_workspace_keep_dims():
    return fused("fused_columns", 0, True, [(4, 5)])


def case_workspace_negative_axis():
    return fused("fused_negative", -2, False, [(2, 3, 4)])


def case_dynamic_shape():
    return fused("fused_dynamic", 1, False, [(4, 5), (4, 2), (4, 5)], [4, None])


def case_dynamic_rank():
    return fused("fused_rank", 0, True, [(4, 5), (3,)], None)
