"""Classes and modes that decide calls: `__torch_function__`."""

import numpy as np
import pytest

import opforge as torch
from opforge.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    get_overridable_functions,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
    is_tensor_method_or_property,
    resolve_name,
    wrap_torch_function,
)
from test_registry import EXACT, array, call, each, leaves, mapped, tensors


class Plain(torch.Tensor):
    """A subclass with nothing of its own."""


class Noting(torch.Tensor):
    """A subclass that notes the calls it is in."""

    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


class Diagonal:
    """No tensor: `n` times `value` on a diagonal."""

    def __init__(self, n, value):
        self.n, self.value = n, value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in (torch.mean, torch.Tensor.mean):
            return args[0].value / args[0].n
        if func in (torch.add, torch.Tensor.add):
            dense = (a.value * torch.eye(a.n) if isinstance(a, cls) else a for a in args)
            return torch.add(*dense)
        return NotImplemented


def plain(*shape):
    return torch.ones(*shape).as_subclass(Plain)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + 1,
        lambda x: 1 - x,
        lambda x: torch.ones(3) @ x,
        lambda x: x[0],
        lambda x: x.T,
        lambda x: x.detach(),
        lambda x: x.to(torch.float64),
        lambda x: x.sum(dim=0),
        lambda x: torch.exp(x),
        lambda x: torch.stack([torch.zeros(3, 3), x]),
        lambda x: torch.nn.functional.linear(torch.ones(2, 3), x),
        lambda x: torch.nn.functional.softmax(x, 0),
        lambda x: x.max(0).values,
        lambda x: x.split(1)[2],
        lambda x: torch.nn.Parameter(torch.ones(3)) * x,
        lambda x: next(iter(x)),
    ],
)
def test_results_are_of_the_subclass(call):
    result = call(plain(3, 3))
    assert type(result) is Plain
    np.testing.assert_array_equal(result.detach().numpy(), call(torch.ones(3, 3)).detach().numpy())


@each([case for case in EXACT if any(isinstance(leaf, np.ndarray) for leaf in leaves(case.args))])
def test_results_of_every_function_are_of_the_subclass(case):
    expected = leaves(call(case, tensors(case.args)))
    found = leaves(call(case, mapped(case.args, lambda a: torch.tensor(a).as_subclass(Plain))))
    for result, plain_result in zip(found, expected, strict=True):
        if isinstance(plain_result, torch.Tensor):
            assert type(result) is Plain
            np.testing.assert_array_equal(array(result), array(plain_result))


def test_results_in_place_are_the_receiver():
    x = plain(2)
    before = x
    x += 1
    assert x is before and x.mul_(3) is before
    assert x.tolist() == [6.0, 6.0]


def test_gradients_flow_through_subclasses():
    leaf = torch.ones(3, requires_grad=True)
    x = leaf.as_subclass(Plain)
    ((x * 3) ** 2).sum().backward()
    assert leaf.grad.tolist() == [18.0] * 3
    assert type(leaf.grad) is torch.Tensor


def test_what_is_read_is_no_tensor():
    x = plain(2, 3)
    assert tuple(x.shape) == (2, 3) and x.size(1) == 3 and x.dim() == 2 and len(x) == 2
    assert x.dtype is torch.float32 and x.requires_grad is False
    assert type(x.numpy()) is np.ndarray and x.sum().item() == 6.0


def test_the_more_special_class_decides():
    class Special(Plain):
        pass

    special = torch.ones(2).as_subclass(Special)
    assert type(plain(2) + special) is Special and type(special + plain(2)) is Special

    class Unrelated(torch.Tensor):
        pass

    with pytest.raises(TypeError):
        plain(2) + torch.ones(2).as_subclass(Unrelated)


def test_calls_are_shown_with_their_functions():
    x = torch.ones(2).as_subclass(Noting)
    Noting.calls.clear()
    2 - (x + 1).relu()
    x[0] = 3
    x += 1
    torch.cat([x, torch.ones(1)])
    torch.nn.functional.max_unpool1d(x[None, None], torch.arange(2)[None, None], 2)
    assert Noting.calls == ["add", "relu", "__rsub__", "__setitem__", "add_", "cat", "__getitem__", "max_unpool1d"]


def test_calls_are_shown_as_what_the_class_has():
    seen = []

    class Seeing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    names = "to clone detach requires_grad_ contiguous new_zeros float __getitem__ exp".split()
    x = torch.ones(2).as_subclass(Seeing)
    arguments = {"to": (torch.float64,), "new_zeros": (3,), "__getitem__": (0,)}
    for name in names:
        assert type(getattr(x, name)(*arguments.get(name, ()))) is Seeing
        assert seen[0] == getattr(torch.Tensor, name)
        seen.clear()


def test_parameters_and_buffers_have_plain_results():
    for x in (torch.nn.Parameter(torch.ones(2)), torch.nn.Buffer(torch.ones(2))):
        assert type(x + 1) is torch.Tensor
        assert not has_torch_function((x,))


def test_a_class_that_is_no_tensor():
    diagonal = Diagonal(2, 4.0)
    assert torch.mean(diagonal) == 2.0
    assert torch.add(diagonal, torch.ones(2, 2)).tolist() == [[5.0, 1.0], [1.0, 5.0]]
    assert (torch.ones(2, 2) + diagonal).tolist() == [[5.0, 1.0], [1.0, 5.0]]
    with pytest.raises(TypeError, match="exp"):
        torch.exp(diagonal)
    with pytest.raises(TypeError):
        torch.ones(2) * diagonal


def test_disabled_classes_are_plain():
    x = plain(2)
    with DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor and type(x.detach()) is torch.Tensor
    assert type(x + 1) is Plain


class Counting(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(resolve_name(func))
        return func(*args, **(kwargs or {}))


def test_modes_see_calls_of_plain_tensors():
    with Counting() as outer:
        y = torch.ones(2, 2)
        with Counting() as inner:
            y = torch.nn.functional.linear(y, y) + 1
        y.exp()
    y.exp()
    assert inner.seen == ["torch.nn.functional.linear", "torch.Tensor.add"]
    assert outer.seen == ["torch.ones", *inner.seen, "torch.Tensor.exp"]


def test_modes_end_with_errors_and_threads_have_their_own():
    from threading import Thread

    mode = Counting()
    with pytest.raises(ZeroDivisionError), mode:
        1 / 0
    torch.ones(1)
    assert mode.seen == []
    with mode:
        thread = Thread(target=lambda: torch.ones(1).exp())
        thread.start()
        thread.join()
        with DisableTorchFunction():
            torch.ones(1)
    assert mode.seen == []


def test_a_mode_changes_arguments():
    class Double(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if func is torch.zeros:
                kwargs.setdefault("dtype", torch.float64)
            return func(*args, **kwargs)

    with Double():
        assert torch.zeros(2).dtype is torch.float64


def test_functions_of_programs():
    def scale(x, factor):
        if has_torch_function((x,)):
            return handle_torch_function(scale, (x,), x, factor)
        return x * factor

    @wrap_torch_function(lambda x: (x,))
    def triple(x):
        return x * 3

    assert scale(torch.ones(1), 2).tolist() == [2.0] and triple(torch.ones(1)).tolist() == [3.0]
    assert type(scale(plain(1), 2)) is Plain and type(triple(plain(1))) is Plain
    with pytest.raises(TypeError, match="scale"):
        scale(Diagonal(1, 2.0), 2)


def test_names():
    assert resolve_name(torch.add) == "torch.add"
    assert resolve_name(torch.Tensor.add) == "torch.Tensor.add"
    assert resolve_name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert resolve_name(print) is None
    assert is_tensor_method_or_property(torch.Tensor.add) and not is_tensor_method_or_property(torch.add)
    assert is_tensor_like(torch.ones(1)) and is_tensor_like(Diagonal(1, 1.0)) and not is_tensor_like(1.0)


def test_overridable_functions_are_shown():
    functions = get_overridable_functions()
    assert torch.add in functions[torch] and torch.Tensor.add in functions[torch.Tensor]
    assert torch.tensor not in functions[torch]
    assert torch.nn.functional.linear in functions[torch.nn.functional]


def test_graphs_are_not_made_of_such_calls():
    calls = []

    @torch.compile
    def double(x):
        calls.append(type(x))
        return x * 2

    with pytest.warns(UserWarning, match="runs as it is"):
        assert type(double(plain(2))) is Plain
    with Counting() as mode:
        double(torch.ones(2))
    assert "torch.Tensor.mul" in mode.seen


def test_subclasses_see_what_is_assigned_to_properties():
    class Around(torch.nn.Parameter):
        """A parameter whose properties are those of another."""

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            args = [arg.inner if isinstance(arg, Around) else arg for arg in args]
            return func(*args, **(kwargs or {}))

    outer, inner = Around(torch.zeros(1)), torch.ones(2, requires_grad=True)
    outer.__dict__["inner"] = inner
    (inner * 3).sum().backward()
    assert outer.grad.tolist() == [3, 3]
    outer.grad = None
    assert inner.grad is None
    outer.grad = torch.ones(2)
    assert inner.grad.tolist() == [1, 1]
    del outer.grad
    assert inner.grad is None
    outer.requires_grad = False
    assert not inner.requires_grad
