"""Averaged stochastic gradient descent."""

from __future__ import annotations

from .. import _core as _C
from .optimizer import Optimizer, check_range, decayed, implementation


class ASGD(Optimizer):
    """Averaged SGD (Polyak and Juditsky, 1992): `p ← (1 - λη) p - η g`, where `η = lr / (1 + λ lr t)^α`; `state[p]["ax"]` is the mean of `p`
    over the steps after `t0`, and `p` itself before.

    `lambd` is `λ`, the decay, `alpha` the power by which the rate falls.
    """

    _scalars = ("step", "eta", "mu")

    def __init__(
        self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False, differentiable=False,
        capturable=False,
    ):  # fmt: skip
        check_range("learning rate", lr)
        check_range("weight_decay value", weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "maximize": maximize,
            **implementation(foreach=foreach, differentiable=differentiable, capturable=capturable),
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update_one(self, param, grad, state, group):
        lr, lambd = group["lr"], group["lambd"]
        if not state:
            state.update({"step": 0, "eta": float(lr), "mu": 1.0, "ax": _C.zeros_like(param)})
        step = state["step"] = int(state["step"]) + 1
        eta, mu = float(state["eta"]), float(state["mu"])
        grad = decayed(grad, param, group["weight_decay"])
        param.mul_(1 - lambd * eta).add_(grad, alpha=-eta)
        state["ax"].add_(param - state["ax"], alpha=mu)
        state["eta"] = lr / (1 + lambd * lr * step) ** group["alpha"]
        state["mu"] = 1 / max(1, step - group["t0"])
