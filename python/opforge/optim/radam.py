"""RAdam: Adam whose steps are rectified."""

from __future__ import annotations

from .. import _core as _C
from .adam import averages
from .optimizer import Optimizer, check_betas, check_range, descend, implementation, start


class RAdam(Optimizer):
    """RAdam (Liu et al., 2019): Adam whose steps are rectified by the variance of its scale, and unscaled while that is not defined."""

    _scalars = ("step",)

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *, foreach=None,
        maximize=False, capturable=False, differentiable=False,
    ):  # fmt: skip
        check_range("learning rate", lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay,
            **implementation(foreach=foreach, capturable=capturable, differentiable=differentiable),
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update_one(self, param, grad, state, group):
        step = start(state, param, "exp_avg", "exp_avg_sq")
        beta1, beta2 = group["betas"]
        averages(param, grad, state, group)
        lr = group["lr"] / (1 - beta1**step)
        # rho is the length of the simple moving average that the exponential one stands for.
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * step * beta2**step / (1 - beta2**step)

        def rate():
            rectified = ((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)) ** 0.5
            return lr * rectified * (1 - beta2**step) ** 0.5

        scale, is_defined = state["exp_avg_sq"].sqrt() + group["eps"], rho > 5.0
        if isinstance(is_defined, _C.Tensor):
            descend(param, state["exp_avg"], _C.where(is_defined, scale, 1.0), _C.where(is_defined, rate(), lr))
        elif is_defined:
            descend(param, state["exp_avg"], scale, rate())
        else:
            param.add_(state["exp_avg"], alpha=-lr)
