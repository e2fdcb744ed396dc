"""What kernels and functions get of arguments that are not tensors of the registered dtype: conversions, numbers, lists, copies."""

import os

import numpy as np

import mindspore as ms
import mindspore.ops as ops
from mindspore import Parameter, ParameterTuple, Tensor
from mindspore.nn import Cell
from mindspore.ops import CustomRegOp, DataType
from mindspore.ops import operations as P

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernels")
ms.set_context(device_target="CPU")
X = np.array([1.0, 2.0, 3.0], np.float32)
Y = np.array([4.0, 5.0, 6.0], np.float32)


def registered(dtype, inputs=1, name="arguments"):
    info = CustomRegOp(name)
    for i in range(inputs):
        info = info.input(i, "x" + str(i))
    return info.output(0, "y").dtype_format(*[dtype] * (inputs + 1)).target("CPU").get_op_info()


def add(**options):
    return ops.Custom(f"{KERNELS}/add.cc:Add", lambda x, *_: x, lambda x, *_: x, "aot", **options)


def case_float64_for_float32():
    op = add(reg_info=registered(DataType.F32_Default, 2))
    return op(Tensor(X.astype(np.float64)), Tensor(Y.astype(np.float64))), (X + Y).astype(np.float64)


def case_int64_for_int32():
    op = ops.Custom(f"{KERNELS}/dtypes.cc:Copy", lambda x: x, ms.int32, "aot", reg_info=registered(DataType.I32_Default))
    return op(Tensor([1, 2, 3])), np.array([1, 2, 3], np.int32)


def case_pyfunc_int64_for_int32():
    kinds = []

    def function(x):
        kinds.append(str(x.dtype))
        return x

    result = ops.Custom(function, lambda x: x, ms.int32, "pyfunc", reg_info=registered(DataType.I32_Default))(Tensor([1, 2]))
    result.asnumpy()
    assert kinds == ["int32"]
    return result, np.array([1, 2], np.int32)


def case_pyfunc_writes_to_its_input():
    def function(x):
        x -= x.mean()
        return x

    x = Tensor(X)
    result = ops.Custom(function, lambda x: x, lambda x: x, "pyfunc")(x)
    return [result, x], [X - 2, X]


def case_pyfunc_of_transposed():
    op = ops.Custom(lambda x: np.frombuffer(x.tobytes(), np.float32), [6], ms.float32, "pyfunc")
    return op(Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)).T), np.array([0, 3, 1, 4, 2, 5], np.float32)


def case_pyfunc_scalar():
    return ops.Custom(lambda x: x.max(), [1], lambda x: x, "pyfunc")(Tensor(X)), np.array([3.0], np.float32)


def case_tuple_of_inputs():
    op = ops.Custom(f"{KERNELS}/add.cc:Add", lambda both: both[0], lambda both: both[0], "aot")
    return op((Tensor(X), Tensor(Y))), X + Y


def case_add_prim_attr():
    op = add().add_prim_attr("primitive_target", "CPU")
    assert isinstance(op, ops.PrimitiveWithInfer) and P.Custom is ops.Custom
    return op(Tensor(X), Tensor(Y)), X + Y


def case_indices_are_int32():
    x = Tensor(np.array([3.0, 1.0, 2.0], np.float32))
    results = [x.argmin(), x.argsort(), x.sort()[1], x.topk(2)[1], Tensor([1, 2], ms.int8).cumsum(0), x.argmax()]
    expected = [np.int32(1), np.array([1, 2, 0], np.int32), np.array([1, 2, 0], np.int32), np.array([0, 2], np.int32)]
    return results, [*expected, np.array([1, 3], np.int32), np.int64(0)]


class Pair(Cell):
    def construct(self, pair):
        return pair[0] * pair[1]

    def bprop(self, pair, out, dout):
        return ((dout * 10, dout * 20),)


class Tuple(Cell):
    def __init__(self):
        super().__init__()
        self.weights = ParameterTuple((Parameter(Tensor(X), name="p"), Parameter(Tensor(Y))))

    def construct(self, x):
        return x * self.weights[0] + self.weights[1]


def pair_of(a, b):
    return Pair()((a, b))


def case_bprop_of_a_tuple():
    return list(ms.grad(pair_of, (0, 1))(Tensor(X), Tensor(Y))), [np.full(3, 10, np.float32), np.full(3, 20, np.float32)]


def case_parameters_in_a_tuple():
    net = Tuple()
    assert [parameter.name for parameter in net.trainable_params()] == ["p", "Parameter$1"]
    return list(ms.grad(net, None, net.trainable_params())(Tensor(X))), [X, np.ones(3, np.float32)]


def dictionary_of(a):
    return {"loss": a * a}


def case_result_in_a_dictionary():
    return ms.grad(dictionary_of)(Tensor(X)), 2 * X


def case_arguments_by_name():
    return list(ops.GradOperation(get_all=True)(pair_of)(b=Tensor(X), a=Tensor(Y))), [np.full(3, 20, np.float32), np.full(3, 10, np.float32)]
