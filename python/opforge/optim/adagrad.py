"""Adagrad."""

from __future__ import annotations

from .. import _core as _C
from .optimizer import Optimizer, check_range, decayed, descend, implementation, start


class Adagrad(Optimizer):
    """Adagrad (Duchi et al., 2011): `s ← s + g²`, `p ← p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)`."""

    _scalars = ("step",)

    def __init__(
        self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
        maximize=False, differentiable=False, fused=None,
    ):  # fmt: skip
        check_range("learning rate", lr)
        check_range("lr_decay value", lr_decay)
        check_range("weight_decay value", weight_decay)
        check_range("initial_accumulator_value value", initial_accumulator_value)
        check_range("epsilon value", eps)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "maximize": maximize,
            **implementation(foreach=foreach, differentiable=differentiable, fused=fused),
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                value = group["initial_accumulator_value"]
                start = _C.full_like(param, complex(value, value) if param.is_complex() else value).detach()
                self._state[param].update({"step": 0, "sum": start})

    def _update_one(self, param, grad, state, group):
        step = start(state, param, "sum")
        grad = decayed(grad, param, group["weight_decay"])
        state["sum"].addcmul_(grad, grad)
        descend(param, grad, state["sum"].sqrt() + group["eps"], group["lr"] / (1 + (step - 1) * group["lr_decay"]))
