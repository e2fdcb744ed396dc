"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from .adam import averages
from .optimizer import Optimizer, check_betas, check_range, descend, implementation, multiply, start


class NAdam(Optimizer):
    """NAdam (Dozat, 2016): Adam with Nesterov momentum, which grows with the step by `momentum_decay`."""

    _scalars = ("step", "mu_product")

    def __init__(
        self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False, *,
        foreach=None, maximize=False, capturable=False, differentiable=False,
    ):  # fmt: skip
        check_range("learning rate", lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        check_range("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
            **implementation(foreach=foreach, capturable=capturable, differentiable=differentiable),
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update_one(self, param, grad, state, group):
        step = start(state, param, "exp_avg", "exp_avg_sq")
        (beta1, beta2), lr = group["betas"], group["lr"]
        grad = averages(param, grad, state, group)
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * group["momentum_decay"]))
        product = multiply(state, "mu_product", mu)
        scale = (state["exp_avg_sq"] / (1 - beta2**step)).sqrt() + group["eps"]
        descend(param, grad, scale, lr * (1 - mu) / (1 - product))
        descend(param, state["exp_avg"], scale, lr * mu_next / (1 - product * mu_next))
