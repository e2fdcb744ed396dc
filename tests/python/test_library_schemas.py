"""Schemas of `torch.library`, and `opcheck`."""

from typing import List, Optional, Sequence, Tuple, Union

import numpy
import pytest

import opforge as torch
from opforge import Tensor
from opforge.library.binding import bind
from opforge.library.parsing import parse


def every(
    x: Tensor,
    s: Sequence[int],
    n: Union[int, float, bool] = 2,
    d: torch.device = "cpu",
    t: Optional[torch.dtype] = torch.float32,
    f: Optional[List[float]] = None,
    st: str = 'a"b',
    xs: "Optional[list[Tensor]]" = None,
    *,
    os: list[Optional[Tensor]],
    b: bool = True,
) -> Tuple[Tensor, int, List[Tensor]]: ...


EVERY = (
    '(Tensor x, SymInt[] s, Scalar n=2, Device d="cpu", ScalarType? t=float32, float[]? f=None, str st="a\\"b", Tensor[]? xs=None, *, Tensor?[] os, '
    "bool b=True) -> (Tensor, SymInt, Tensor[])"
)


def test_annotations_are_the_schema():
    infer = torch.library.infer_schema
    assert infer(every, mutates_args=()) == EVERY
    assert infer(every, mutates_args={"xs"}, op_name="every").startswith("every(Tensor x") and "Tensor(a7!)[]? xs" in infer(every, mutates_args={"xs"})
    assert infer(every, mutates_args="unknown").count("!") == 3


def test_schemas_are_read_as_they_are_written():
    for text in (
        EVERY,
        "(Tensor(a!) x, SymInt[2] n=[1, 1], *, Device? device=None) -> (Tensor(a!), Tensor[])",
        "(Tensor! x, float[] f=[1.0, -2.5], float e=1e-05) -> ()",
        "() -> ((Tensor))",
        '(str open="(->", str close="\\\\") -> Tensor',
        "(Tensor(a->*) x, MemoryFormat? m=channels_last) -> Tensor(a)[]",
    ):
        assert str(parse(text)) == text
    assert str(parse("name.out(Tensor x,int n = 1) -> (Tensor values, Tensor indices)")) == "name.out(Tensor x, SymInt n=1) -> (Tensor, Tensor)"


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("(Tensor x)", ValueError, "arrow"), ("(Tensor x -> Tensor", ValueError, "bracket"), ("(Foo x) -> Tensor", RuntimeError, "'Foo'"),
        ("(int n=1, Tensor x) -> Tensor", RuntimeError, "'x' has no default"), ("(int n=1.5) -> Tensor", RuntimeError, "'n'"),
        ("(Tensor x, int x) -> Tensor", RuntimeError, "one name"), ("(Tensor x) -> Tensor, Tensor", RuntimeError, "','"),
        ("(Tensor x y) -> Tensor", RuntimeError, "'y'"), ("(int n=) -> Tensor", RuntimeError, "no default"), ("(int[ n) -> Tensor", RuntimeError, "schema"),
    ],
)  # fmt: skip
def test_texts_that_are_no_schemas_are_errors(text, error, reason):
    with pytest.raises(error, match=reason):
        torch.library.define("tests_of_schemas::never", text)


def untyped(x: Tensor, y) -> Tensor: ...
def unreturned(x: Tensor): ...
def variadic(*x: Tensor) -> Tensor: ...
def pair(x: Tuple[Tensor, Tensor]) -> Tensor: ...
def listed(x: Tensor, n: List[int] = (1, 2)) -> Tensor: ...
def text(x: Tensor) -> str: ...
def unknown(x: "Nothing") -> Tensor: ...  # noqa: F821


@pytest.mark.parametrize(
    ("function", "changed", "reason"),
    [
        (untyped, (), "'y' has no annotation"), (unreturned, (), "return annotation is missing"), (variadic, (), "one by one"), (pair, (), "annotation"),
        (listed, (), r"default \(1, 2\)"), (text, (), "returns"), (unknown, (), "Nothing"), (every, ("q",), r"\['q'\]"), (every, ("s",), "tensors"),
        (every, "x", "unknown"),
    ],
)  # fmt: skip
def test_functions_that_state_no_schema_are_errors(function, changed, reason):
    with pytest.raises(ValueError, match=f"infer_schema.*{reason}"):
        torch.library.infer_schema(function, mutates_args=changed)


@pytest.mark.parametrize(
    ("kind", "value", "bound"),
    [
        ("int", True, 1), ("int", torch.tensor([4]), 4), ("float", 3, 3.0), ("float", torch.tensor(2.5), 2.5), ("int[2]", 3, [3, 3]),
        ("int[]", (1, 2), [1, 2]), ("int[]", range(2), [0, 1]), ("Scalar", numpy.float32(0.5), 0.5), ("Scalar", numpy.int64(3), 3),
        ("Device", "cpu", torch.device("cpu")), ("Tensor?", None, None), ("Scalar", 2 + 1j, 2 + 1j), ("int[]?", None, None),
        ("float?[]", [None, 1], [None, 1.0]),
    ],
)  # fmt: skip
def test_values_are_converted(kind, value, bound):
    (found,) = bind("f", parse(f"({kind} x) -> ()"), (value,), {})
    assert found == bound and type(found) is type(bound)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 1.5), ("int", None), ("int", torch.tensor([1.0])), ("int[]", 3), ("float", "1"), ("float", 1j), ("bool", 1), ("str", 1), ("Tensor", None),
        ("Tensor[]", torch.ones(2)), ("ScalarType", "float32"), ("Device", 0), ("Scalar", "1"), ("float", torch.ones(1, requires_grad=True)),
    ],
)  # fmt: skip
def test_values_of_other_types_are_errors(kind, value):
    with pytest.raises(RuntimeError, match="argument 'x'"):
        bind("f", parse(f"({kind} x) -> ()"), (value,), {})


def op(name, function, **options):
    return torch.library.custom_op(f"tests_of_opcheck::{name}", function, **{"mutates_args": (), "schema": "(Tensor x) -> Tensor"} | options)


def faked(name, function, **options):
    made = op(name, function, **options)
    made.register_fake(lambda x: torch.empty_like(x))
    return made


def check(op, *args):
    found = torch.library.opcheck(op, args, raise_exception=False)
    return [name for name, outcome in found.items() if outcome != "SUCCESS"]


def test_opcheck_accepts_what_is_declared_truly():
    good = faked("good", lambda x: x * 2)
    good.register_autograd(lambda ctx, grad: grad * 2)
    x = torch.ones(2, 3, requires_grad=True)
    assert check(good, x) == check(good._opoverload, x.detach()) == check(torch.ops.tests_of_opcheck.good, x.t()) == []

    def increase(x):
        x.add_(1)

    y = torch.zeros(1)
    sizes = op("nonzero_count", lambda x: int((x != 0).sum()), schema="(Tensor x) -> int")
    sizes.register_fake(lambda x: 0)
    assert check(sizes, torch.ones(3)) == []
    assert check(op("increase", increase, schema="(Tensor(a!) x) -> ()", mutates_args=("x",)), y) == [] and y.item() == 0.0


def test_opcheck_finds_what_is_not_so():
    x = torch.ones(3, requires_grad=True)
    assert check(faked("secret", lambda x: x.detach().mul_(2) + 1), x.detach()) == ["test_schema"]
    assert check(op("same", lambda x: x), x.detach())[0] == "test_schema"
    assert check(op("without_fake", lambda x: x + 1), x.detach()) == ["test_faketensor"]
    assert check(faked("other_shape", lambda x: x[:1] + 1), x.detach()) == ["test_faketensor", "test_aot_dispatch_dynamic"]
    assert check(faked("other_dtype", lambda x: x.double()), x.detach()) == ["test_faketensor", "test_aot_dispatch_dynamic"]
    assert check(faked("other_strides", lambda x: x.t().contiguous().t()), torch.ones(2, 3)) == ["test_faketensor"]
    assert check(faked("without_gradient", lambda x: x + 1), x) == ["test_aot_dispatch_dynamic"]
    assert check(faked("own_gradient", lambda x: torch.zeros_like(x).requires_grad_()), x)[0] == "test_autograd_registration"
    many = faked("many_gradients", lambda x: x + 1)
    many.register_autograd(lambda ctx, grad: (grad, grad))
    assert check(many, x) == ["test_autograd_registration", "test_aot_dispatch_dynamic"]
    with pytest.raises(torch.library.OpCheckError, match="test_faketensor.*without_fake"):
        torch.library.opcheck(torch.ops.tests_of_opcheck.without_fake, (x.detach(),), test_utils="test_faketensor")


def test_opcheck_checks_its_arguments():
    good = faked("arguments", lambda x: x * 2)
    with pytest.raises(ValueError, match="rtol"):
        torch.library.opcheck(good, (torch.ones(1),), rtol=1e-3)
    with pytest.raises(ValueError, match="test_nothing"):
        torch.library.opcheck(good, (torch.ones(1),), test_utils=("test_nothing",))
    with pytest.raises(ValueError, match="no operator"):
        torch.library.opcheck(torch.ops.aten.add, (torch.ones(1),))
