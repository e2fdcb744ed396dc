"""Adam and AdamW."""

from __future__ import annotations

from .. import _core as _C
from .optimizer import Optimizer, check_betas, check_range, decayed, implementation, in_one_pass


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2014): `m ← β₁ m + (1 - β₁) g`, `v ← β₂ v + (1 - β₂) g²`, `p ← p - lr * m̂ / (sqrt(v̂) + eps)`.

    `m̂ = m / (1 - β₁ᵗ)` and `v̂ = v / (1 - β₂ᵗ)` at step `t`. With `amsgrad`, `v̂` is the largest so far. `weight_decay * p` is added to `g`, or
    with `decoupled_weight_decay` the parameter shrinks by `lr * weight_decay` of itself instead.
    """

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
        if not in_one_pass(group, params):
            return super()._update(group, params)
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
        by_step = {}
        for param in params:
            state = self.state[param]
            if not state:
                state.update({"step": 0, **{name: _C.zeros_like(param) for name in names}})
            state["step"] = int(state["step"]) + 1
            by_step.setdefault(state["step"], []).append(param)
        for step, params in by_step.items():
            self._adapt(group, step, params, *([self.state[param][name] for param in params] for name in names))

    def _update_one(self, param, grad, state, group):
        """The step of one parameter as operators."""
        if not state:
            names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
            state.update({"step": 0, **{name: _C.zeros_like(param) for name in names}})
        step = state["step"] = int(state["step"]) + 1
        (beta1, beta2), lr, weight_decay = group["betas"], group["lr"], group["weight_decay"]
        if group["decoupled_weight_decay"]:
            param.mul_(1 - lr * weight_decay)
        else:
            grad = decayed(grad, param, weight_decay)
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"] = _C.maximum(state["max_exp_avg_sq"], square)
        scale = (square / (1 - beta2**step)).sqrt() + group["eps"]
        param.addcdiv_(mean, scale, value=-lr / (1 - beta1**step))

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


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2017)."""

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False, foreach=None,
        capturable=False, differentiable=False, fused=None,
    ):  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip
