"""RMSprop."""

from __future__ import annotations

from .. import _core as _C
from .optimizer import Optimizer, check_range, decayed, implementation, start


class RMSprop(Optimizer):
    """RMSprop (Hinton, 2012): `s ← α s + (1 - α) g²`, the step `g / (sqrt(s) + eps)`, with momentum if asked for.

    With `centered`, `s` has the squared running mean of `g` taken off, which makes it an estimate of the variance (Graves, 2013).
    """

    _scalars = ("step",)

    def __init__(
        self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, foreach=None,
        maximize=False, differentiable=False,
    ):  # fmt: skip
        check_range("learning rate", lr)
        check_range("epsilon value", eps)
        check_range("momentum value", momentum)
        check_range("weight_decay value", weight_decay)
        check_range("alpha value", alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay,
            "maximize": maximize,
            **implementation(foreach=foreach, capturable=capturable, differentiable=differentiable),
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update_one(self, param, grad, state, group):
        names = ["square_avg"] + ["momentum_buffer"] * (group["momentum"] > 0) + ["grad_avg"] * group["centered"]
        start(state, param, *names)
        alpha = group["alpha"]
        if names == ["square_avg"] and param.is_floating_point() and not group["differentiable"]:
            # In one pass and without a tensor of intermediate results.
            constants = {name: float(group[name]) for name in ("lr", "alpha", "eps", "weight_decay")}
            return _C.rmsprop_step_([param], [grad], [state["square_avg"]], **constants)
        grad = decayed(grad, param, group["weight_decay"])
        variance = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            variance = variance.addcmul(mean, mean, value=-1)
        scale = variance.sqrt() + group["eps"]
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, scale)
            param.add_(buffer, alpha=-group["lr"])
        else:
            param.addcdiv_(grad, scale, value=-group["lr"])
