"""Adadelta."""

from __future__ import annotations

from .optimizer import Optimizer, check_range, decayed, implementation, start


class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012): steps scaled by the ratio of the running root mean squares of steps and gradients."""

    _scalars = ("step",)

    def __init__(
        self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
        differentiable=False,
    ):  # fmt: skip
        check_range("learning rate", lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_range("epsilon value", eps)
        check_range("weight_decay value", weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            **implementation(foreach=foreach, capturable=capturable, differentiable=differentiable),
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update_one(self, param, grad, state, group):
        start(state, param, "square_avg", "acc_delta")
        rho, eps = group["rho"], group["eps"]
        grad = decayed(grad, param, group["weight_decay"])
        state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = (state["acc_delta"] + eps).sqrt() / (state["square_avg"] + eps).sqrt() * grad
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-group["lr"])
