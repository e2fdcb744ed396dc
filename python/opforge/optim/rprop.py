"""Rprop: step sizes by the signs of gradients."""

from __future__ import annotations

from .. import _core as _C
from .optimizer import Optimizer, check_range, implementation, start


class Rprop(Optimizer):
    """Rprop (Riedmiller and Braun, 1993): step sizes that grow while the gradient keeps its sign and shrink when it changes."""

    _scalars = ("step",)

    def __init__(
        self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None, maximize=False,
        differentiable=False,
    ):  # fmt: skip
        check_range("learning rate", lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize,
            **implementation(foreach=foreach, capturable=capturable, differentiable=differentiable),
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update_one(self, param, grad, state, group):
        fresh = not state
        start(state, param, "prev")
        if fresh:
            state["step_size"] = _C.full_like(grad, group["lr"])
        (shrink, grow), agreement = group["etas"], grad.mul(state["prev"])
        factor = _C.ones_like(grad).masked_fill_(agreement > 0, grow).masked_fill_(agreement < 0, shrink)
        state["step_size"].mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(agreement < 0, 0.0)
        param.addcmul_(grad.sign(), state["step_size"], value=-1)
        state["prev"].copy_(grad)
