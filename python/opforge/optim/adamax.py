"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from .. import _core as _C
from .optimizer import Optimizer, check_betas, check_range, decayed, descend, implementation, start


class Adamax(Optimizer):
    """Adamax (Kingma and Ba, 2014): Adam with the infinity norm, `u ← max(β₂ u, |g| + eps)` in place of `sqrt(v)`."""

    _scalars = ("step",)

    def __init__(
        self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
        differentiable=False, capturable=False,
    ):  # fmt: skip
        check_range("learning rate", lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            **implementation(foreach=foreach, differentiable=differentiable, capturable=capturable),
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update_one(self, param, grad, state, group):
        step = start(state, param, "exp_avg", "exp_inf")
        beta1, beta2 = group["betas"]
        grad = decayed(grad, param, group["weight_decay"])
        state["exp_avg"].lerp_(grad, 1 - beta1)
        state["exp_inf"].copy_(_C.maximum(beta2 * state["exp_inf"], grad.abs() + group["eps"]))
        descend(param, state["exp_avg"], state["exp_inf"], group["lr"] / (1 - beta1**step))
