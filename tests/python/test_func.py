"""Transformations of functions: values against formulas, in every nesting."""

import numpy as np
import pytest

import opforge as torch
from opforge import nn
from opforge.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vjp,
    vmap,
)


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


X = np.array([0.3, 0.7, -0.2])
BATCH = np.array([[0.1, 0.2, 0.3], [-0.4, 0.5, 0.6]])
WEIGHT = np.array([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]])


def cubes(x):
    return (x**3).sum()


def near(actual, expected):
    assert tuple(actual.shape) == np.shape(expected)
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=1e-12, atol=1e-12)


def test_gradients():
    near(grad(cubes)(tensor(X)), 3 * X**2)
    gradient, value = grad_and_value(cubes)(tensor(X))
    near(gradient, 3 * X**2)
    near(value, (X**3).sum())
    both = grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(tensor(X), tensor(2 * X))
    near(both[0], 2 * X)
    near(both[1], X)
    near(grad(lambda x, y: (x * y).sum(), argnums=-1)(tensor(X), tensor(2 * X)), X)


def test_gradients_of_trees_and_what_is_returned_besides():
    def loss(parameters, x):
        y = x @ parameters["w"] + parameters["b"][0]
        return (y**2).sum(), {"y": y}

    gradient, aux = grad(loss, has_aux=True)({"w": tensor(WEIGHT), "b": [tensor([1.0, 2.0])]}, tensor(BATCH))
    y = BATCH @ WEIGHT + [1.0, 2.0]
    near(aux["y"], y)
    near(gradient["w"], 2 * BATCH.T @ y)
    near(gradient["b"][0], 2 * y.sum(0))


def test_gradients_of_gradients():
    x = tensor(X)
    near(grad(lambda x: grad(cubes)(x).sum())(x), 6 * X)
    near(grad(lambda x: grad(lambda x: grad(cubes)(x).sum())(x).sum())(x), np.full(3, 6.0))
    # The inner variable is not the outer one: d/dx (x d/dy (x y)) = 2 x.
    near(grad(lambda x: x * grad(lambda y: x * y)(tensor(5.0)))(tensor(3.0)), 6.0)
    near(grad(lambda x: x * grad(lambda y: x + y)(tensor(5.0)))(tensor(3.0)), 1.0)


def test_gradients_are_differentiable_by_what_is_around():
    w, x = tensor(WEIGHT).requires_grad_(), tensor(X)
    gradient = grad(lambda x: ((x @ w) ** 2).sum())(x)
    (gradient**2).sum().backward()
    g = 2 * WEIGHT @ (X @ WEIGHT)
    expected = 2 * (2 * np.outer(X, g @ WEIGHT) + 2 * np.outer(g, X @ WEIGHT))
    near(w.grad, expected)
    leaf = tensor(X).requires_grad_()
    grad(cubes)(leaf).sum().backward()
    near(leaf.grad, 6 * X)


def test_results_need_gradients_only_if_something_around_does():
    x, w = tensor(X), tensor(WEIGHT).requires_grad_()
    assert not grad(cubes)(x).requires_grad and not vjp(cubes, x)[0].requires_grad
    assert not jvp(cubes, (x,), (x,))[1].requires_grad and not jacrev(cubes)(x).requires_grad
    assert jvp(lambda x: x @ w, (x,), (x,))[1].requires_grad
    with torch.no_grad():
        outside = grad(lambda x: (x @ w).sum())(x)
        assert not outside.requires_grad
        near(outside, WEIGHT.sum(1))
        near(grad(lambda x: grad(cubes)(x).sum())(x), 6 * X)


def test_products_with_jacobians():
    x, v = tensor(X), tensor([1.0, -2.0, 0.5])
    output, backward = vjp(lambda x: (x.sin(), {"s": (x**2).sum()}), x)
    near(output[0], np.sin(X))
    near(backward((v, {"s": tensor(3.0)}))[0], v.numpy() * np.cos(X) + 6 * X)
    near(backward((v, {"s": tensor(0.0)}))[0], v.numpy() * np.cos(X))
    output, tangent = jvp(lambda x: x.sin() * x[0], (x,), (v,))
    near(output, np.sin(X) * X[0])
    near(tangent, v.numpy() * np.cos(X) * X[0] + np.sin(X))
    output, forward = linearize(lambda x: x.sin(), x)
    near(output, np.sin(X))
    near(forward(v), v.numpy() * np.cos(X))
    near(forward(2 * v), 2 * v.numpy() * np.cos(X))
    near(jvp(lambda x: x * jvp(lambda y: x * y, (tensor(3.0),), (tensor(1.0),))[1], (tensor(2.0),), (tensor(1.0),))[1], 4.0)


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians(jacobian):
    x = tensor(X)
    near(jacobian(lambda x: (x @ tensor(WEIGHT)) ** 2)(x), 2 * (X @ WEIGHT)[:, None] * WEIGHT.T)
    near(jacobian(lambda x: x[:, None] * x)(x), np.einsum("ik,j->ijk", np.eye(3), X) + np.einsum("jk,i->ijk", np.eye(3), X))
    found = jacobian(lambda x, y: {"p": x * y, "s": ((x + y).sum(),)}, argnums=(0, 1))(x, 2 * x)
    near(found["p"][0], np.diag(2 * X))
    near(found["p"][1], np.diag(X))
    near(found["s"][0][1], np.ones(3))
    value, aux = jacobian(lambda x: (x * 2, x + 1), has_aux=True)(x)
    near(value, 2 * np.eye(3))
    near(aux, X + 1)
    assert tuple(jacobian(lambda x: x * 2)(torch.zeros(0)).shape) == (0, 0)
    near(jacobian(lambda x: torch.ones(2, dtype=torch.float64))(x), np.zeros((2, 3)))


@pytest.mark.parametrize("outer", [jacrev, jacfwd])
@pytest.mark.parametrize("inner", [jacrev, jacfwd, grad])
def test_second_derivatives(outer, inner):
    near(outer(inner(cubes))(tensor(X)), np.diag(6 * X))


def test_what_is_computed_without_gradients_is_constant():
    def partly(x):
        with torch.no_grad():
            constant = x**2
        return (x * constant).sum()

    near(grad(partly)(tensor(X)), X**2)
    near(jacfwd(partly)(tensor(X)), X**2)
    near(jvp(partly, (tensor(X),), (tensor(X),))[1], (X**3).sum())


def test_hessians():
    near(hessian(cubes)(tensor(X)), np.diag(6 * X))
    (aa, ab), (ba, bb) = hessian(lambda a, b: (a * b).sum() + cubes(a), argnums=(0, 1))(tensor(X), tensor(X))
    near(aa, np.diag(6 * X))
    near(ab, np.eye(3))
    near(ba, np.eye(3))
    near(bb, np.zeros((3, 3)))
    near(vmap(hessian(cubes))(tensor(BATCH)), np.stack([np.diag(6 * row) for row in BATCH]))


def test_batches():
    x, w = tensor(BATCH), tensor(WEIGHT)
    near(vmap(lambda x: (x**2).sum())(x), (BATCH**2).sum(1))
    near(vmap(torch.dot, in_dims=(0, None))(x, tensor(X)), BATCH @ X)
    near(vmap(lambda x: x * 2, in_dims=1, out_dims=-1)(x), 2 * BATCH)
    near(vmap(lambda x: x * 2, in_dims=-1)(x), 2 * BATCH.T)
    near(vmap(lambda row: vmap(lambda column: row @ column, in_dims=1)(w))(x), BATCH @ WEIGHT)
    near(vmap(vmap(lambda a, b: a - b, (0, None)), (None, 0))(tensor(X), tensor(X)), X - X[:, None])
    near(vmap(lambda x: torch.ones(2))(x), np.ones((2, 2)))
    near(vmap(lambda x, k=None: x * k)(x, k=tensor(X)), BATCH * X)


def test_batches_of_trees():
    found = vmap(lambda d, y: {"s": d["a"] + d["b"][0], "p": (d["a"] * y,)}, in_dims=({"a": 0, "b": [None]}, 1))(
        {"a": tensor(BATCH), "b": [tensor(X)]}, tensor(BATCH.T)
    )
    near(found["s"], BATCH + X)
    near(found["p"][0], BATCH * BATCH)
    first, second = vmap(lambda x: (x, torch.ones(1)), out_dims=(1, None))(tensor(BATCH))
    near(first, BATCH.T)
    near(second, np.ones(1))


def test_derivatives_of_batches_and_batches_of_derivatives():
    x, w = tensor(BATCH), tensor(WEIGHT)
    near(vmap(grad(cubes))(x), 3 * BATCH**2)
    near(jacrev(vmap(cubes))(x), np.einsum("ij,ik->ikj", 3 * BATCH**2, np.eye(2)).transpose(1, 0, 2).reshape(2, 2, 3))
    per_example = vmap(grad(lambda w, x: ((x @ w) ** 2).sum()), in_dims=(None, 0))(w, x)
    near(per_example, np.stack([2 * np.outer(row, row @ WEIGHT) for row in BATCH]))
    near(vmap(lambda v: vjp(torch.sin, tensor(X))[1](v)[0])(tensor(np.eye(3))), np.diag(np.cos(X)))
    leaf = tensor(BATCH).requires_grad_()
    vmap(cubes)(leaf).sum().backward()
    near(leaf.grad, 3 * BATCH**2)


def test_a_batch_of_nothing():
    assert tuple(vmap(lambda x: x @ torch.ones(3, 4))(torch.ones(0, 2, 3)).shape) == (0, 2, 4)


def test_random_numbers_of_batches():
    x = torch.zeros(4)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda x: x + torch.rand(()))(x)
    assert len(set(vmap(lambda x: x + torch.rand(()), randomness="different")(x).tolist())) == 4
    same = vmap(lambda x: x + torch.rand(()), randomness="same")(x).tolist()
    assert len(set(same)) == 1 and vmap(lambda x: x + torch.rand(()), randomness="same")(x).tolist() != same


def test_compiled():
    compiled = torch.compile(lambda x: vmap(grad(cubes))(x), fullgraph=True)
    near(compiled(tensor(BATCH)), 3 * BATCH**2)
    near(compiled(tensor(2 * BATCH)), 12 * BATCH**2)
    with pytest.warns(UserWarning, match="runs as it is"):
        same = torch.compile(vmap(lambda x: x + torch.rand(()), randomness="same"))(torch.zeros(3)).tolist()
    assert len(set(same)) == 1


@pytest.mark.parametrize(
    "error, match, call",
    [
        (RuntimeError, "scalar Tensor", lambda x: grad(lambda x: x)(x)),
        (RuntimeError, "return a Tensor", lambda x: grad(lambda x: 3)(x)),
        (RuntimeError, "argnum=1", lambda x: grad(cubes, argnums=1)(x)),
        (RuntimeError, "unique", lambda x: grad(cubes, argnums=(0, 0))(x)),
        (RuntimeError, "argnums must be", lambda x: grad(cubes, argnums="a")(x)),
        (RuntimeError, "has_aux", lambda x: grad(cubes, has_aux=True)(x)),
        (ValueError, "must be Tensor", lambda x: grad(cubes)(3.0)),
        (RuntimeError, "only tensors", lambda x: vjp(lambda x: 3, x)),
        (RuntimeError, "Mismatch in shape", lambda x: vjp(torch.sin, x)[1](torch.ones(2))),
        (RuntimeError, "pytree structure", lambda x: vjp(torch.sin, x)[1]((x, x))),
        (RuntimeError, "primals to be a tuple", lambda x: jvp(torch.sin, x, x)),
        (RuntimeError, "python structure", lambda x: jvp(torch.sin, (x,), (x, x))),
        (RuntimeError, "equal shapes", lambda x: jvp(torch.sin, (x,), (torch.ones(2),))),
        (ValueError, "chunk_size", lambda x: jacrev(torch.sin, chunk_size=0)),
        (ValueError, "mapped dimension", lambda x: vmap(torch.add)(x, torch.ones(2))),
        (ValueError, "non-Tensor", lambda x: vmap(torch.sin)(3)),
        (ValueError, "no inputs", lambda x: vmap(torch.sin)()),
        (ValueError, "not compatible", lambda x: vmap(torch.sin, in_dims=(0, 0))(x)),
        (ValueError, "in_dims=2", lambda x: vmap(torch.sin, in_dims=2)(x)),
        (ValueError, "must only return Tensors", lambda x: vmap(lambda x: 3)(x)),
        (ValueError, "differs between", lambda x: vmap(torch.sin, out_dims=None)(x)),
        (IndexError, "out of range", lambda x: vmap(torch.sin, out_dims=3)(x)),
        (RuntimeError, "randomness", lambda x: vmap(torch.sin, randomness="some")),
        (RuntimeError, "functionalize", lambda x: functionalize(torch.sin, remove="views")),
    ],
)
def test_bad_input(error, match, call):
    with pytest.raises(error, match=match):
        call(tensor(X))


def test_modules_as_functions():
    layer = torch.nn.Linear(2, 1)
    own = layer.weight
    given = {"weight": torch.ones(1, 2, requires_grad=True), "bias": torch.zeros(1)}
    y = functional_call(layer, given, torch.ones(3, 2), strict=True)
    assert y.tolist() == [[2.0]] * 3 and layer.weight is own
    y.sum().backward()
    assert given["weight"].grad.tolist() == [[3.0, 3.0]] and own.grad is None
    with pytest.raises(ZeroDivisionError):
        layer.register_forward_hook(lambda *_: 1 / 0)
        functional_call(layer, given, torch.ones(3, 2))
    assert layer.weight is own
    for error, match, parameters in [
        (RuntimeError, "Missing key.*bias", {"weight": own}),
        (RuntimeError, "Unexpected key.*scale", {**given, "scale": own}),
        (ValueError, "multiple dictionaries", (given, given)),
        (TypeError, "not an instance", {"weight": 3}),
        (ValueError, "to be a dict", 3),
    ]:
        with pytest.raises(error, match=match):
            functional_call(layer, parameters, torch.ones(3, 2), strict=True)


def test_buffers_are_changed_where_they_are_given():
    norm = torch.nn.BatchNorm1d(2)
    mean = torch.zeros(2)
    functional_call(norm, {"running_mean": mean}, torch.ones(4, 2) * 5)
    assert (mean > 0).all() and norm.running_mean.tolist() == [0.0, 0.0]
    replace_all_batch_norm_modules_(norm)
    assert norm.running_mean is None and norm(torch.randn(4, 2)).shape == (4, 2)


def test_tied_parameters():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    x, eye = torch.ones(1, 2), torch.eye(2)
    assert functional_call(model, {"0.weight": 2 * eye}, x).tolist() == [[4.0, 4.0]]
    untied = functional_call(model, {"0.weight": 2 * eye}, x, tie_weights=False)
    np.testing.assert_allclose(untied.detach().numpy(), 2 * model[1](x).detach().numpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="tied"):
        functional_call(model, {"0.weight": eye, "1.weight": 2 * eye}, x)


def test_ensembles():
    models = [torch.nn.Linear(2, 3) for _ in range(4)]
    parameters, buffers = stack_module_state(models)
    assert parameters["weight"].requires_grad and parameters["weight"].is_leaf and buffers == {}
    x = torch.randn(5, 2)
    y = vmap(lambda parameters: functional_call(models[0], parameters, x))(parameters)
    np.testing.assert_array_equal(y.detach().numpy(), np.stack([model(x).detach().numpy() for model in models]))
    for match, group in [
        ("at least one", []),
        ("same class", [torch.nn.Linear(1, 1), torch.nn.ReLU()]),
        ("training/eval", [torch.nn.Linear(1, 1), torch.nn.Linear(1, 1).eval()]),
    ]:
        with pytest.raises(RuntimeError, match=match):
            stack_module_state(group)


def test_no_tensor_is_a_wrapper():
    from opforge._C import _functorch

    def seen(x):
        assert not _functorch.is_batchedtensor(x) and not _functorch.is_functorch_wrapped_tensor(x)
        assert _functorch.maybe_get_level(x) == _functorch.maybe_get_bdim(x) == -1
        return x

    near(vmap(seen)(tensor(BATCH)), BATCH)
    with pytest.raises(RuntimeError, match="no wrapper"):
        _functorch.get_unwrapped(tensor(X))


def test_functions_of_parameters():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    function, parameters, buffers = torch.func.make_functional_with_buffers(net)
    x = torch.ones(4, 2)
    assert torch.equal(function(parameters, buffers, x), net(x)) and parameters[0] is not net[0].weight
    function, parameters = torch.func.make_functional(net[0])
    torch.func.grad(lambda parameters: function(parameters, x).sum())(parameters)
    assert torch.equal(function([torch.zeros(3, 2), torch.ones(3)], x), torch.ones(4, 3))
    with pytest.raises(RuntimeError, match="buffers"):
        torch.func.make_functional(net)
