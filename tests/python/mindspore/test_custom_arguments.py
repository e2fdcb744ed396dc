"""Arguments of custom operators that are not tensors of the registered dtypes. Values were checked with MindSpore 2.10."""

import pathlib

import numpy as np
import pytest

import opforge
import opforge.mindspore as ms
from opforge.mindspore import Tensor, ops
from opforge.mindspore.ops import CustomRegOp, DataType
from opforge.mindspore.ops.operations.custom_ops import Custom

KERNELS = pathlib.Path(__file__).parent / "kernels"
X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
like = lambda x, *_: x  # noqa: E731


def registered(*dtypes):
    info = CustomRegOp("converted")
    for i in range(len(dtypes) - 1):
        info = info.input(i, f"x{i}")
    return info.output(0, "y").dtype_format(*dtypes).target("CPU").get_op_info()


def add(*args, **options):
    return Custom(f"{KERNELS}/add.cc:Add", like, like, "aot", *args, **options)


@pytest.mark.parametrize("dtype", [ms.float64, ms.float16])
def test_inputs_and_outputs_are_converted(dtype):
    op = add(lambda x, y, out, dout: (dout * y, dout * x), registered(*[DataType.F32_Default] * 3))
    assert op(X.astype(dtype), Y.astype(dtype)).dtype is dtype
    gradient = ms.grad(lambda x: op(x, Y.astype(dtype)))(X.astype(dtype))
    assert gradient.dtype is dtype and gradient.tolist() == [3, 4]
    assert op(X, Y).dtype is ms.float32


def test_other_dtypes_are_not_converted():
    with pytest.raises(TypeError, match="int32"):
        add(None, registered(*[DataType.F32_Default] * 3))(X.astype(ms.int32), Y)
    op = Custom(lambda x: x, like, like, reg_info=registered(DataType.I32_Default, DataType.I32_Default))
    with pytest.raises(TypeError, match="inputs of Float32"):
        op(X)


def test_numbers_and_lists():
    seen = []

    def shapes(*inputs):
        seen.append(inputs)
        return [2]

    def bprop(pair, out, dout):
        return ([dout * 2, dout * 3],)

    op = Custom(f"{KERNELS}/add.cc:Add", shapes, ms.float32, "aot", bprop)
    assert op([X, Y]).tolist() == [4, 6] and seen[-1] == ([[2], [2]],)
    assert [g.tolist() for g in ms.grad(lambda a, b: op([a, b]), (0, 1))(X, Y)] == [[2, 2], [3, 3]]
    name = Custom(f"{KERNELS}/dtypes.cc:Name", [16], ms.uint8, "aot")
    for number, dtype in ((2.5, b"float32"), (3, b"int64"), (True, b"bool")):
        assert bytes(name(number).asnumpy()).rstrip(b"\0") == dtype
    with pytest.raises(TypeError, match="an input is a NoneType"):
        op(X, None)


def test_python_functions_get_copies():
    def centred(x):
        x -= x.mean()
        return x

    Custom(centred, like, like)(X)
    assert X.tolist() == [1, 2]
    order = []
    Custom(lambda x: order.append(x.flags.c_contiguous) or x, like, like)(Tensor(np.ones((2, 3))).T)
    assert order == [True]


def test_results_of_python_functions():
    assert Custom(lambda x: x.max(), (1,), like)(X).tolist() == [2]
    assert Custom(lambda x: None, (), ())(X) == ()
    with pytest.raises(opforge.CustomOpError, match="returned None"):
        Custom(lambda x: None, like, like)(X)


def test_attributes():
    info = CustomRegOp("label").input(0, "x").output(0, "y").attr("label", "required", "str").target("CPU").get_op_info()
    op = Custom(f"{KERNELS}/dtypes.cc:Copy", like, like, "aot", reg_info=info)
    assert op(X, "text").tolist() == [1, 2]
    none = CustomRegOp("none").input(0, "x").output(0, "y").attr("factor", "required", "float", value=None).target("CPU").get_op_info()
    assert Custom(f"{KERNELS}/dtypes.cc:Copy", like, like, "aot", reg_info=none)(X).tolist() == [1, 2]
    scale = Custom(f"{KERNELS}/attributes.cc:Scale", like, like, "aot").add_prim_attr("factor", 3.0)
    assert scale(X).tolist() == [3, 6] and scale.factor == 3.0 and scale.get_attr_dict() == {"factor": 3.0}
    scale.init_prim_io_names(["x"], ["y"])
    assert scale.set_device("CPU")(X).tolist() == [3, 6] and isinstance(scale, ops.PrimitiveWithInfer)


def test_dtypes_as_types_of_tensors():
    assert Custom(lambda x: x, like, lambda x: ms.dtype.TensorType(ms.float64))(X).dtype is ms.float64


@pytest.mark.parametrize(("found", "message"), [(1.0, "converted: bprop returned a float for input 0"), ((1, 2, 3), "converted: bprop returned 3 gradients")])
def test_wrong_gradients(found, message):
    op = add(lambda x, y, out, dout: (found, None) if isinstance(found, float) else found, registered(*[DataType.F32_Default] * 3))
    with pytest.raises((TypeError, RuntimeError), match=message):
        ms.grad(op)(X, Y)
