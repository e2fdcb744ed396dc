"""`Custom`: what MindSpore's scripts do not show, such as errors, attributes of calls, and what becomes of kernel data."""

import gc
import json
import pathlib

import numpy as np
import pytest

import opforge
import opforge.mindspore as ms
from opforge.mindspore import Parameter, Tensor, nn, ops
from opforge.mindspore.ops import Custom, CustomRegOp, DataType, GradOperation, custom_info_register

KERNELS = pathlib.Path(__file__).parent / "kernels"
X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


def kernel(name, *args, **kwargs):
    return Custom(f"{KERNELS}/{name}", *args, func_type="aot", **kwargs)


def like(x, *_):
    return x


def declared(*attributes, name="test", dtypes=(), target="CPU", inputs=1):
    info = CustomRegOp(name)
    for i in range(inputs):
        info.input(i, f"x{i}")
    info.output(0, "y")
    for combination in dtypes:
        info.dtype_format(*combination)
    for args, kwargs in attributes:
        info.attr(*args, **kwargs)
    return info.target(target).get_op_info()


SCALE = (("factor", "required", "float"), {})


def scale(bprop=None, **options):
    return kernel("attributes.cc:Scale", like, like, bprop=bprop, reg_info=declared(SCALE, name="scale"), **options)


# Calls


def test_attributes_of_the_call():
    op = scale()
    assert op(X, 0.5).tolist() == [0.5, 1] and op(X, 4.0).tolist() == [4, 8] and op(X, 0.5).tolist() == [0.5, 1]
    assert op(X).tolist() == [1, 2]
    with pytest.raises(TypeError, match="scale"):
        op(X, 0.5, 0.5)
    with pytest.raises((TypeError, ValueError), match="scale.*factor"):
        op(X, {})


def test_attributes_of_the_call_reach_rules_and_bprop():
    seen = []

    def shapes(x, factor):
        seen.append(("shape", x, factor))
        return x

    def dtypes(x, factor):
        seen.append(("dtype", x, factor))
        return x

    def bprop(x, factor, out, dout):
        return dout * factor, 0.0

    op = kernel("attributes.cc:Scale", shapes, dtypes, bprop=bprop, reg_info=declared(SCALE))
    assert GradOperation()(lambda x: op(x, 0.5) * op(x, 3.0))(X).tolist() == [3, 6]
    assert ("shape", [2], []) in seen and ("dtype", ms.float32, ms.float32) in seen


def test_calls_have_as_many_tensors_as_are_declared():
    """Fewer reached the kernel, which read pointers that are not there."""
    add = kernel("add.cc:Add", like, like, reg_info=declared(name="add", inputs=2))
    assert add(X, Y).tolist() == [4, 6]
    for args in ((X,), (X, Y, X)):
        with pytest.raises(ValueError, match="add, inputs.*2 tensors"):
            add(*args)
    combined = kernel("add.cc:Add", like, like, reg_info=declared(name="add", inputs=2, dtypes=[[DataType.F32_Default] * 3]))
    assert combined(X, Y).tolist() == [4, 6]


def test_a_dynamic_input_is_any_number_of_tensors():
    info = CustomRegOp("add").input(0, "x", "dynamic").output(0, "y").dtype_format(DataType.F32_Default, DataType.F32_Default).target("CPU").get_op_info()
    add = kernel("add.cc:Add", like, like, reg_info=info)
    assert add([X, Y]).tolist() == add((X, Y)).tolist() == add(X, Y).tolist() == [4, 6]


def test_values_of_calls_have_the_declared_type():
    assert scale()(X, 2).tolist() == [2, 4]


def test_shapes_may_be_numbers_of_numpy():
    assert kernel("add.cc:Add", lambda x, y: [np.int64(2)], like)(X, Y).tolist() == [4, 6]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [("float", 2, 2.0), ("all", 2.5, 2.5), ("float", "0.5", 0.5), (None, 1.5, 1.5)],
)
def test_values_have_the_declared_type(kind, value, expected):
    info = declared((("factor", "required", kind), {"value": value}))
    assert kernel("attributes.cc:Scale", like, like, reg_info=info)(X).tolist() == [expected, 2 * expected]


def test_attributes_of_another_type_than_the_kernel_reads():
    op = kernel("attributes.cc:Scale", like, like, reg_info=declared((("factor", "required", "all"), {"value": 2})))
    with pytest.raises(opforge.CustomOpError, match="factor"):
        op(X).tolist()


@pytest.mark.parametrize(
    "wrap", [lambda info: info, json.dumps, lambda info: [info], lambda info: (declared(target="GPU"), json.dumps(info))]
)
def test_forms_of_reg_info(wrap):
    info = declared((("factor", "required", "float"), {"value": 2.5}))
    assert kernel("attributes.cc:Scale", like, like, reg_info=wrap(info))(X).tolist() == [2.5, 5]


def test_shapes_and_dtypes_of_the_library():
    options = {"attr": [{"name": "axis", "value": 0}, {"name": "keep_dims", "value": True}]}
    op = kernel("sum_of_both.cc:SumOfBoth", reg_info=options)
    assert op(Tensor(np.ones((3, 2), np.float32)), Tensor(np.ones((3, 2), np.float32))).tolist() == [[6, 6]]
    info = CustomRegOp().input(0, "x").output(0, "a").output(1, "b").output(2, "c").get_op_info()
    results = kernel("statistics.cc:Statistics", reg_info=info)(Tensor([[3.0, 1.0]]))
    assert [result.tolist() for result in results] == [[1], [3], [4]]


def test_one_network_with_inputs_of_many_shapes():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.add = kernel("add.cc:Add", like, like)
            self.bias = Parameter(X)

        def construct(self, x):
            return self.add(self.add(x, x), self.bias)

    net = Net()
    net.set_inputs(Tensor(shape=[None], dtype=ms.float32))
    assert net(Y).tolist() == [7, 10]
    for count in (1, 5, 0, 1000):
        x = np.arange(count, dtype=np.float32)
        assert net.add(Tensor(x), Tensor(x)).tolist() == (x + x).tolist()


def test_views_and_results_of_other_operators():
    op = kernel("add.cc:Add", like, like)
    x = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
    for view in (x.T, x[:, ::2], x[1], x.transpose()[1:3], ops.broadcast_to(x[0], (3, 4))):
        np.testing.assert_array_equal(op(view, view).asnumpy(), view.asnumpy() * 2)


def test_second_derivatives():
    square = Custom(lambda x: x * x, like, like, bprop=lambda x, out, dout: (dout * x * 2,))
    assert GradOperation()(GradOperation()(lambda x: square(x) * x))(X).tolist() == [6, 12]
    add = kernel("add.cc:Add", like, like, bprop=lambda x, y, out, dout: (dout * y, dout * x))
    assert GradOperation()(GradOperation()(lambda x: add(x, x)))(X).tolist() == [2, 2]


def test_results_are_of_this_face():
    results = kernel("statistics.cc:Statistics", ([1],) * 3, (ms.float32,) * 3)(Tensor([[1.0]]))
    assert type(results) is tuple and {type(result) for result in results} == {Tensor}
    assert type(scale()(X, 1.0)) is Tensor and repr(scale()) == "Prim[Custom]"


# Kernel data


def alive():
    return kernel("kept.cc:Alive", [], ms.int64)(Tensor(0)).item()


def forget_prepared_calls():
    """Makes calls of more kinds than the cache of prepared calls holds, so that it keeps none of before."""
    x = opforge.zeros(5000)
    for count in range(1, 5000):
        x[:count].add(1)


def test_kernel_data_is_destroyed_with_its_operator():
    before = alive()
    op = kernel("kept.cc:Keep", [], ms.int64)
    for count in (1, 2, 1, 2, 3):
        assert op(Tensor(np.zeros(count, np.float32))).item() == 1
    # Prepared once for each shape of the inputs.
    assert alive() == before + 3
    del op
    gc.collect()
    forget_prepared_calls()
    assert alive() == before


# Errors


def test_a_kernel_that_fails():
    op = kernel("add.cc:Fail", like, like, reg_info=declared(name="my_operator", inputs=2))
    with pytest.raises(opforge.CustomOpError, match=r"(?s)my_operator.*add.*Fail.*7") as error:
        op(X, X).tolist()
    assert isinstance(error.value, RuntimeError)
    assert kernel("add.cc:Add", like, like)(X, X).tolist() == [2, 4]


def test_what_the_kernel_refuses():
    op = kernel("add.cc:Add", like, like)
    with pytest.raises(opforge.CustomOpError, match="Add.*2"):
        op(Tensor([1]), Tensor([2])).tolist()


def test_dtypes_that_are_not_registered():
    f32, i64 = DataType.F32_Default, DataType.I64_Default
    for make in (
        lambda info: kernel("dtypes.cc:Copy", like, like, reg_info=info),
        lambda info: Custom(lambda x: x, like, like, reg_info=info),
    ):
        op = make(declared(name="picky", dtypes=[(f32, f32), (i64, i64)]))
        assert op(X).tolist() == [1, 2] and op(Tensor([3])).tolist() == [3]
        with pytest.raises(TypeError, match="(?is)picky.*int8.*float32.*int64"):
            op(Tensor([1], ms.int8))


@pytest.mark.skipif(opforge.cuda.is_available(), reason="there is a GPU")
def test_registered_for_a_device_that_is_not_there():
    op = kernel("add.cc:Add", like, like, reg_info=declared(target="GPU", inputs=2))
    with pytest.raises(opforge.CustomOpError, match="add.cc:Add: registered for GPU.*CPU"):
        op(X, X)


@pytest.mark.parametrize("name", ["nothing.so:Add", "nothing.cc:Add"])
def test_no_such_file(name):
    with pytest.raises((opforge.OpforgeError, OSError), match="nothing"):
        kernel(name, like, like)


def test_no_such_function():
    with pytest.raises(opforge.CustomOpError, match="Addd.*Add"):
        kernel("add.cc:Addd", like, like)


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (("./add.so", [2], ms.float32, "aot"), TypeError, "path:Name"),
        ((3, [2], ms.float32, "aot"), TypeError, "path:Name"),
        (("a:B", [2], ms.float32, "pyfunc"), TypeError, "must be a function"),
        ((like, [2], ms.float32, "tbe"), ValueError, "'aot' or 'pyfunc', not 'tbe'"),
        ((like, "a", ms.float32), TypeError, "out_shape.*str"),
        ((like, [2], "float32"), TypeError, "out_dtype.*str"),
        ((like, [2], ms.float32, "pyfunc", 3), TypeError, "bprop.*int"),
        ((like, [2], ms.float32, "pyfunc", None, 3), TypeError, "reg_info.*int"),
    ],
)
def test_refused(args, error, message):
    with pytest.raises(error, match=message):
        Custom(*args)


@pytest.mark.parametrize(
    ("out_shape", "out_dtype", "message"),
    [(lambda x: "abc", like, "out_shape"), (like, lambda x: "abc", "out_dtype"), (lambda x: None, like, "out_shape")],
)
def test_rules_that_give_something_else(out_shape, out_dtype, message):
    for op in (kernel("dtypes.cc:Copy", out_shape, out_dtype), Custom(lambda x: x, out_shape, out_dtype)):
        with pytest.raises(TypeError, match=message):
            op(X)


def test_errors_of_python_functions_are_raised_as_they_are():
    def broken(*_):
        raise ZeroDivisionError("mine")

    for op in (
        kernel("add.cc:Add", broken, like),
        kernel("add.cc:Add", like, broken),
        Custom(broken, like, like),
        Custom(like, broken, like),
    ):
        with pytest.raises(ZeroDivisionError, match="mine"):
            op(X, X)
    op = kernel("add.cc:Add", like, like, bprop=broken)
    with pytest.raises(ZeroDivisionError, match="mine"):
        GradOperation()(lambda x: op(x, x))(X)


# Gradients


@pytest.mark.parametrize(
    "make", [lambda b: kernel("add.cc:Add", like, like, bprop=b), lambda b: Custom(lambda x, y: x + y, like, like, bprop=b)]
)
def test_wrong_gradients(make):
    def gradient(op):
        return GradOperation()(lambda x: op(x, x))(X)

    for bprop, message in [
        (lambda x, y, out, dout: dout, "1 gradients.*2"),
        (lambda x, y, out, dout: (dout,) * 3, "3 gradients.*2"),
        (lambda x, y, out, dout: (dout[:1], dout), r"1.*2"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            gradient(make(bprop))
    with pytest.raises(RuntimeError, match="gradient|bprop"):
        gradient(make(None))
    assert make(None)(X, X).tolist() == [2, 4]


def test_gradients_that_are_left_out():
    op = kernel("add.cc:Add", like, like, bprop=lambda x, y, out, dout: (dout, None))
    assert [g.tolist() for g in GradOperation(get_all=True)(lambda x, y: op(x, y))(X, Y)] == [[1, 1], [0, 0]]


def test_parameters():
    frozen = Parameter(X, requires_grad=False)
    for op in (
        Custom(lambda x, w: x * w, like, like, bprop=lambda x, w, out, dout: (dout * w, dout * x)),
        kernel("add.cc:Add", like, like, bprop=lambda x, w, out, dout: (dout * w, dout * x)),
    ):
        assert [g.tolist() for g in ms.grad(lambda x: op(x, frozen), 0, [frozen])(Y)[1]] == [[0, 0]]
        assert op(Y, frozen).shape == (2,)


# Python functions


def test_results_of_python_functions():
    assert Custom(lambda x: x.astype(np.float64), like, like)(X).dtype is ms.float32
    assert Custom(lambda x, y: (x, y))(X, Y)[1].tolist() == [3, 4]
    assert Custom(lambda x, k: x * k, like, like)(X, 3.0).tolist() == [3, 6]
    assert Custom(lambda x: x + 1, like, like)(Tensor([1.5], ms.bfloat16)).dtype is ms.bfloat16
    kept = Custom(lambda x: x, like, like)(X)
    kept[0] = 100
    assert X[0] == 1


@pytest.mark.parametrize(
    ("function", "shape", "message"),
    [
        (lambda x: x, [3], r"output 0 has shape \[2\].*\[3\]"),
        (lambda x: (x, x), like, "returned 2 arrays.*1"),
        (lambda x: x, ([2], [2]), "returned 1 arrays.*2"),
        (lambda x: None, [], "returned None"),
    ],
)
def test_what_python_functions_must_not_return(function, shape, message):
    function.__name__ = "mine"
    with pytest.raises(opforge.CustomOpError, match=f"mine: .*{message}"):
        Custom(function, shape, (ms.float32,) * 2 if isinstance(shape, tuple) else ms.float32)(X)


def test_registered_with_a_decorator():
    @custom_info_register(declared(name="doubled", dtypes=[(DataType.F32_Default, DataType.F32_Default)]))
    def double(x):
        return x * 2

    op = Custom(double, like, like)
    assert op(X).tolist() == [2, 4]
    with pytest.raises(TypeError, match="doubled.*Int64.*Float32, Float32"):
        op(Tensor([1]))
