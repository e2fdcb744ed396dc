"""Adam, and the averages that its relatives have too."""

from __future__ import annotations

from .. import _core as _C
from .._calls.tracing import is_compiling
from .optimizer import Optimizer, check_betas, check_range, decayed, descend, implementation, in_one_pass, start


def averages(param, grad, state, group):
    """Brings Adam's two averages, of gradients and of their squares, up to date, after either kind of weight decay; returns the gradient after it."""
    beta1, beta2 = group["betas"]
    if group["decoupled_weight_decay"]:
        param.mul_(1 - group["lr"] * group["weight_decay"])
    else:
        grad = decayed(grad, param, group["weight_decay"])
    state["exp_avg"].lerp_(grad, 1 - beta1)
    state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    return grad


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2014): `m ← β₁ m + (1 - β₁) g`, `v ← β₂ v + (1 - β₂) g²`, `p ← p - lr * m̂ / (sqrt(v̂) + eps)`.

    `m̂ = m / (1 - β₁ᵗ)` and `v̂ = v / (1 - β₂ᵗ)` at step `t`. With `amsgrad`, `v̂` is the largest so far. `weight_decay * p` is added to `g`, or
    with `decoupled_weight_decay` the parameter shrinks by `lr * weight_decay` of itself instead.
    """

    _scalars = ("step",)
    _reads_rates = True

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False,
        capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False,
    ):  # fmt: skip
        check_range("learning rate", lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        settings = implementation(foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
            **settings, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, group, params):
        # That kernel takes the step as a number.
        if is_compiling() or not in_one_pass(group, params):
            return super()._update(group, params)
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
        by_step, states = {}, self._state
        for param in params:
            by_step.setdefault(start(states[param], param, *names), []).append(param)
        for step, params in by_step.items():
            self._adapt(group, step, params, *([states[param][name] for param in params] for name in names))

    def _update_one(self, param, grad, state, group):
        """The step of one parameter as operators."""
        step = start(state, param, "exp_avg", "exp_avg_sq", *["max_exp_avg_sq"] * group["amsgrad"])
        beta1, beta2 = group["betas"]
        averages(param, grad, state, group)
        square = state["exp_avg_sq"]
        if group["amsgrad"]:
            square = _C.maximum(state["max_exp_avg_sq"], square)
            # What is recorded is not changed in place.
            state["max_exp_avg_sq"] = square if group["differentiable"] else state["max_exp_avg_sq"].copy_(square)
        scale = (square * (1 / (1 - beta2**step))).sqrt() + group["eps"]
        descend(param, state["exp_avg"], scale, group["lr"] / (1 - beta1**step))

    def _adapt(self, group, step, params, exp_avgs, exp_avg_sqs, max_exp_avg_sqs=()):
        beta1, beta2 = group["betas"]
        _C.adam_step_(
            params,
            [param.grad for param in params],
            exp_avgs,
            exp_avg_sqs,
            list(max_exp_avg_sqs),
            step=step,
            lr=float(group["lr"]),
            beta1=float(beta1),
            beta2=float(beta2),
            eps=float(group["eps"]),
            weight_decay=float(group["weight_decay"]),
            decoupled_weight_decay=group["decoupled_weight_decay"],
            maximize=group["maximize"],
        )
