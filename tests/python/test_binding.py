"""How arguments reach the declared functions: by position, by name, as overloads, in all of Python's number types; and what errors say."""

import inspect

import numpy as np
import pytest

import opforge as torch

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def same(tensor, expected):
    return np.asarray(tensor).tolist() == np.asarray(expected).tolist()


# What binds: a call, and its value


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # By position, by name, defaults.
        (lambda: torch.add(X, X), 2 * X.numpy()),
        (lambda: torch.add(X, other=X), 2 * X.numpy()),
        (lambda: torch.add(other=X, input=X), 2 * X.numpy()),
        (lambda: torch.add(X, X, alpha=3), 4 * X.numpy()),
        (lambda: X.add(X, alpha=3), 4 * X.numpy()),
        (lambda: torch.sum(X, 0, True), [[4, 6]]),
        (lambda: torch.sum(X, keepdim=True, dim=0), [[4, 6]]),
        (lambda: torch.sum(X, dim=None), 10),
        # numpy's names.
        (lambda: X.sum(axis=0, keepdims=True), [[4, 6]]),
        (lambda: torch.add(x=X, x2=X), 2 * X.numpy()),
        (lambda: torch.softmax(X, axis=0).shape, [2, 2]),
        # Lists of numbers: as a tuple, as a list, one by one, one alone.
        (lambda: X.reshape((4, 1)), [[1], [2], [3], [4]]),
        (lambda: X.reshape([4, 1]), [[1], [2], [3], [4]]),
        (lambda: X.reshape(4, 1), [[1], [2], [3], [4]]),
        (lambda: X.reshape(4), [1, 2, 3, 4]),
        (lambda: torch.zeros(2, 1), [[0], [0]]),
        (lambda: torch.zeros((2, 1)), [[0], [0]]),
        (lambda: torch.zeros(size=(2, 1)), [[0], [0]]),
        (lambda: torch.zeros(torch.ones(2, 1).shape), [[0], [0]]),
        (lambda: X.permute(1, 0), [[1, 3], [2, 4]]),
        (lambda: X.permute((1, 0)), [[1, 3], [2, 4]]),
        (lambda: X.sum((0, 1)), 10),
        # Numbers of numpy's, of tensors', truth values.
        (lambda: X.sum(np.int64(0)), [4, 6]),
        (lambda: X.sum(torch.tensor(0)), [4, 6]),
        (lambda: X.reshape(np.int32(4)), [1, 2, 3, 4]),
        (lambda: X + np.float32(1), [[2, 3], [4, 5]]),
        (lambda: np.float64(1) + X, [[2, 3], [4, 5]]),
        (lambda: X * True, [[1, 2], [3, 4]]),
        (lambda: X.sum(0, np.True_), [[4, 6]]),
        (lambda: torch.add(X, X, alpha=np.int8(2)), 3 * X.numpy()),
        (lambda: torch.add(X, X, alpha=torch.tensor(2)), 3 * X.numpy()),
        (lambda: torch.add(1, X), [[2, 3], [4, 5]]),
        # Dtypes under all their names.
        *[(lambda d=d: X.sum(dtype=d), 10) for d in (torch.float64, "float64", float, np.float64, np.dtype("f8"), torch.double)],
        # A device, or its name.
        (lambda: torch.zeros(1, device="cpu"), [0]),
        (lambda: torch.zeros(1, device=torch.device("cpu", 0)), [0]),
    ],
)
def test_binds(call, expected):
    assert same(call(), expected)


def test_dtypes_by_name_are_the_same_objects():
    assert X.sum(dtype=np.float64).dtype is torch.float64
    assert X.to(float).dtype is torch.float64
    assert torch.zeros(1, dtype=bool).dtype is torch.bool


# What does not: a call, and what its message names


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: torch.add(), ["add()", "missing", "'input'", "accepted"]),
        (lambda: torch.add(X), ["add()", "missing", "'other'", "Tensor[2, 2] of float32"]),
        (lambda: X.add(), ["add()", "missing", "'other'"]),
        (lambda: torch.add(X, X, 3), ["add()", "takes 2 positional", "3 were given"]),
        (lambda: torch.add(X, X, beta=3), ["add()", "unexpected", "'beta'"]),
        (lambda: torch.add(X, X, other=X), ["add()", "multiple values", "'other'"]),
        (lambda: torch.add(X, "one"), ["add()", "'other'", "Tensor or Number", "str 'one'"]),
        (lambda: torch.add(X, None), ["add()", "'other'", "None"]),
        (lambda: torch.add(X, X, alpha=[1]), ["add()", "'alpha'", "Number", "list [1]"]),
        (lambda: torch.sum(X, 0.5), ["sum()", "'dim'", "int", "float 0.5"]),
        (lambda: torch.sum(X, True), ["sum()", "'dim'", "bool True"]),
        (lambda: torch.sum(X, 0, 1), ["sum()", "'keepdim'", "bool", "int 1"]),
        (lambda: torch.sum(X, dtype="float31"), ["sum()", "'dtype'", "float31"]),
        (lambda: torch.sum([1, 2]), ["sum()", "'input'", "Tensor", "list [1, 2]"]),
        (lambda: torch.zeros(2.0), ["zeros()", "'size'", "float 2.0"]),
        (lambda: torch.zeros(2**70), ["zeros()", "'size'", "int"]),
        (lambda: torch.zeros((2, "3")), ["zeros()", "'size'", "tuple (2, '3')"]),
        (lambda: torch.relu(X.numpy()), ["relu()", "'input'", "Tensor", "ndarray"]),
        (lambda: torch.add(X, X, out=5), ["add()", "'out'", "Tensor", "int 5"]),
        (lambda: torch.sort(X, out=X), ["sort()", "'out'", "a tuple of 2 Tensors", "Tensor"]),
        (lambda: torch.sort(X, out=(X,)), ["sort()", "'out'", "a tuple of 2 Tensors"]),
        (lambda: torch.equal(X, X, out=X), ["equal()", "'out'", "no tensor"]),
        (lambda: X.relu_(1), ["relu_()", "takes 1 positional"]),
        (lambda: X + "a", ["unsupported operand", "Tensor", "str"]),
        (lambda: X < "a", ["not supported", "Tensor", "str"]),
    ],
)
def test_says_what_is_wrong(call, words):
    with pytest.raises(TypeError) as raised:
        call()
    assert not [word for word in words if word not in str(raised.value)], str(raised.value)


def test_unknown_devices_are_device_errors():
    for call in (lambda: torch.device("abacus"), lambda: X.to("abacus"), lambda: torch.zeros(1, device="abacus")):
        with pytest.raises(torch.DeviceError, match="'abacus'.* cpu, cuda, "):
            call()


def test_long_arguments_are_not_printed():
    with pytest.raises(TypeError) as raised:
        torch.sum(list(range(10**6)))
    assert len(str(raised.value)) < 500


# out= and in-place forms


def test_out():
    out = torch.zeros(2, 2)
    assert torch.add(X, X, out=out) is out and same(out, 2 * X.numpy())
    empty = torch.zeros(0)
    torch.add(X, X, out=empty)
    assert same(empty, 2 * X.numpy())
    wide = torch.zeros(2, 2, dtype=torch.float64)
    assert torch.add(X, X, out=wide).dtype is torch.float64
    assert same(torch.add(X, X, out=None), 2 * X.numpy())
    view = torch.zeros(4, 2)
    torch.add(X, X, out=view[::2])
    assert same(view, [[2, 4], [0, 0], [6, 8], [0, 0]])
    values, indices = torch.zeros(0), torch.zeros(0, dtype=torch.int64)
    torch.sort(X, descending=True, out=(values, indices))
    assert same(values, [[2, 1], [4, 3]]) and same(indices, [[1, 0], [1, 0]])


# It was computed elsewhere, and copied.
def test_out_needs_no_memory_besides():
    x = torch.ones(256, 256)
    # Products have memory for panels of their operands, which are small here.
    product = lambda multiply: lambda a, b, **out: multiply(a[:, :4], b[:4], **out)
    joined = lambda *tensors, **out: torch.cat(tensors, **out)
    for call in (torch.add, torch.maximum, torch.pow, torch.eq, product(torch.matmul), product(torch.mm), joined):
        out = torch.zeros_like(call(x, x))
        torch.synchronize()
        torch.reset_peak_memory_stats()
        before = torch.memory_allocated()
        call(x, x, out=out)
        torch.synchronize()
        assert torch.max_memory_allocated() - before < out.nbytes


def test_in_place():
    x = X.clone()
    assert x.add_(1) is x and same(x, [[2, 3], [4, 5]])
    before = x
    x += X
    x -= 1
    x *= torch.tensor([1, 2])
    assert x is before and same(x, [[2, 8], [6, 16]])
    assert x.T.sub_(1) is not x and same(x, [[1, 7], [5, 15]])


def test_operators_ask_the_other_side():
    class Other:
        def __radd__(self, other):
            return "mine"

    assert X + Other() == "mine"
    assert X.__add__("a") is NotImplemented
    assert (1 - X).tolist() == [[0, -1], [-2, -3]]
    assert (2**X).tolist() == [[2, 4], [8, 16]]
    assert (X @ X).tolist() == [[7, 10], [15, 22]]


def test_overloads_and_named_results():
    kinds = [torch.arange(3), torch.arange(1, 3), torch.arange(1, 7, 3), torch.arange(end=3)]
    assert [k.tolist() for k in kinds] == [[0, 1, 2], [1, 2], [1, 4], [0, 1, 2]]
    result = torch.sort(X)
    assert isinstance(result, tuple) and len(result) == 2


# What tools see


def test_signatures_and_documentation():
    assert str(inspect.signature(torch.relu)) == "(input, *, out=None)"
    assert str(inspect.signature(torch.Tensor.add)) == "(self, /, other, *, alpha=1)"
    assert "relu(Tensor input)" in torch.relu.__doc__
    assert torch.relu.__name__ == "relu" and torch.Tensor.add_.__name__ == "add_"
    bound = inspect.signature(torch.softmax).bind(X, 0)
    assert list(bound.arguments) == ["input", "dim"]


def test_subclasses_are_tensors():
    class Mine(torch.Tensor):
        pass

    assert issubclass(Mine, torch.Tensor) and isinstance(X, torch.Tensor)


def test_what_is_changed_in_place_may_be_given_by_name():
    for name in ("input", "x"):
        x = torch.tensor([-1.0, 1.0])
        assert torch.nn.functional.relu(inplace=True, **{name: x}) is x and x.tolist() == [0, 1]
    with pytest.raises(TypeError, match="input"):
        torch.nn.functional.relu(inplace=True)


# Exceptions


BASES = {
    "OpforgeError": [RuntimeError],
    "ShapeError": [RuntimeError, ValueError],
    "DTypeError": [RuntimeError, TypeError],
    "DeviceError": [RuntimeError, ValueError],
    "IndexError": [RuntimeError, IndexError],
    "ArgumentError": [RuntimeError, ValueError],
    "OutOfMemoryError": [RuntimeError, MemoryError],
    "AutogradError": [RuntimeError],
    "KernelError": [RuntimeError],
    "CustomOpError": [RuntimeError],
    "FormatError": [RuntimeError, ValueError],
    "UnsupportedError": [RuntimeError, NotImplementedError, TypeError],
}


@pytest.mark.parametrize("name", BASES)
def test_exceptions_derive_from_what_programs_catch(name):
    error = getattr(torch, name)
    assert issubclass(error, torch.OpforgeError) and error.__doc__ and error.__module__ == "opforge"
    assert all(issubclass(error, base) for base in BASES[name])


def test_what_is_made_of_numbers_takes_the_dtype_of_its_destination():
    for make in (torch.zeros, torch.ones, torch.empty):
        for destination in (torch.empty(0, dtype=torch.int16), torch.empty(2, dtype=torch.int16)):
            assert make(2, out=destination) is destination and destination.dtype == torch.int16 and destination.shape == (2,)
    for values in ([torch.ones(2)], (torch.ones(2),)):
        with pytest.raises(torch.DTypeError, match="casts to the destination"):
            torch.cat(values, out=torch.empty(2, dtype=torch.int16))
    with pytest.raises(torch.DTypeError, match="casts to the destination"):
        torch.add(torch.ones(2), 1, out=torch.empty(0, dtype=torch.int16))
