"""Stochastic gradient descent."""

from __future__ import annotations

from .. import _core as _C
from .optimizer import Optimizer, check_range, decayed, implementation, in_one_pass


class SGD(Optimizer):
    """Gradient descent, with momentum `b ← momentum * b + (1 - dampening) * g` and, if `nesterov`, the step `g + momentum * b`.

    The first `b` is `g`. `weight_decay * p` is added to `g` before; `maximize` takes `-g`.

    >>> weight = opforge.tensor([1.0], requires_grad=True)
    >>> optimizer = opforge.optim.SGD([weight], lr=0.1)
    >>> (weight * weight).sum().backward()
    >>> optimizer.step()
    >>> round(weight.item(), 4)
    0.8
    """

    def __init__(
        self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None,
        differentiable=False, fused=None,
    ):  # fmt: skip
        check_range("learning rate", lr)
        check_range("momentum value", momentum)
        check_range("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        settings = implementation(foreach=foreach, differentiable=differentiable, fused=fused)
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, **settings,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, group, params):
        if not in_one_pass(group, params):
            return super()._update(group, params)
        if not group["momentum"]:
            return self._descend(group, params, [], False)
        fresh = [param for param in params if self.state[param].get("momentum_buffer") is None]
        known = [param for param in params if self.state[param].get("momentum_buffer") is not None]
        for param in fresh:
            self.state[param]["momentum_buffer"] = _C.empty_like(param)
        for params, is_first_step in (fresh, True), (known, False):
            if params:
                self._descend(group, params, [self.state[param]["momentum_buffer"] for param in params], is_first_step)

    def _update_one(self, param, grad, state, group):
        """The step of one parameter as operators."""
        momentum, grad = group["momentum"], decayed(grad, param, group["weight_decay"])
        if momentum:
            buffer = state.get("momentum_buffer")
            buffer = grad.clone() if buffer is None else momentum * buffer + (1 - group["dampening"]) * grad
            state["momentum_buffer"] = buffer
            grad = grad + momentum * buffer if group["nesterov"] else buffer
        param.add_(grad, alpha=-group["lr"])

    def _descend(self, group, params, momentum_buffers, is_first_step):
        _C.sgd_step_(
            params,
            [param.grad for param in params],
            momentum_buffers,
            lr=float(group["lr"]),
            momentum=float(group["momentum"]),
            dampening=float(group["dampening"]),
            weight_decay=float(group["weight_decay"]),
            nesterov=group["nesterov"],
            maximize=group["maximize"],
            is_first_step=is_first_step,
        )
