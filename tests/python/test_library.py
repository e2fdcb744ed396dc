"""Operators that are declared by `torch.library`: calls, results, changes, gradients."""

from typing import List, Optional, Sequence, Tuple

import numpy
import pytest

import opforge as torch
from opforge import Tensor


def op(name, **options):
    return torch.library.custom_op(f"tests_of_library::{name}", **{"mutates_args": (), **options})


ops = torch.ops.tests_of_library


def test_calls_are_converted_as_the_schema_says():
    seen = []

    @op("seen")
    def function(x: Tensor, n: int, xs: List[Tensor], w: Optional[Tensor] = None, *, k: float = 1.0, d: torch.device = "cpu") -> Tensor:
        seen.append((n, type(xs), w, k, d))
        return x * n * k

    x = torch.ones(2)
    for n in (True, torch.tensor(3), numpy.int64(3)):
        assert function(x, n, (x,), k=2).tolist() == [2.0 * int(n)] * 2
    cpu = torch.device("cpu")
    assert seen == [(1, list, None, 2.0, cpu), (3, list, None, 2.0, cpu), (3, list, None, 2.0, cpu)] and all(type(k) is float for *_, k, _ in seen)
    assert ops.seen(n=1, x=x, xs=[]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((1.0, 2, []), {}, "argument 'x' .*position 0.* must be Tensor, not float 1.0"),
        ((torch.ones(1), 2.5, []), {}, "argument 'n' .*must be int, not float"),
        ((torch.ones(1), torch.ones(2).long(), []), {}, "argument 'n'"),
        ((torch.ones(1), 2, [1]), {}, r"argument 'xs' .*Tensor\[\], not list of int"),
        ((torch.ones(1), 2), {}, "misses argument 'xs'"),
        ((torch.ones(1), 2, [], None), {}, "takes 3 arguments by position, not 4"),
        ((torch.ones(1), 2, []), {"bad": 1}, "unknown argument 'bad'"),
        ((torch.ones(1), 2, []), {"n": 1}, "two values for argument 'n'"),
        ((torch.ones(1), 2, []), {"b": 1}, "argument 'b' .*must be bool"),
    ],
)
def test_calls_that_do_not_fit_are_errors(args, kwargs, text):
    @op("misfits")
    def function(x: Tensor, n: int, xs: Sequence[Tensor], *, b: bool = True) -> Tensor:
        return x + 1

    with pytest.raises(RuntimeError, match=f"tests_of_library::misfits.*{text}.*Declaration"):
        function(*args, **kwargs)


def test_parameters_are_the_schemas_and_not_the_functions():
    torch.library.define("tests_of_library::renamed", "(Tensor x, *, float factor=2) -> Tensor")
    torch.library.impl("tests_of_library::renamed", "cpu", lambda y, factor: y * factor)
    assert ops.renamed(x=torch.ones(1)).tolist() == [2.0]


def test_results_come_as_the_schema_says():
    @op("list")
    def several(x: Tensor) -> List[Tensor]:
        return (x + 1, x + 2)

    @op("tuple")
    def mixed(x: Tensor) -> Tuple[Tensor, int, List[Tensor]]:
        return x + 1, 3, [x + 2]

    @op("one")
    def one(x: Tensor) -> Tuple[Tensor]:
        return (x + 1,)

    for x in (torch.zeros(1), torch.zeros(1, requires_grad=True)):
        listed, (first, number, rest), single = several(x), mixed(x), one(x)
        assert type(listed) is list and [y.item() for y in listed] == [1.0, 2.0]
        assert (first.item(), number, type(rest), rest[0].item()) == (1.0, 3, list, 2.0)
        assert type(single) is tuple and single[0].item() == 1.0
    assert one._schema == "(Tensor x) -> ((Tensor))"

    @op("wrong")
    def wrong(x: Tensor) -> Tensor:
        return 3

    with pytest.raises(RuntimeError, match="tests_of_library::wrong.*result 0.*int 3"):
        wrong(torch.ones(1))


@pytest.mark.parametrize("result", [lambda x: (x, x + 1), lambda x: (x + 1, x.view(2, 1)), lambda x: (lambda y: (y, y[:1]))(x + 1)])
def test_results_are_no_arguments_nor_views_of_them_nor_of_each_other(result):
    two = op("aliases", schema="(Tensor x) -> (Tensor, Tensor)")(result)
    for x in (torch.ones(2), torch.ones(2, requires_grad=True)):
        with pytest.raises(RuntimeError, match="tests_of_library::aliases.*memory"):
            two(x)


def test_schemas_may_state_that_memory_is_shared():
    with torch.library._scoped_library("tests_of_aliases", "DEF") as library:
        library.define("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
        library.impl("add_", lambda x, y: x.add_(y), "CPU")
        x = torch.ones(2)
        assert torch.ops.tests_of_aliases.add_(x, x) is x and x.tolist() == [2.0, 2.0]
    with pytest.raises(AttributeError, match="not defined"):
        torch.ops.tests_of_aliases.add_.default(x, x)


def test_changed_arguments_have_a_new_version():
    @op("fill", mutates_args={"xs"})
    def fill(xs: List[Tensor], value: float) -> None:
        for x in xs:
            x.numpy()[:] = value

    x, y = torch.zeros(3), torch.zeros(2)
    before = x._version, y._version
    assert fill([x[1:], y], 5.0) is None
    assert x.tolist() == [0.0, 5.0, 5.0] and x._version > before[0] and y._version > before[1]
    leaf = torch.zeros(2, requires_grad=True)
    squared = leaf.square()
    for changed in (leaf, leaf[:1]):
        with pytest.raises(RuntimeError, match="leaf.*in-place"):
            fill([changed], 1.0)
    with torch.no_grad():
        fill([leaf], 1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squared.sum().backward()
    with pytest.raises(RuntimeError, match="fill.*changes arguments"):
        fill.register_autograd(lambda ctx: None)


def test_backward_through_what_was_changed_is_an_error():
    @op("twice_", mutates_args={"x"})
    def twice_(x: Tensor) -> None:
        x.mul_(2)

    @op("count", mutates_args={"counter"})
    def count(x: Tensor, counter: Tensor) -> Tensor:
        counter.add_(1)
        return x + 1

    x = torch.ones(2, requires_grad=True) * 1
    twice_(x)
    with pytest.raises(RuntimeError, match="twice_.*register_autograd"):
        x.sum().backward()
    counter = torch.zeros(1)
    assert count(x, counter).requires_grad and not counter.requires_grad and counter.item() == 1.0


def test_gradients_without_a_declaration_are_errors_that_say_so():
    @op("opaque")
    def opaque(x: Tensor) -> Tensor:
        assert not torch.is_grad_enabled()
        return x * 2

    y = opaque(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="tests_of_library::opaque.*register_autograd"):
        y.sum().backward()


def test_gradients_flow_into_lists_and_out_of_them():
    @op("mixed_lists")
    def function(x: Tensor, n: int, xs: List[Tensor], ws: Optional[List[Tensor]] = None, *, k: float = 1.0) -> Tuple[List[Tensor], Tensor]:
        return [x * y * k for y in xs], x * n

    told = []

    def setup(ctx, inputs, keyword_only_inputs, output):
        told.append((len(inputs), keyword_only_inputs, ctx.needs_input_grad, type(output[0])))
        ctx.save_for_backward(inputs[0], *inputs[2])
        ctx.n, ctx.k = inputs[1], keyword_only_inputs["k"]

    def backward(ctx, of_list, grad):
        x, *xs = ctx.saved_tensors
        told.append(type(of_list))
        return sum(g * y * ctx.k for g, y in zip(of_list, xs)) + grad * ctx.n, None, [g * x * ctx.k for g in of_list], None

    function.register_autograd(backward, setup_context=setup)
    x, y = (torch.tensor([value], dtype=torch.float64, requires_grad=True) for value in (2.0, 3.0))
    z = torch.tensor([4.0], dtype=torch.float64)
    products, scaled = function(x, 5, [y, z], k=10.0)
    (products[0] + products[1] + scaled).backward()
    assert (x.grad.item(), y.grad.item()) == (75.0, 20.0)
    assert told == [(4, {"k": 10.0}, (True, False, [True, False], False), list), list]
    assert torch.autograd.gradcheck(lambda x, y: function(x, 3, [y, y])[0][1], (x, y))


@pytest.mark.parametrize(
    ("backward", "text"),
    [
        (lambda ctx, g: g, "gave 1 gradients .accepted: 2 or 3"),
        (lambda ctx, g: (g, [g], None, g), "gave 4 gradients"),
        (lambda ctx, g: (g, None, None), "'xs' .accepted: a list of 1"),
        (lambda ctx, g: (g, [g, g]), "'xs' .accepted: a list of 1"),
        (lambda ctx, g: ([g], [g], None), "'x' .accepted: a tensor"),
    ],
)
def test_gradients_of_another_number_or_structure_are_errors(backward, text):
    @op("structured")
    def function(x: Tensor, xs: List[Tensor], n: int = 1) -> Tensor:
        return x + 1

    function.register_autograd(backward)
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=f"tests_of_library::structured.*{text}"):
        function(x, [x]).sum().backward()


def test_gradients_of_lists_with_places_that_are_empty():
    @op("present")
    def present(xs: List[Optional[Tensor]]) -> Tensor:
        return sum(x for x in xs if x is not None)

    x = torch.ones(2, requires_grad=True)
    present.register_autograd(lambda ctx, grad: [grad * 2, None])
    present([x, None]).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    present.register_autograd(lambda ctx, grad: None)
    present([None, x]).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_integers_that_come_out_have_no_gradient():
    @op("sorting")
    def sorting(x: Tensor) -> Tuple[Tensor, Tensor]:
        return x * 2, x.argsort()

    sorting.register_autograd(lambda ctx, grad, of_places: grad * 2)
    x = torch.ones(2, requires_grad=True)
    doubled, places = sorting(x)
    doubled.sum().backward()
    assert not places.requires_grad and x.grad.tolist() == [2.0, 2.0]


def test_nothing_is_saved_without_a_setup_context():
    @op("unsaved")
    def function(x: Tensor, n: int = 1) -> Tensor:
        return x * 3

    function.register_autograd(lambda ctx, grad: (grad * (3 + len(ctx.saved_tensors)),))
    x = torch.ones(2, requires_grad=True)
    function(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_second_derivatives():
    @op("cube")
    def cube(x: Tensor) -> Tensor:
        return torch.from_numpy(x.numpy() ** 3)

    cube.register_autograd(lambda ctx, grad: 3 * ctx.saved_tensors[0] ** 2 * grad, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(cube(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (first.item(), second.item()) == (12.0, 12.0)


def test_meta_tensors_go_to_the_fake():
    @op("faked")
    def faked(x: Tensor) -> Tensor:
        return x[:1] + 1

    x = torch.empty(2, 3, device="meta")
    with pytest.raises(RuntimeError, match="faked.*register_fake"):
        faked(x)
    torch.library.register_fake(faked)(lambda x: x.new_empty(1, x.shape[1]))
    assert faked(x).shape == (1, 3) and faked(x).device.type == "meta"
    with pytest.raises(RuntimeError, match="already"):
        torch.library.register_fake("tests_of_library::faked", lambda x: x, allow_override=False)
