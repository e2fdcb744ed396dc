"""Every form `name_` does to its tensor what the function `name` returns, and gradients follow."""

import numpy as np
import pytest

import opforge as torch
import opforge.nn.functional as F
from test_registry import EXACT, array, call, each, gradients, is_float, leaves, same, tensors, weights

IN_PLACE = [case for case in EXACT if case.entry["in_place"] and set(case.entry["faces"]) != {"in_place"} and isinstance(case.args[0], np.ndarray)]
VIEWS = [case for case in IN_PLACE if case.entry["view"]]
WRITES = [case for case in IN_PLACE if not case.entry["view"]]


def fits(case, plain, receiver):
    """Whether a tensor can take a result: of its shape, and of a kind of numbers that it has."""
    kinds = [torch.bool, torch.int64, torch.float64, torch.complex128]
    kind = lambda t: next(i for i, k in enumerate(kinds) if torch.can_cast(t.dtype, k))  # noqa: E731
    return plain.shape == receiver.shape and (kind(plain) <= kind(receiver) or kind(receiver) == 3)


@each(WRITES)
def test_the_tensor_takes_the_result(case):
    args = tensors(case.args)
    plain, form = call(case, args), case.shown_in("in_place")
    receiver = args[0].clone()
    if not fits(case, plain, receiver):
        with pytest.raises(torch.OpforgeError):
            form(receiver, *args[1:], **case.options)
        same(receiver, args[0])
        return
    address, version, stride = receiver.data_ptr(), receiver._version, receiver.stride()
    assert form(receiver, *args[1:], **case.options) is receiver
    assert (receiver.data_ptr(), receiver.stride(), receiver.dtype) == (address, stride, args[0].dtype)
    assert receiver._version > version
    same(receiver, plain.to(receiver.dtype))


@each([case for case in WRITES if case.args[0].ndim])
def test_a_view_of_other_elements_is_left_alone(case):
    args = tensors(case.args)
    plain, padded = call(case, args), torch.tensor(np.repeat(case.args[0], 2, axis=-1))
    if not fits(case, plain, args[0]):
        return
    case.shown_in("in_place")(padded[..., ::2], *args[1:], **case.options)
    same(padded[..., ::2], plain.to(padded.dtype))
    same(padded[..., 1::2], args[0])


@each(VIEWS)
def test_the_tensor_becomes_the_view(case):
    args = tensors(case.args)
    plain, receiver = call(case, args), args[0].clone()
    assert case.shown_in("in_place")(receiver, *args[1:], **case.options) is receiver
    assert (receiver.shape, receiver.stride()) == (plain.shape, plain.stride())
    same(receiver, plain)


RECORDED = [case for case in IN_PLACE if case.smooth and is_float(case.args[0])]


def slopes(case, change):
    """The gradients of a weighted sum of what `change` makes of the first argument, computed from leaves."""
    args = tensors(case.args)
    leaf = [t.requires_grad_() for t in leaves(args) if isinstance(t, torch.Tensor) and t.is_floating_point()]
    start = args[0] * 1.5
    result = change(start, args[1:])
    return gradients((result * weights(result, 1)).sum(), leaf)


@each(RECORDED)
def test_gradients_are_those_of_the_function(case):
    args = tensors(case.args)
    plain = call(case, args)
    if not plain.is_floating_point() or not (case.entry["view"] or fits(case, plain, args[0])):
        return
    form = case.shown_in("in_place")
    wanted = slopes(case, lambda x, rest: call(case, (x, *rest)))
    for got, expected in zip(slopes(case, lambda x, rest: form(x, *rest, **case.options)), wanted, strict=True):
        np.testing.assert_allclose(array(got), array(expected), rtol=1e-12, atol=1e-12)


@each(RECORDED)
def test_gradients_through_a_view_are_those_of_the_function(case):
    args = tensors(case.args)
    plain = call(case, args)
    if case.entry["view"] or not plain.is_floating_point() or not fits(case, plain, args[0]):
        return

    def through_a_view(x, rest):
        both = torch.stack([x, x])
        case.shown_in("in_place")(both[1], *rest, **case.options)
        return both[1] + 0 * both[0]

    wanted = slopes(case, lambda x, rest: call(case, (x, *rest)))
    for got, expected in zip(slopes(case, through_a_view), wanted, strict=True):
        np.testing.assert_allclose(array(got), array(expected), rtol=1e-12, atol=1e-12)


# In-place forms that the tables have no row for: how they are called, and what they must leave.
BY_HAND = {
    "_core": {"share_memory_", "requires_grad_", "detach_"},  # Change no elements.
    "random": {"bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"},
    # Written in Python: test_functional_memory.py and test_functional_variants.py.
    "python": {"apply_", "as_strided_", "conj_physical_", "float_power_", "map2_", "map_", "resize_", "resize_as_", "set_"},
    "written": {"copy_", "fill_", "fill_diagonal_", "index_put_", "zero_"},
}


def test_every_in_place_name_is_tested():
    shown = {name for name in dir(torch.Tensor) if name.endswith("_") and not name.startswith("_")}
    tested = {case.entry["python_name"] + "_" for case in EXACT if case.entry["in_place"]} | set().union(*BY_HAND.values())
    assert not shown - tested, "names that end in _ without a case"


@pytest.mark.parametrize("name", sorted(BY_HAND["random"]))
def test_random_fills_change_their_tensor(name):
    x = torch.full((4, 50), 7.5)
    given = {"geometric_": (0.5,)}.get(name, ())
    assert getattr(x, name)(*given) is x
    assert not x.eq(7.5).all() and x.shape == (4, 50)


INPLACE = ["silu", "relu", "relu6", "hardswish", "hardsigmoid", "mish", "elu", "selu", "celu", "leaky_relu", "hardtanh", "rrelu"]


@pytest.mark.parametrize("name", INPLACE)
def test_activations_in_place_keep_what_their_gradients_read(name):
    function = getattr(F, name)
    outcomes = []
    for inplace in [False, True]:
        x = torch.linspace(-4, 4, 17, dtype=torch.float64, requires_grad=True)
        y = x * 1.0
        z = function(y, inplace=inplace)
        assert (z is y) == inplace
        z.square().sum().backward()
        outcomes.append((z.tolist(), x.grad.tolist()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"])
def test_dropouts_in_place_give_the_tensor_itself(name):
    function, x = getattr(F, name), torch.ones(2, 3, *[2] * {"dropout2d": 2, "dropout3d": 3}.get(name, 1))
    assert function(x, 0.5, True, True) is x and function(x, 0.5, True) is not x
    assert not (x == 1).any()


def test_a_network_with_activations_in_place_trains():
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Hardswish(inplace=True), torch.nn.Conv2d(8, 8, 1), torch.nn.SiLU(inplace=True)]
    net = torch.nn.Sequential(*layers, torch.nn.ReLU6(inplace=True), torch.nn.Dropout(0.1, inplace=True), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 2))
    net(torch.randn(2, 3, 8, 8)).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())


def test_an_operand_that_is_the_tensor_itself():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y.mul_(y).sum().backward()  # 4 x²
    assert x.grad.tolist() == [8, 16, 24]


def test_what_others_saved_is_still_an_error():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = y.sin()  # saves y
    y.mul_(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_leaf_refuses_a_new_layout_unless_recording_is_off():
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        x.t_()
    with torch.no_grad():
        x.t_()
    assert x.shape == (3, 2) and x.is_leaf and x.requires_grad
    (x * 2).sum().backward()
    assert x.grad.shape == (3, 2)


def test_data_has_a_version_of_its_own():
    x = torch.ones(3, requires_grad=True)
    y = x * x
    x.data.mul_(2)
    assert x._version == 0 and x.tolist() == [2, 2, 2]
    y.sum().backward()  # reads what x holds now, as documented
    assert x.grad.tolist() == [4, 4, 4]


def test_detach_shares_the_version():
    x = torch.ones(3, requires_grad=True)
    y = x * x
    x.detach().mul_(2)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


REFUSED = {
    "division by zero": (lambda x: x.floor_divide_(torch.tensor([1, 0, 1])), [7, 8, 9]),
    "remainder by zero": (lambda x: x.remainder_(torch.tensor([1, 0, 1])), [7, 8, 9]),
    "a complex factor": (lambda x: x.mul_(2j), [7.0, 8.0, 9.0]),
    "a complex summand": (lambda x: x.add_(torch.tensor([1j, 2, 3])), [7.0, 8.0, 9.0]),
    "a quotient of integers": (lambda x: x.div_(2), [7, 8, 9]),
    "a larger shape": (lambda x: x.add_(torch.ones(2, 3)), [7.0, 8.0, 9.0]),
    "an index out of range": (lambda x: x.index_add_(0, torch.tensor([0, 9]), torch.ones(2)), [7.0, 8.0, 9.0]),
}


@pytest.mark.parametrize("size", [3, 300_000], ids=["inline", "queued"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_call_leaves_its_tensor_as_it_was(name, size):
    change, values = REFUSED[name]
    x = torch.tensor(values)[None].repeat(size // 3, 1) if size > 3 and "index" not in name else torch.tensor(values)
    before = x.clone()
    with pytest.raises((RuntimeError, ValueError, TypeError, IndexError, ZeroDivisionError)):
        change(x)
        x.sum().item()
    assert torch.equal(x, before)


@pytest.mark.parametrize("name", ["relu_", "cos_", "ge_", "mul_"])
def test_stretched_memory_is_refused_before_anything_is_computed(name):
    x = torch.ones(1).expand(2**40)
    with pytest.raises(torch.OpforgeError, match="share memory"):
        getattr(x, name)(*([2] if name in {"ge_", "mul_"} else []))


def test_embedding_bag_that_is_refused_leaves_the_weight_alone():
    weight = torch.full((3, 2), 5.0)
    with pytest.raises(torch.OpforgeError, match="mode"):
        F.embedding_bag(torch.tensor([[0, 1]]), weight, max_norm=1.0, mode="average")
    assert (weight == 5.0).all()


def test_in_place_functions_are_the_methods():
    x = torch.tensor([-4.0, 9.0])
    assert torch.abs_(x) is x and torch.sqrt_(x).tolist() == [2.0, 3.0]
    assert torch.clamp_(x, max=2.5).tolist() == [2.0, 2.5] and torch.zero_(x).tolist() == [0.0, 0.0]
