"""Operators that are declared by `torch.library`: which function runs, who sees calls, names and libraries."""

import copy
import pickle
from typing import List

import numpy
import pytest

import opforge as torch
from opforge import Tensor


def op(name, **options):
    return torch.library.custom_op(f"tests_of_dispatch::{name}", **{"mutates_args": (), **options})


ops = torch.ops.tests_of_dispatch


def test_kernels_are_those_of_the_device():
    @op("of_cuda", device_types="cuda")
    def of_cuda(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(NotImplementedError, match="tests_of_dispatch::of_cuda.*'cpu'"):
        of_cuda(torch.ones(1))

    @torch.library.register_kernel("tests_of_dispatch::of_cuda", "cpu")
    def _(x):
        return x + 2

    assert of_cuda(torch.ones(1)).item() == 3.0
    with of_cuda.set_kernel_enabled("cpu", False):
        assert of_cuda(torch.ones(1)).item() == 2.0
    assert of_cuda(torch.ones(1)).item() == 3.0
    with pytest.raises(ValueError, match="device"):
        op("of_nothing", device_types="cpu", schema="(int n) -> Tensor")(lambda n: torch.ones(n))
    with pytest.raises(RuntimeError, match="'abacus'"):
        of_cuda.register_kernel("abacus", lambda x: x)

    @op("made", device_types="cpu")
    def made(n: int, device: torch.device) -> Tensor:
        return torch.ones(n, device=device)

    assert made(2, "cpu").tolist() == [1.0, 1.0]


def test_compiled_functions_call_operators_at_each_run():
    calls = []

    @op("counts")
    def counts(x: Tensor) -> Tensor:
        calls.append(1)
        return torch.from_numpy(x.numpy() * len(calls))

    compiled = torch.compile(lambda x: counts(x) + 0)
    with pytest.warns(UserWarning, match="tests_of_dispatch::counts"):
        assert [compiled(torch.ones(1)).item() for _ in range(3)] == [1.0, 2.0, 3.0]
    counts.register_fake(torch.empty_like)
    compiled = torch.compile(lambda x: counts(x) + 0, fullgraph=True)
    assert [compiled(torch.ones(1)).item() for _ in range(3)] == [4.0, 5.0, 6.0]


def test_compositions_are_part_of_graphs():
    with torch.library._scoped_library("tests_of_compositions", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * (3 if torch.compiler.is_compiling() else 2))
        twice, x = torch.ops.tests_of_compositions.twice, torch.ones(2, requires_grad=True)
        assert torch.compile(lambda x: twice(x))(x.detach()).tolist() == [3.0, 3.0]
        twice(x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]


def test_functions_for_autograd_call_the_kernel_below_it():
    torch.library.define("tests_of_dispatch::by_function", "(Tensor x) -> Tensor")

    class Differentiable(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch._C._AutoDispatchBelowAutograd():
                return ops.by_function(x)

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    torch.library.impl("tests_of_dispatch::by_function", "Autograd", Differentiable.apply)
    torch.library.impl("tests_of_dispatch::by_function", "CPU", lambda x: x + 1)
    x = torch.ones(2, requires_grad=True)
    y = ops.by_function(x)
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([2.0, 2.0], [7.0, 7.0])
    assert torch.is_grad_enabled()


def test_traces_record_operators():
    @op("traced")
    def traced(xs: List[Tensor]) -> Tensor:
        return xs[0] + xs[1]

    module = torch.fx.symbolic_trace(lambda x, y: traced([x, y]) * 2)
    assert traced._opoverload in [node.target for node in module.graph.nodes]
    assert module(torch.ones(1), torch.ones(1)).item() == 4.0


def test_modes_and_subclasses_see_operators():
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Subclass(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, types))
            return super().__torch_function__(func, types, args, kwargs)

    @op("watched")
    def watched(xs: List[Tensor]) -> Tensor:
        return xs[0] + 1

    x = torch.ones(1)
    with Mode():
        assert watched([x]).item() == 2.0
    assert type(watched([x.as_subclass(Subclass)])) is Subclass
    assert seen == [watched._opoverload, (watched._opoverload, (Subclass,))]


def test_vmap_calls_operators_for_each_example():
    @op("mapped")
    def mapped(x: Tensor) -> Tensor:
        assert x.dim() == 1
        return torch.from_numpy(numpy.cumsum(x.numpy()))

    @mapped.register_vmap
    def _(info, in_dims, x):
        return x.cumsum(1 - in_dims[0]), in_dims[0]

    assert torch.vmap(mapped)(torch.ones(2, 3)).tolist() == [[1.0, 2.0, 3.0]] * 2


def test_autocast_gives_operators_the_declared_dtype():
    @op("cast")
    def cast(x: Tensor, ys: List[Tensor]) -> Tensor:
        assert {y.dtype for y in ys} <= {x.dtype, torch.int64, torch.float64} and not torch.is_autocast_enabled("cpu")
        return x + 1

    cast.register_autocast("cpu", torch.float16)
    x = torch.ones(1)
    with torch.autocast("cpu"):
        assert cast(x, [x, x.long(), x.double()]).dtype is torch.float16
    assert cast(x, [x]).dtype is torch.float32
    with pytest.raises(ValueError, match="abacus"):
        cast.register_autocast("abacus", torch.float16)


def test_operators_are_found_by_name():
    library = torch.library.Library("tests_of_names", "DEF")
    assert library.define("scaled(Tensor x, float factor) -> Tensor") == "scaled"
    with pytest.raises(NotImplementedError, match="tests_of_names::scaled"):
        torch.ops.tests_of_names.scaled(torch.ones(2), 3.0)
    library.impl("scaled", lambda x, factor: x * factor, "CPU")
    torch.library.register_autograd("tests_of_names::scaled", lambda ctx, grad: (grad * 3, None))
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.tests_of_names.scaled(x, 3.0)
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([3.0, 3.0], [3.0, 3.0])
    with pytest.raises(RuntimeError, match="defined already"):
        torch.library.Library("tests_of_names", "DEF").define("scaled(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="defined already"):
        torch.library.custom_op("tests_of_names::scaled", lambda x: x, schema="(Tensor x) -> Tensor", mutates_args=())
    assert torch.ops.aten.add.Tensor(torch.ones(1), 1).tolist() == [2.0]
    with pytest.raises(NotImplementedError, match="aten"):
        torch.ops.aten.nothing_of_this_name(1)
    with pytest.raises(NotImplementedError, match="aten::mul"):
        torch.library.Library("aten", "IMPL").impl("mul.Tensor", lambda x, y: x, "CPU")
    with pytest.raises(AttributeError, match="nothing"):
        torch.ops.tests_of_names.nothing
    with pytest.raises(OSError, match="PyTorch"):
        torch.ops.load_library("lib.so")


def test_overloads_are_chosen_by_their_schemas():
    with torch.library._scoped_library("tests_of_overloads", "FRAGMENT") as library:
        for text in ("scale(Tensor x) -> Tensor", "scale.by(Tensor x, int n) -> Tensor", "scale.like(Tensor x, Tensor y) -> Tensor"):
            library.define(text)
        library.impl("scale", lambda x: x * 2, "CPU")
        library.impl("scale.by", lambda x, n: x * n, "CPU")
        library.impl("scale.like", lambda x, y: x * y, "CPU")
        scale, x = torch.ops.tests_of_overloads.scale, torch.ones(1)
        assert [scale(x).item(), scale(x, 3).item(), scale(x, x * 4).item(), scale.by(x, 5).item()] == [2.0, 3.0, 4.0, 5.0]
        assert scale.overloads() == scale.by.overloads() == ["default", "by", "like"]
        assert (scale.by.name(), scale.default.name(), scale.by.__name__) == ("tests_of_overloads::scale.by", "tests_of_overloads::scale", "scale.by")
        assert str(scale.by._schema) == "tests_of_overloads::scale.by(Tensor x, SymInt n) -> Tensor"
        with pytest.raises(AttributeError, match="'out'.*default, by, like"):
            scale.out
        with pytest.raises(RuntimeError, match="tests_of_overloads::scale.like"):
            scale(x, "none")


def test_a_new_definition_replaces_the_old_one_everywhere():
    first = op("replaced", schema="(Tensor x) -> Tensor")(lambda x: x + 1)
    found, overload = ops.replaced, ops.replaced.default
    second = op("replaced", schema="(Tensor x, int n=0) -> Tensor")(lambda x, n: x + 2)
    x = torch.zeros(1)
    assert [f(x).item() for f in (found, overload, ops.replaced, second)] == [2.0] * 4 and first(x).item() == 1.0
    assert len(overload._schema.parameters) == 2


def test_declarations_may_come_before_the_definition():
    torch.library.register_fake("tests_of_dispatch::late", lambda x: x.new_empty(7))
    torch.library.register_autograd("tests_of_dispatch::late", lambda ctx, grad: grad * 5)
    torch.library.Library("tests_of_dispatch", "IMPL", "CPU").impl("late", lambda x: x + 1)
    torch.library.define("tests_of_dispatch::late", "(Tensor x) -> Tensor")
    x = torch.ones(2, requires_grad=True)
    ops.late(x).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0] and ops.late(torch.empty(2, device="meta")).shape == (7,)


def test_operators_are_copied_and_pickled_by_name():
    kept = op("kept", schema="(Tensor x) -> Tensor")(lambda x: x + 1)
    for one in (kept, kept._opoverload, ops.kept):
        assert pickle.loads(pickle.dumps(one)) is one
    assert copy.deepcopy({"op": kept})["op"] is kept
    assert repr(kept) == "<CustomOpDef(tests_of_dispatch::kept)>" and kept._qualname == "tests_of_dispatch::kept"


def test_libraries_and_their_declarations_are_checked():
    with pytest.raises(ValueError, match="'MORE'"):
        torch.library.Library("tests_of_dispatch", "MORE")
    library = torch.library.Library("tests_of_dispatch", "FRAGMENT")
    with pytest.raises(RuntimeError, match="'Abacus'"):
        library.impl("never", lambda x: x, "Abacus")
    with pytest.raises(TypeError, match="callable"):
        library.impl("never", 3, "CPU")
    with pytest.raises(TypeError, match="mutates_args"):
        torch.library.custom_op("tests_of_dispatch::never")
    with pytest.raises(ValueError, match="namespace::name"):
        torch.library.define("never", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="mutates_args.*changes"):
        op("never", schema="(Tensor(a!) x) -> ()")(lambda x: None)
    with pytest.raises(NotImplementedError, match="by name"):
        op("never", schema="(Tensor x, *, Tensor y) -> Tensor")(lambda x, y: x)
    with pytest.raises(NotImplementedError, match="__torch_dispatch__"):
        op("dispatched", schema="(Tensor x) -> Tensor")(lambda x: x + 1).register_torch_dispatch(object)
    with pytest.raises(RuntimeError, match='"_"'):
        library.fallback(torch.library.fallthrough_kernel, "CPU")
    torch.library.Library("_", "IMPL").fallback(torch.library.fallthrough_kernel, "AutocastCPU")


def test_older_decorators():
    library = torch.library.Library("tests_of_decorators", "DEF")

    @torch.library.define(library, "one(Tensor x) -> Tensor")
    def one(x):
        return x + 1

    library.define("two(Tensor x) -> Tensor")

    @torch.library.impl(library, "two", "CPU")
    def two(x):
        return x + 2

    found = torch.ops.tests_of_decorators
    assert (found.one(torch.zeros(1)).item(), found.two(torch.zeros(1)).item(), one(1), two(1)) == (1.0, 2.0, 2, 3)
