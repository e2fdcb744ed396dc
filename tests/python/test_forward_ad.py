"""Dual numbers: `autograd.forward_ad`, beside derivatives that are known."""

import numpy as np
import pytest

import opforge as torch
from opforge.autograd import forward_ad as fwAD
from opforge.autograd import gradcheck

X, V = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64), torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)


def near(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), np.asarray(expected), rtol=1e-9)


def test_tangents_go_forward():
    with fwAD.dual_level():
        dual = fwAD.make_dual(X, V)
        assert fwAD.unpack_dual(dual).tangent is V
        primal, tangent = fwAD.unpack_dual((dual**3).sin())
        near(primal, np.sin(X.numpy() ** 3))
        near(tangent, np.cos(X.numpy() ** 3) * 3 * X.numpy() ** 2 * V.numpy())
        assert not primal.requires_grad and not tangent.requires_grad


def test_several_dual_tensors_add_up():
    with fwAD.dual_level():
        x, y = fwAD.make_dual(X, V), fwAD.make_dual(V, X)
        near(fwAD.unpack_dual(x * y).tangent, V.numpy() ** 2 + X.numpy() ** 2)
        near(fwAD.unpack_dual(x * 2 + V).tangent, 2 * V.numpy())


def test_no_tangent_without_a_dual_tensor_or_a_level():
    with fwAD.dual_level():
        assert fwAD.unpack_dual(X * 2).tangent is None
        y = fwAD.make_dual(X, V) * 2
    assert fwAD.unpack_dual(y).tangent is None and fwAD.unpack_dual(y).primal is y


def test_dual_tensors_share_memory_and_may_be_changed():
    x = X.clone()
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, V)
        dual.mul_(2)
        near(fwAD.unpack_dual(dual).tangent, 2 * V.numpy())
    near(x, 2 * X.numpy())


def test_derivatives_of_tangents():
    x = X.clone().requires_grad_()
    with fwAD.dual_level():
        primal, tangent = fwAD.unpack_dual(fwAD.make_dual(x, V) ** 3)
    (gradient,) = torch.autograd.grad(tangent.sum(), x, retain_graph=True)
    near(gradient, 6 * X.numpy() * V.numpy())
    (gradient,) = torch.autograd.grad(primal.sum(), x)
    near(gradient, 3 * X.numpy() ** 2)


def test_parameters_of_modules():
    model, rows = torch.nn.Linear(3, 2), torch.randn(4, 3)
    parameters = dict(model.named_parameters())
    tangents = {name: torch.rand_like(p) for name, p in parameters.items()}
    with fwAD.dual_level():
        for name, p in parameters.items():
            delattr(model, name)
            setattr(model, name, fwAD.make_dual(p, tangents[name]))
        tangent = fwAD.unpack_dual(model(rows)).tangent
    np.testing.assert_allclose(tangent.detach().numpy(), (rows @ tangents["weight"].T + tangents["bias"]).numpy(), rtol=1e-5)


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.result = torch.exp(x)
        return ctx.result

    @staticmethod
    def jvp(ctx, tangent):
        found = tangent * ctx.result
        del ctx.result
        return found


def test_functions_with_their_own_jvp():
    with fwAD.dual_level():
        out = Exp.apply(fwAD.make_dual(X, V.float()))
        first, again = fwAD.unpack_dual(out), fwAD.unpack_dual(out)
        near(first.tangent, np.exp(X.numpy()) * V.numpy())
        assert again.tangent is first.tangent
    x = X.clone().requires_grad_()
    assert gradcheck(Exp.apply, (x,), check_forward_ad=True, check_backward_ad=False, check_undefined_grad=False, check_batched_grad=False)


def test_gradcheck_finds_a_wrong_jvp():
    class Wrong(Exp):
        @staticmethod
        def jvp(ctx, tangent):
            return tangent * ctx.result * 2

    with pytest.raises(RuntimeError, match="forward"):
        gradcheck(Wrong.apply, (X.clone().requires_grad_(),), check_forward_ad=True, check_backward_ad=False)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: fwAD.make_dual(X, V[:2]), RuntimeError, "different size"),
        (lambda: fwAD.make_dual(X.long(), V), ValueError, "primal"),
        (lambda: fwAD.make_dual(X, V.long()), ValueError, "tangent"),
        (lambda: fwAD.make_dual(fwAD.make_dual(X, V), V), RuntimeError, "same level"),
        (fwAD.enter_dual_level, RuntimeError, "Nested"),
    ],
)
def test_what_is_refused(call, error, words):
    with fwAD.dual_level(), pytest.raises(error, match=words):
        call()
    with pytest.raises(RuntimeError, match="no level"):
        fwAD.make_dual(X, V)
    with pytest.raises(RuntimeError, match="no level"):
        fwAD.exit_dual_level()
