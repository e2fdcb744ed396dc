"""Tensors and dtypes under MindSpore's names. What is expected was observed with MindSpore 2.10."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import opforge
import opforge.mindspore as ms
from opforge.mindspore import Tensor
from opforge.mindspore import dtype as mstype

TITLES = {
    "bool_": "Bool",
    "int8": "Int8",
    "int16": "Int16",
    "int32": "Int32",
    "int64": "Int64",
    "uint8": "UInt8",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float16": "Float16",
    "bfloat16": "BFloat16",
    "float32": "Float32",
    "float64": "Float64",
    "complex64": "Complex64",
    "complex128": "Complex128",
}


def matrix():
    return Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


def test_opforge_does_not_import_it():
    code = "import sys, opforge; print('opforge.mindspore' in sys.modules, opforge.mindspore.__name__)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "opforge.mindspore"]


# Dtypes


@pytest.mark.parametrize("name", TITLES)
def test_dtypes(name):
    dtype = getattr(mstype, name)
    assert getattr(ms, name) is dtype
    assert (str(dtype), repr(dtype)) == (TITLES[name], f"mindspore.{name.rstrip('_')}")
    assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype
    tensor = Tensor([0, 1], dtype)
    assert tensor.dtype is dtype and {dtype: 1}[tensor.dtype] == 1
    assert tensor.asnumpy().dtype == ms.dtype_to_nptype(dtype)
    assert tensor.astype(mstype.float32).tolist() == [0, 1]


def test_dtypes_of_python_and_numpy():
    assert [ms.pytype_to_dtype(kind) for kind in (bool, int, float, complex)] == [ms.bool_, ms.int64, ms.float64, ms.complex128]
    assert ms.pytype_to_dtype(np.int8) is ms.int8
    assert [ms.dtype_to_pytype(d) for d in (ms.bool_, ms.uint8, ms.bfloat16, ms.complex64)] == [bool, int, float, complex]
    with pytest.raises(NotImplementedError, match="dict"):
        ms.pytype_to_dtype(dict)
    with pytest.raises(TypeError, match="mindspore.float32.*not 3"):
        Tensor([1.0], 3)


# Making tensors


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, ms.int64, ()),
        (1.5, ms.float32, ()),
        (True, ms.bool_, ()),
        (1 + 2j, ms.complex128, ()),
        ([1, 2], ms.int64, (2,)),
        ([[1.0], [2.0]], ms.float32, (2, 1)),
        ([1 + 2j], ms.complex128, (1,)),
        ([], ms.float32, (0,)),
        (np.ones((2, 2)), ms.float64, (2, 2)),
        (np.float32(3), ms.float32, ()),
        (np.array([1, 2], np.int16), ms.int16, (2,)),
        (np.array([1 + 2j], np.complex64), ms.complex64, (1,)),
        ([Tensor([1, 2]), Tensor([3, 4])], ms.int64, (2, 2)),
    ],
    ids=str,
)
def test_made_of(data, dtype, shape):
    tensor = Tensor(data)
    assert (tensor.dtype, tensor.shape, tensor.ndim) == (dtype, shape, len(shape))
    assert tensor.size == int(np.prod(shape)) and type(tensor.shape) is tuple
    np.testing.assert_array_equal(tensor.asnumpy(), np.array(data) if not isinstance(data, list) or data else [])


def test_data_is_copied():
    array = np.ones(3, np.float32)
    tensor, shared = Tensor(array), Tensor.from_numpy(array)
    array[0] = 5
    assert tensor.tolist() == [1, 1, 1] and shared.tolist() == [5, 1, 1]
    other = Tensor(tensor)
    other[0] = 7
    assert tensor[0] == 1
    tensor.asnumpy()[1] = 9
    assert tensor.tolist() == [1, 9, 1]


def test_given_dtypes():
    assert Tensor([0.1], ms.float64).item() == 0.1
    assert Tensor([1.5, 2.7], ms.int32).tolist() == [1, 2]
    assert Tensor(np.ones(2), ms.float16).dtype is ms.float16
    assert Tensor(Tensor([1, 2]), ms.float32).dtype is ms.float32
    assert ms.tensor(1.5, ms.float16).dtype is ms.float16


@pytest.mark.parametrize("data", [None, "abc", [1, "a"], {}])
def test_no_data(data):
    with pytest.raises(TypeError):
        Tensor(data)


def test_declared_shapes():
    assert Tensor(shape=[4, None], dtype=ms.float32).shape == (4, -1)
    assert Tensor(shape=None, dtype=ms.float32).shape == Tensor(dtype=ms.float32).shape == (-2,)
    assert repr(Tensor(shape=[4, None], dtype=ms.float32)) == "Tensor(shape=[4, -1], dtype=Float32, value=\n)"
    assert Tensor(shape=(2, 3), dtype=ms.int8).tolist() == [[0, 0, 0], [0, 0, 0]]
    with pytest.raises(TypeError, match="shape and a dtype"):
        Tensor(shape=(2, 3))


# Printing


@pytest.mark.parametrize(
    ("tensor", "text", "described"),
    [
        (Tensor([10.0, 10.0]), "[10. 10.]", "Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+01,  1.00000000e+01])"),
        (Tensor(1), "1", "Tensor(shape=[], dtype=Int64, value= 1)"),
        (Tensor(1.5), "1.5", "Tensor(shape=[], dtype=Float32, value= 1.5)"),
        (Tensor(True), "True", "Tensor(shape=[], dtype=Bool, value= True)"),
        (Tensor(1 + 2j), "(1+2j)", "Tensor(shape=[], dtype=Complex128, value= 1+2j)"),
        (Tensor([[True, False]]), "[[ True False]]", "Tensor(shape=[1, 2], dtype=Bool, value=\n[[ True, False]])"),
        (Tensor((1, 2), ms.float16), "[1. 2.]", "Tensor(shape=[2], dtype=Float16, value= [ 1.0000e+00,  2.0000e+00])"),
        (Tensor([1.5], ms.bfloat16), "[1.500000]", "Tensor(shape=[1], dtype=BFloat16, value= [1.5])"),
        (Tensor([1, -20]), "[  1 -20]", "Tensor(shape=[2], dtype=Int64, value= [  1, -20])"),
        (Tensor(np.zeros((0, 3), np.float32)), "[]", "Tensor(shape=[0, 3], dtype=Float32, value=\n)"),
    ],
)
def test_printed(tensor, text, described):
    assert (str(tensor), repr(tensor)) == (text, described)


def test_printed_as_numpy_does():
    array = np.arange(30, dtype=np.float32).reshape(5, 6) / 7
    assert str(Tensor(array)) == str(array) and f"{Tensor(array)}" == str(array)
    assert f"{Tensor(1.23456):.2f}" == "1.23"


# Operators


def test_results_are_tensors_of_this_face():
    x = matrix()
    results = [
        x + x,
        1 - x,
        -x,
        abs(x),
        x @ x.T,
        x > 1,
        x[0],
        x.sum(),
        x.exp(),
        x.reshape(3, 2),
        x.T,
        *x,
        *x.split(1),
        x.max(1)[0],
        x.astype(ms.int8),
    ]
    assert {type(result) for result in results} == {Tensor}


def test_arithmetic():
    x, array = matrix(), matrix().asnumpy()
    pairs = [
        (x + 1, array + 1),
        (1 + x, 1 + array),
        (x - 1, array - 1),
        (1 - x, 1 - array),
        (x * 2, array * 2),
        (x / 2, array / 2),
        (x // 2, array // 2),
        (x % 2, array % 2),
        (x**2, array**2),
        (-x, -array),
        (x @ x.T, array @ array.T),
        (x == 1, array == 1),
        (x != 1, array != 1),
        (x <= 2, array <= 2),
        ((x > 1) & (x < 4), (array > 1) & (array < 4)),
        (~(x > 1), ~(array > 1)),
    ]
    for ours, expected in pairs:
        np.testing.assert_array_equal(ours.asnumpy(), expected)
    assert not (x == None) and x != "a"  # noqa: E711
    with pytest.raises(TypeError):
        x + "a"
    with pytest.raises(ValueError, match=r"\[2, 3\].*\[2\]"):
        x + Tensor([1.0, 2.0])


@pytest.mark.parametrize(
    ("left", "right", "dtype"),
    [
        (ms.int32, ms.int64, ms.int64),
        (ms.int32, ms.float16, ms.float16),
        (ms.int64, ms.float32, ms.float32),
        (ms.uint8, ms.int8, ms.int16),
        (ms.float16, ms.bfloat16, ms.float32),
        (ms.bool_, ms.bool_, ms.bool_),
        (ms.float32, ms.float64, ms.float64),
    ],
    ids=str,
)
def test_promotion(left, right, dtype):
    assert (Tensor([1], left) + Tensor([1], right)).dtype is dtype


def test_numbers_are_weak():
    assert (Tensor([1], ms.uint8) + 1).dtype is ms.uint8
    assert (Tensor([1], ms.uint8) + 1.5).dtype is ms.float32
    assert (Tensor([1], ms.float16) * 2.5).dtype is ms.float16
    assert (Tensor([1], ms.int32) / 2).dtype is ms.float32


def test_augmented_assignment_makes_a_new_tensor():
    x = matrix()
    before = x
    x += 1
    x *= 2.5
    assert before.tolist() == [[0, 1, 2], [3, 4, 5]] and x[0, 0] == 2.5
    count = Tensor([1, 2])
    count += 1.5
    assert count.dtype is ms.float32


def test_indexing():
    x, array = matrix(), matrix().asnumpy()
    for key in (0, -1, (0, 1), (slice(None), 1), slice(0, 0), slice(None, None, 2), ..., None, [0, 1], ([0, 1], [1, 2])):
        np.testing.assert_array_equal(x[key].asnumpy(), array[key])
    assert x[x > 2].tolist() == [3, 4, 5]
    assert x[Tensor([True, False])].tolist() == [[0, 1, 2]]
    x[0, 1] = 50
    x[x > 4] = 0
    assert x.tolist() == [[0, 0, 2], [3, 4, 0]]
    row = x[0]
    row[0] = 99
    assert x[0, 0] == 99
    with pytest.raises(IndexError):
        x[5]


def test_methods():
    x, array = matrix(), matrix().asnumpy()
    pairs = [
        (x.sum(axis=1), array.sum(axis=1)),
        (x.sum(0, keepdims=True), array.sum(0, keepdims=True)),
        (x.mean(), array.mean()),
        (x.max(axis=1), array.max(axis=1)),
        (x.min(axis=0), array.min(axis=0)),
        (x.max(), array.max()),
        (x.argmax(axis=1), array.argmax(axis=1)),
        (x.var(), array.var()),
        (x.var(0, 1), array.var(0, ddof=1)),
        (x.std(axis=1), array.std(axis=1)),
        (x.clip(1, 2), array.clip(1, 2)),
        (x.transpose(), array.T),
        (x.transpose(1, 0), array.T),
        (x.transpose((1, 0)), array.T),
        (x.swapaxes(0, 1), array.T),
        (x.expand_dims(0), array[None]),
        (x.reshape((3, 2)), array.reshape(3, 2)),
        (x.view(-1), array.ravel()),
        (x.fill(3), np.full_like(array, 3)),
        (x.copy(), array),
        (x.half(), array.astype(np.float16)),
        (x.int(), array.astype(np.int32)),
        (x.to(ms.float64), array.astype(np.float64)),
        (x.astype("int8"), array.astype(np.int8)),
        (x.type(ms.bool_), array.astype(bool)),
    ]
    for ours, expected in pairs:
        np.testing.assert_allclose(ours.asnumpy(), expected, rtol=1e-6)
        assert ours.asnumpy().dtype == np.asarray(expected).dtype
    values, indices = x.max(axis=1, return_indices=True)
    assert values.tolist() == [2, 5] and indices.tolist() == [2, 2] and x.max(1)[1].tolist() == [2, 2]
    assert Tensor(np.zeros((2, 3, 4))).transpose(0, 2).shape == (4, 3, 2)
    assert Tensor(np.zeros((2, 3, 4))).transpose(1, 2, 0).shape == (3, 4, 2)
    assert (x.nbytes, x.itemsize, x.strides, x.type(), x[0, 1].item()) == (24, 4, (12, 4), "Float32", 1.0)


def test_as_python_values():
    assert (bool(Tensor(1)), int(Tensor(3)), float(Tensor([2])), len(matrix()), 1 in matrix()) == (True, 3, 2.0, 2, True)
    with pytest.raises(ValueError):
        bool(matrix())
    with pytest.raises(TypeError):
        len(Tensor(1))
    assert np.asarray(matrix()).shape == (2, 3)
    assert opforge.tensor([1.0]).add(Tensor([2.0])).item() == 3


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "deepcopy", "pickle"])
def test_copies(copied):
    x = matrix()
    y = copied(x)
    assert type(y) is Tensor and y.tolist() == x.tolist()
