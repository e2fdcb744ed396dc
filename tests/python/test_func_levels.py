"""Transformations within others, and within the modes of the program: whose history results have, and what has derivatives."""

import numpy as np
import pytest

import opforge as torch
from opforge.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


X, Z, ONES = tensor(1.0, 2.0, 3.0), tensor(4.0, 5.0, 6.0), tensor(1.0, 1.0, 1.0)


def cubes(x):
    return (x**3).sum()


def near(actual, expected):
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-12)


def test_inference_mode_does_not_hide_derivatives():
    """They were zeros: in inference mode nothing was recorded, for transformations neither."""
    with torch.inference_mode():
        near(grad(cubes)(X), [3, 12, 27])
        near(grad_and_value(cubes)(X)[0], [3, 12, 27])
        near(vjp(torch.sin, X)[1](X)[0], X * X.cos())
        near(jvp(torch.sin, (X,), (X,))[1], X * X.cos())
        near(linearize(torch.sin, X)[1](X), X * X.cos())
        near(jacrev(torch.sin)(X), torch.diag(X.cos()))
        near(jacfwd(torch.sin)(X), torch.diag(X.cos()))
        near(hessian(cubes)(X), torch.diag(6 * X))
        near(vmap(grad(lambda x: grad(lambda x: x**3)(x)))(X), 6 * X)
        layer = torch.nn.Linear(3, 1)
        weight = {"weight": torch.ones(1, 3), "bias": torch.ones(1)}
        near(grad(lambda given: functional_call(layer, given, X.float()).sum())(weight)["weight"], [[1, 2, 3]])
        assert torch.is_inference_mode_enabled()


def test_inference_mode_ends_for_the_function():
    seen = []

    def function(x):
        seen.append((torch.is_inference_mode_enabled(), torch.is_grad_enabled()))
        return x.sum()

    with torch.inference_mode():
        assert not grad(function)(X).requires_grad
    assert seen == [(False, True)]


OF_CLOSURES = {
    "grad": lambda a: grad(lambda b: (a * b * b).sum())(Z),
    "vjp": lambda a: vjp(lambda b: a * b * b, Z)[1](ONES)[0],
    "jvp": lambda a: jvp(lambda b: a * b * b, (Z,), (ONES,))[1],
    "linearize": lambda a: linearize(lambda b: a * b * b, Z)[1](ONES),
    "jacrev": lambda a: jacrev(lambda b: a * b * b)(Z).sum(0),
    "jacfwd": lambda a: jacfwd(lambda b: a * b * b)(Z).sum(0),
    "twice": lambda a: grad(lambda c: (jvp(lambda b: a * b * c, (Z,), (Z,))[1]).sum())(Z) * 2,
}
OUTER = {
    "grad": lambda function: grad(lambda a: function(a).sum())(X),
    "jvp": lambda function: jvp(function, (X,), (ONES,))[1],
    "jacrev": lambda function: jacrev(function)(X).sum(0),
    "jacfwd": lambda function: jacfwd(function)(X).sum(0),
}


@pytest.mark.parametrize("inner", OF_CLOSURES.values(), ids=OF_CLOSURES)
@pytest.mark.parametrize("outer", OUTER.values(), ids=OUTER)
def test_the_outermost_results_have_no_history(inner, outer):
    """The variables of inner transformations, which nobody differentiates by any more, were taken for somebody else's."""
    found = outer(inner)
    assert not found.requires_grad
    near(found, 2 * Z)


def test_each_result_has_the_history_that_it_needs():
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    assert not grad(lambda x: (x * x).sum() + (w * w).sum())(X).requires_grad
    gradient, aux = grad(lambda x: ((x * x).sum(), w * 2), has_aux=True)(X)
    assert not gradient.requires_grad and aux.requires_grad
    gradient, aux = grad(lambda x: ((x * x * w).sum(), x * 2), has_aux=True)(X)
    assert gradient.requires_grad and not aux.requires_grad
    first, second = grad(lambda x, z: (x * x + z * w).sum(), argnums=(0, 1))(X, Z)
    assert not first.requires_grad and second.requires_grad
    grad(lambda a: grad(lambda b: (a * b * b * w).sum())(Z).sum())(X).sum().backward()
    near(w.grad, 2 * Z)


def test_products_that_outlive_their_function_leave_no_history():
    _, product = vjp(torch.sin, X)
    found = grad(lambda seed: (product(seed)[0] ** 2).sum())(Z)
    assert not found.requires_grad
    near(found, 2 * Z * X.cos() ** 2)
    seed = Z.clone().requires_grad_()
    product(seed)[0].sum().backward()
    near(seed.grad, X.cos())


def test_outputs_of_other_dtypes_have_zeros_for_tangents():
    """They were a DTypeError, as no integer needs a gradient."""
    (values, places), (tangent, zeros) = jvp(lambda x: x.sort(descending=True), (X,), (Z,))
    near(values, [3, 2, 1])
    near(tangent, [6, 5, 4])
    assert places.tolist() == [2, 1, 0] and zeros.tolist() == [0, 0, 0] and zeros.dtype == torch.int64
    assert jvp(torch.argmax, (X,), (ONES,))[1].tolist() == 0
    jacobian = jacfwd(lambda x: (x * 2, x > 1))(X)
    near(jacobian[0], 2 * torch.eye(3))
    assert jacobian[1].dtype == torch.bool and jacobian[1].tolist() == [[False] * 3] * 3
    assert linearize(lambda x: x.max(0), X)[1](Z)[1].dtype == torch.int64
    with pytest.raises(RuntimeError, match="strict"):
        jvp(torch.argmax, (X,), (ONES,), strict=True)


@pytest.mark.parametrize(
    "match, call",
    [
        ("real one expected", lambda c: grad(lambda x: (x * x).sum())(c)),
        ("real one expected", lambda c: grad_and_value(lambda x: (x * 1j).sum())(X)),
        ("jacrev: input 0", lambda c: jacrev(torch.real)(c)),
        ("jacrev: output 0", lambda c: jacrev(lambda x: x * 1j)(X)),
        ("jacfwd: input 0", lambda c: jacfwd(torch.real)(c)),
        ("jacfwd: output 0", lambda c: jacfwd(lambda x: x * 1j)(X)),
        ("floating-point", lambda c: jacrev(torch.argmax)(X)),
        ("floating-point", lambda c: vjp(lambda x: x > 1, X)),
    ],
)
def test_refused_dtypes(match, call):
    """Complex ones had a part of their derivative."""
    with pytest.raises(RuntimeError, match=match):
        call(torch.tensor([1 + 2j, 2 - 1j]))


def test_what_is_allowed_of_complex_numbers():
    c = torch.tensor([1 + 2j, 2 - 1j], dtype=torch.complex128)
    near(grad(lambda x: (x * x.conj()).real.sum())(c), 2 * c)
    near(jvp(lambda x: x * x, (c,), (c,))[1], 2 * c * c)
