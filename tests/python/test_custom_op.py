"""Operators made of Python functions, and what is declared of operators."""

import gc
import threading
import weakref

import pytest

import opforge as torch
from opforge import Tensor


@torch.custom_op
def scaled(x: Tensor, factor: float = 2.0, *, repeat: int = 1) -> Tensor:
    assert not torch.is_grad_enabled() and not x.requires_grad
    return torch.from_numpy(x.numpy() * factor * repeat)


@scaled.register_fake
def _(x, factor=2.0, *, repeat=1):
    return torch.empty_like(x)


def _setup(ctx, inputs, output):
    ctx.factor = inputs[1] * inputs[2]
    assert len(inputs) == 3 and output.shape == inputs[0].shape


scaled.register_autograd(lambda ctx, grad: (grad * ctx.factor, None, None), setup_context=_setup)


def test_a_function_of_numpy_is_an_operator():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = scaled(x, 3.0, repeat=2)
    assert y.tolist() == [6.0, 12.0]
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
    assert scaled(x=x).tolist() == [2.0, 4.0]
    assert torch.autograd.gradcheck(scaled, (torch.randn(3, dtype=torch.float64, requires_grad=True),))


def test_annotations_are_the_schema():
    assert scaled.schema == "(Tensor x, float factor=2.0, *, int repeat=1) -> Tensor"
    assert scaled.name == "scaled"

    @torch.custom_op("mine::all")
    def every(x: Tensor, b: bool, s: str, i: list[int], f: list[float] = (0.5,), r: list[list[int]] = ()) -> tuple[Tensor, Tensor]:
        assert (b, s, i, f, r) == (True, "a, b", [1, 2], [0.5], [[1], [2, 3]])
        return x + 1, x + 2

    assert every.name == "mine::all"
    one, two = every(torch.zeros(1), True, "a, b", (1, 2), r=[[1], [2, 3]])
    assert (one.item(), two.item()) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: scaled(), TypeError, "misses argument 'x'"),
        (lambda x: scaled(1.0), TypeError, "must be Tensor, not float"),
        (lambda x: scaled(x, 1.0, 2), TypeError, "arguments that it does not have"),
        (lambda x: scaled(x, wrong=2), TypeError, "arguments that it does not have"),
        (lambda x: scaled(x, 1.0, factor=2.0), TypeError, "two values for argument 'factor'"),
        (lambda x: scaled(x, "a"), ValueError, "factor"),
        (lambda x: scaled(x, repeat=1.5), ValueError, "repeat"),
        (lambda x: scaled(x, repeat=object()), ValueError, "repeat"),
    ],
)
def test_calls_are_checked_against_the_schema(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(2))


def test_declarations_are_checked():
    def untyped(x):
        return x

    def optional(x: Tensor, y: int | None = None) -> Tensor:
        return x

    def several(*x: Tensor) -> Tensor:
        return x[0]

    def number(x: Tensor) -> int:
        return 1

    for function in (untyped, optional, several, number):
        with pytest.raises(ValueError, match=function.__name__):
            torch.custom_op(function)
    with pytest.raises(ValueError, match="mutates_args"):
        torch.custom_op("mine::x", lambda x: x, mutates_args=("y",))
    for schema in ("Tensor x", "(Tensor x", "(Tensor x) -> int", "(complex x) -> Tensor"):
        with pytest.raises(ValueError, match="schema"):
            torch.custom_op(lambda x: x, schema=schema)
    with pytest.raises(TypeError, match="unexpected options"):
        torch.custom_op(lambda x: x, schema="(Tensor x) -> Tensor", shape=0)


def test_compiled_functions_that_call_functions_run_as_they_are():
    """Graphs kept what the function had computed when it was traced."""
    calls = []

    @torch.custom_op
    def counted(x: Tensor) -> Tensor:
        calls.append(x)
        return torch.from_numpy(x.numpy() + len(calls))

    compiled = torch.compile(lambda x: counted(x) * 1)
    with pytest.warns(UserWarning, match="counted is computed by a Python function"):
        assert [compiled(torch.zeros(1)).item() for _ in range(3)] == [1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match="not one graph.*counted"):
        torch.compile(lambda x: counted(x) * 1, fullgraph=True)(torch.zeros(1))


def test_meta_tensors_go_to_the_fake():
    x = torch.empty(2, 3, device="meta")
    assert scaled(x).shape == (2, 3) and scaled(x).device.type == "meta"
    unfaked = torch.custom_op(lambda x: x + 1, schema="(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="meta"):
        unfaked(x)


def test_what_changes_its_arguments_says_so():
    @torch.custom_op("mine::fill", mutates_args=("x",))
    def fill(x: Tensor, value: float) -> None:
        x.fill_(value)

    x = torch.zeros(3)
    before = x._version
    assert fill(x[1:], 5.0) is None
    assert x.tolist() == [0.0, 5.0, 5.0] and x._version > before
    with pytest.raises(ValueError, match="gradient"):
        fill.register_autograd(lambda ctx, grad: grad)


def test_a_result_is_never_an_argument():
    same = torch.custom_op(lambda x: x, schema="(Tensor x) -> Tensor", name="same")
    x = torch.ones(2)
    y = same(x)
    y.add_(1)
    assert x.tolist() == [1.0, 1.0]


def test_exceptions_come_through():
    @torch.custom_op
    def fails(x: Tensor) -> Tensor:
        raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        fails(torch.ones(1))


def test_wrong_results_are_errors():
    wrong = torch.custom_op(lambda x: (x, x), schema="(Tensor x) -> Tensor", name="wrong")
    with pytest.raises(torch.CustomOpError, match="wrong.*2 outputs where 1"):
        wrong(torch.ones(1))
    with pytest.raises(TypeError):
        torch.custom_op(lambda x: 3, schema="(Tensor x) -> Tensor")(torch.ones(1))


def test_wrong_gradients_are_errors():
    def make(gradient):
        op = torch.custom_op(lambda x: x + 1, schema="(Tensor x) -> Tensor", name="op")
        op.register_autograd(gradient)
        return op(torch.ones(2, requires_grad=True)).sum()

    with pytest.raises(torch.CustomOpError, match="2 tensors for 1 inputs"):
        make(lambda ctx, grad: (grad, grad)).backward()
    with pytest.raises(ValueError, match="gradient of x"):
        make(lambda ctx, grad: grad[:1]).backward()
    without = torch.custom_op(lambda x: x + 1, schema="(Tensor x) -> Tensor", name="without")
    with pytest.raises(torch.AutogradError, match="declared gradient"):
        without(torch.ones(2, requires_grad=True)).sum().backward()


def test_saved_tensors_and_second_derivatives():
    cube = torch.custom_op(lambda x: x * x * x, schema="(Tensor x) -> Tensor", name="cube")
    cube.register_autograd(lambda ctx, grad: 3 * ctx.saved_tensors[0] ** 2 * grad)
    x = torch.tensor([2.0], requires_grad=True)
    (first,) = torch.autograd.grad(cube(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (first.item(), second.item()) == (12.0, 12.0)
    y = cube(x * 1)
    z = x * 1
    w = cube(z)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        w.backward()
    y.backward()


def test_threads_call_one_operator():
    results = []

    def work(i):
        for _ in range(50):
            results.append(scaled(torch.full((10,), float(i)), repeat=i % 3).sum().item() == 20.0 * i * (i % 3))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(results) == 200 and all(results)


def test_an_operator_lets_go_of_its_function():
    class Captured:
        pass

    def make():
        captured = Captured()

        def body(x):
            return x + (captured is not None)

        op = torch.custom_op(body, schema="(Tensor x) -> Tensor")
        op(torch.ones(1))
        return weakref.ref(captured)

    captured = make()
    gc.collect()
    assert captured() is None
