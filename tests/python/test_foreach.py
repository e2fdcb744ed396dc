"""`_foreach_*`: each result is that of the operator on one tensor of the list."""

import numpy as np
import pytest

import opforge as torch
from opforge._functional import foreach

NAMES = foreach.__all__
UNARY = foreach._UNARY.split()


def some(count=3, low=0.2, high=0.9):
    random = np.random.RandomState(3)
    return [torch.tensor(random.uniform(low, high, (k + 1, 2))) for k in range(count)]


def agree(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_names_are_those_of_the_package():
    assert len(NAMES) == len(set(NAMES)) > 90
    assert all(getattr(torch, name).__doc__ for name in NAMES)
    with pytest.raises(AttributeError):
        torch._foreach_nothing


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    tensors = some()
    expected = [getattr(torch, name)(x) for x in tensors]
    agree(getattr(torch, f"_foreach_{name}")(tensors), expected)
    assert getattr(torch, f"_foreach_{name}_")(tensors) is tensors
    agree(tensors, expected)


BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power, "maximum": np.maximum, "minimum": np.minimum,
    "clamp_min": np.maximum, "clamp_max": np.minimum,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("other", [0.5, [0.5, 0.1, 0.7], "tensors", "scalar tensor"], ids=str)
def test_binary(name, other):
    tensors = some()
    given = some(low=0.1) if other == "tensors" else torch.tensor(0.5, dtype=torch.float64) if other == "scalar tensor" else other
    each = given if isinstance(given, list) else [given] * 3
    expected = [torch.tensor(BINARY[name](x.numpy(), y.numpy() if isinstance(y, torch.Tensor) else y)) for x, y in zip(tensors, each)]
    agree(getattr(torch, f"_foreach_{name}")(tensors, given), expected)
    assert getattr(torch, f"_foreach_{name}_")(tensors, given) is tensors
    agree(tensors, expected)


def test_alpha():
    x, y = some(), some(low=0.5)
    agree(torch._foreach_add(x, y, alpha=3), [a + 3 * b for a, b in zip(x, y)])
    agree(torch._foreach_sub_(x, y, alpha=0.5), [a - 0.5 * b for a, b in zip(some(), y)])
    with pytest.raises(TypeError, match="alpha"):
        torch._foreach_add(x, 1.0, alpha=2)


@pytest.mark.parametrize("scalars", [None, [1.0, 2.0, 3.0], torch.tensor([1.0, 2.0, 3.0])], ids=str)
@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_products_and_quotients_are_added(name, scalars):
    x, a, b = some(), some(low=0.3), some(low=0.5)
    factors = [0.5] * 3 if scalars is None else [1.0, 2.0, 3.0]
    given = {"value": 0.5} if scalars is None else {"scalars": scalars}
    expected = [x + f * (a * b if name == "addcmul" else a / b) for x, a, b, f in zip(x, a, b, factors)]
    agree(getattr(torch, f"_foreach_{name}")(x, a, b, **given), expected)
    agree(getattr(torch, f"_foreach_{name}_")(x, a, b, **given), expected)


def test_the_rest():
    x, y = some(), some(low=0.5)
    agree(torch._foreach_lerp(x, y, 0.25), [a + 0.25 * (b - a) for a, b in zip(x, y)])
    agree(torch._foreach_lerp(x, y, y), [a + b * (b - a) for a, b in zip(x, y)])
    agree(torch._foreach_norm(x, 1), [a.sum() for a in x])
    agree(torch._foreach_powsum(x, 3), [a.pow(3).sum() for a in x])
    agree(torch._foreach_max(x), [a.max() for a in x])
    agree(torch._foreach_mm(x, [torch.eye(2, dtype=torch.float64)] * 3), x)
    agree(torch._foreach_pow(2.0, x), [2**a for a in x])
    copies = torch._foreach_clone(x)
    agree(torch._foreach_zero_(x), [torch.zeros_like(a) for a in x])
    agree(torch._foreach_copy_(x, copies), copies)


def test_what_is_passed_is_checked_before_anything_changes():
    x = some()
    for call in (lambda: torch._foreach_add_(x, [1.0]), lambda: torch._foreach_mul_(x, x[:2]), lambda: torch._foreach_exp([])):
        with pytest.raises(RuntimeError):
            call()
    for call in (lambda: torch._foreach_exp(x[0]), lambda: torch._foreach_abs([1.0]), lambda: torch._foreach_add(x, [1.0, "a", 2.0])):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(RuntimeError, match="cast"):
        torch._foreach_add_([torch.tensor([1.0]), torch.tensor([1])], 0.5)
    with pytest.raises(RuntimeError, match="0 dim"):
        torch._foreach_add(x, torch.ones(3))
    with pytest.raises(RuntimeError, match="without elements"):
        torch._foreach_max([torch.empty(0)])
    agree(x, some())


def test_gradients_flow():
    x = [a.requires_grad_() for a in some()]
    assert torch.autograd.gradcheck(lambda *x: torch._foreach_mul(torch._foreach_exp(x), 2.0), x)
