"""Parametrized modules, the parametrizations that are there, and weight and spectral normalization by hooks."""

import copy
import pickle

import numpy as np
import pytest

import opforge as torch
import opforge.nn.utils.parametrize as parametrize
from opforge import nn
from opforge.nn.utils import parametrizations

X = torch.tensor([[1.0, -2.0, 0.5]])


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, x):
        return x.triu()


class Positive(nn.Module):
    calls = 0

    def forward(self, x):
        Positive.calls += 1
        return x.exp()


class Outer(nn.Module):
    def forward(self, x, y):
        return x.outer(y)

    def right_inverse(self, z):
        return z[:, 0].clone(), z[0].clone()


class FirstRow(nn.Module):
    def forward(self, x):
        return x[:1]


def symmetric():
    return parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())


def test_a_tensor_is_computed_from_its_original():
    layer = nn.Linear(3, 3)
    weight = layer.weight
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert layer.parametrizations.weight.original is weight
    assert torch.equal(layer.weight, layer.weight.T)
    assert sorted(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert [name for name, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    layer(X).sum().backward()
    assert weight.grad.tril(-1).abs().sum().item() == 0 and weight.grad.triu().abs().sum().item() > 0


def test_values_are_assigned_through_the_right_inverse():
    layer, value = symmetric(), torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    layer.weight = value
    assert torch.equal(layer.weight, value)
    assert torch.equal(layer.parametrizations.weight.original, value.triu())
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Positive())
    with pytest.raises(RuntimeError, match="right_inverse"):
        layer.weight = value


def test_several_follow_each_other():
    layer = symmetric()
    before = layer.weight.detach().numpy()
    parametrize.register_parametrization(layer, "weight", Positive())
    np.testing.assert_allclose(layer.weight.detach().numpy(), np.exp(before), rtol=1e-6)
    assert len(layer.parametrizations.weight) == 2


def test_one_may_take_several_tensors():
    layer = parametrize.register_parametrization(nn.Linear(4, 3), "weight", Outer())
    assert [tuple(p.shape) for p in layer.parametrizations.weight.parameters()] == [(3,), (4,)]
    layer.weight = torch.ones(3, 4)
    assert layer.weight.sum().item() == 12
    with pytest.raises(ValueError, match="sequence"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.sum().item() == 12 and type(layer) is nn.Linear


def test_values_are_computed_once_within_cached():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Positive())
    Positive.calls = 0
    with parametrize.cached():
        with parametrize.cached():
            first = layer.weight
        assert layer.weight is first
    assert Positive.calls == 1
    assert layer.weight is not first and Positive.calls == 2


def test_removing():
    layer = symmetric()
    original, value = layer.parametrizations.weight.original, layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight is original and torch.equal(layer.weight, value)
    assert type(layer) is nn.Linear and not parametrize.is_parametrized(layer)
    layer = symmetric()
    original = layer.parametrizations.weight.original.detach().clone()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert torch.equal(layer.weight, original)


def test_buffers():
    module = nn.Module()
    module.register_buffer("rate", torch.tensor([0.0, 1.0]))
    parametrize.register_parametrization(module, "rate", Positive())
    np.testing.assert_allclose(module.rate.numpy(), np.exp([0.0, 1.0]), rtol=1e-6)
    assert not list(module.parameters()) and sorted(module.state_dict()) == ["parametrizations.rate.original"]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))], ids=["copied", "pickled"])
def test_copies_are_independent(duplicate):
    layer = symmetric()
    twin = duplicate(layer)
    assert torch.equal(twin.weight, layer.weight) and type(twin) is type(layer)
    twin.weight = torch.zeros(3, 3)
    assert layer.weight.abs().sum().item() > 0
    parametrize.register_parametrization(layer, "bias", Positive())
    assert not parametrize.is_parametrized(twin, "bias")


def test_what_cannot_be_registered():
    with pytest.raises(ValueError, match="name 'absent'"):
        parametrize.register_parametrization(nn.Linear(3, 3), "absent", Positive())
    layer = nn.Linear(3, 3)
    with pytest.raises(ValueError, match="shape"):
        parametrize.register_parametrization(layer, "weight", FirstRow())
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter)
    parametrize.register_parametrization(layer, "weight", FirstRow(), unsafe=True)
    assert layer.weight.shape == (1, 3)
    with pytest.raises(ValueError, match="bias"):
        parametrize.remove_parametrizations(layer, "bias")


def test_transfer():
    source, target = symmetric(), nn.Linear(3, 3)
    assert parametrize.transfer_parametrizations_and_params(source, target) is target
    assert target.parametrizations.weight.original is source.parametrizations.weight.original
    assert parametrize.type_before_parametrizations(target) is nn.Linear
    module = parametrize.transfer_parametrizations_and_params(source, nn.Module(), "weight")
    assert torch.equal(module.weight, source.weight)


@pytest.mark.parametrize(("dim", "axes"), [(0, (1,)), (1, (0,)), (None, (0, 1))])
@pytest.mark.parametrize("old", [False, True])
def test_weight_norm(dim, axes, old):
    layer = nn.Linear(3, 4)
    before = layer.weight.detach().clone()
    layer = nn.utils.weight_norm(layer, dim=dim) if old else parametrizations.weight_norm(layer, dim=dim)
    g, v = (layer.weight_g, layer.weight_v) if old else layer.parametrizations.weight.parameters()
    assert torch.allclose(layer.weight, before)
    np.testing.assert_allclose(g.detach().numpy(), np.sqrt((before.numpy() ** 2).sum(axes, keepdims=dim is not None)), rtol=1e-5)
    with torch.no_grad():
        g *= 2
        v *= 3
    layer(X).sum().backward()
    assert torch.allclose(layer.weight, 2 * before) and g.grad is not None and v.grad is not None


def test_state_of_the_old_weight_norm_is_read():
    old, new = nn.utils.weight_norm(nn.Linear(3, 4)), parametrizations.weight_norm(nn.Linear(3, 4))
    new.load_state_dict(old.state_dict())
    assert torch.allclose(new(X), old(X))
    nn.utils.remove_weight_norm(old)
    assert isinstance(old.weight, nn.Parameter) and torch.allclose(new.weight, old.weight)
    with pytest.raises(ValueError, match="not found"):
        nn.utils.remove_weight_norm(old)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(("layer", "rows"), [(nn.Linear(3, 4), 0), (nn.ConvTranspose2d(2, 3, 2), 1)], ids=["linear", "transposed"])
def test_spectral_norm(layer, rows, old):
    layer, function = copy.deepcopy(layer), nn.utils.spectral_norm if old else parametrizations.spectral_norm
    before = layer.weight.detach().numpy()
    matrix = np.moveaxis(before, rows, 0).reshape(before.shape[rows], -1)
    function(layer, n_power_iterations=100)
    if old:
        layer(X if rows == 0 else torch.ones(1, 2, 2, 2))
    np.testing.assert_allclose(layer.weight.detach().numpy(), before / np.linalg.svd(matrix, compute_uv=False)[0], rtol=1e-4)
    layer.weight.sum().backward()
    if old:
        nn.utils.remove_spectral_norm(layer)
        assert isinstance(layer.weight, nn.Parameter)
    with pytest.raises(ValueError, match="positive"):
        function(nn.Linear(3, 3), n_power_iterations=0)


def test_the_old_spectral_norm_begins_at_the_left_vector():
    layer = nn.utils.spectral_norm(nn.Linear(3, 2).double())
    with torch.no_grad():
        layer.weight_v.fill_(0.0)
    weight, left = layer.weight_orig.detach().numpy(), layer.weight_u.numpy().copy()
    right = weight.T @ left
    right /= np.linalg.norm(right)
    left = weight @ right
    greatest = np.linalg.norm(left)
    layer(torch.ones(1, 3, dtype=torch.float64))
    np.testing.assert_allclose(layer.weight_v.numpy(), right, rtol=1e-12)
    np.testing.assert_allclose(layer.weight_u.numpy(), left / greatest, rtol=1e-12)
    np.testing.assert_allclose(layer.weight.detach().numpy(), weight / greatest, rtol=1e-12)


def test_spectral_norm_of_a_vector_is_its_direction():
    layer = parametrizations.spectral_norm(nn.Linear(3, 4), "bias")
    assert abs(layer.bias.norm().item() - 1) < 1e-6


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize("map", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal(shape, map, trivial):
    layer = nn.Linear(shape[1], shape[0]).double()
    parametrizations.orthogonal(layer, orthogonal_map=map, use_trivialization=trivial)

    def is_orthogonal():
        weight = layer.weight.detach().numpy()
        product = weight.T @ weight if shape[0] >= shape[1] else weight @ weight.T
        np.testing.assert_allclose(product, np.eye(min(shape)), atol=1e-12)

    is_orthogonal()
    original = layer.parametrizations.weight.original
    with torch.no_grad():
        original += 0.1 * torch.arange(original.numel(), dtype=torch.float64).reshape(shape)
    is_orthogonal()
    (layer.weight * torch.arange(original.numel(), dtype=torch.float64).reshape(shape)).sum().backward()
    assert original.grad.abs().sum().item() > 0
    value = torch.tensor(np.linalg.qr(np.random.RandomState(0).randn(5, 5))[0][: shape[0], : shape[1]] if shape == (5, 3) else np.eye(*shape))
    if trivial or map == "householder":
        layer.weight = value
        np.testing.assert_allclose(layer.weight.detach().numpy(), value.numpy(), atol=1e-12)
    else:
        with pytest.raises(NotImplementedError):
            layer.weight = value


def test_what_cannot_be_orthogonal():
    for arguments in (("bias",), ("weight", "other"), ("absent",)):
        with pytest.raises(ValueError):
            parametrizations.orthogonal(nn.Linear(3, 3), *arguments)
