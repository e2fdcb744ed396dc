"""Optimizers that scale each element's step by the history of its gradients."""

from __future__ import annotations

from .. import _core as _C
from .optimizer import Optimizer, check_betas, check_range, decayed, implementation


def _start(state, param, *names):
    """Counts the step in `state`, which begins with zeros under `names`; returns the step."""
    if not state:
        state.update({"step": 0, **{name: _C.zeros_like(param) for name in names}})
    state["step"] = int(state["step"]) + 1
    return state["step"]


class Adagrad(Optimizer):
    """Adagrad (Duchi et al., 2011): `s ← s + g²`, `p ← p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)`."""

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
                self.state[param].update({"step": 0, "sum": start})

    def _update_one(self, param, grad, state, group):
        step = _start(state, param, "sum")
        grad = decayed(grad, param, group["weight_decay"])
        state["sum"].addcmul_(grad, grad)
        lr = group["lr"] / (1 + (step - 1) * group["lr_decay"])
        param.addcdiv_(grad, state["sum"].sqrt() + group["eps"], value=-lr)


class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012): steps scaled by the ratio of the running root mean squares of steps and gradients."""

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
        _start(state, param, "square_avg", "acc_delta")
        rho, eps = group["rho"], group["eps"]
        grad = decayed(grad, param, group["weight_decay"])
        state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = (state["acc_delta"] + eps).sqrt() / (state["square_avg"] + eps).sqrt() * grad
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-group["lr"])


class RMSprop(Optimizer):
    """RMSprop (Hinton, 2012): `s ← α s + (1 - α) g²`, the step `g / (sqrt(s) + eps)`, with momentum if asked for.

    With `centered`, `s` has the squared running mean of `g` taken off, which makes it an estimate of the variance (Graves, 2013).
    """

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
        _start(state, param, *names)
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


class Adamax(Optimizer):
    """Adamax (Kingma and Ba, 2014): Adam with the infinity norm, `u ← max(β₂ u, |g| + eps)` in place of `sqrt(v)`."""

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
        step = _start(state, param, "exp_avg", "exp_inf")
        beta1, beta2 = group["betas"]
        grad = decayed(grad, param, group["weight_decay"])
        state["exp_avg"].lerp_(grad, 1 - beta1)
        state["exp_inf"].copy_(_C.maximum(beta2 * state["exp_inf"], grad.abs() + group["eps"]))
        param.addcdiv_(state["exp_avg"], state["exp_inf"], value=-group["lr"] / (1 - beta1**step))


class _AdamLike(Optimizer):
    """What NAdam and RAdam share: Adam's two averages and both kinds of weight decay."""

    def _averages(self, param, grad, state, group):
        """The gradient after weight decay, with both averages brought up to date by it."""
        beta1, beta2 = group["betas"]
        if group["decoupled_weight_decay"]:
            param.mul_(1 - group["lr"] * group["weight_decay"])
        else:
            grad = decayed(grad, param, group["weight_decay"])
        state["exp_avg"].lerp_(grad, 1 - beta1)
        state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        return grad


class NAdam(_AdamLike):
    """NAdam (Dozat, 2016): Adam with Nesterov momentum, which grows with the step by `momentum_decay`."""

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
        step = _start(state, param, "exp_avg", "exp_avg_sq")
        (beta1, beta2), lr = group["betas"], group["lr"]
        grad = self._averages(param, grad, state, group)
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * group["momentum_decay"]))
        product = state["mu_product"] = float(state.get("mu_product", 1.0)) * mu
        scale = (state["exp_avg_sq"] / (1 - beta2**step)).sqrt() + group["eps"]
        param.addcdiv_(grad, scale, value=-lr * (1 - mu) / (1 - product))
        param.addcdiv_(state["exp_avg"], scale, value=-lr * mu_next / (1 - product * mu_next))


class RAdam(_AdamLike):
    """RAdam (Liu et al., 2019): Adam whose steps are rectified by the variance of its scale, and unscaled while that is not defined."""

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
        step = _start(state, param, "exp_avg", "exp_avg_sq")
        beta1, beta2 = group["betas"]
        self._averages(param, grad, state, group)
        lr = group["lr"] / (1 - beta1**step)
        # rho is the length of the simple moving average that the exponential one stands for.
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * step * beta2**step / (1 - beta2**step)
        if rho > 5.0:
            rectified = ((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)) ** 0.5
            scale = state["exp_avg_sq"].sqrt() + group["eps"]
            param.addcdiv_(state["exp_avg"], scale, value=-lr * rectified * (1 - beta2**step) ** 0.5)
        else:
            param.add_(state["exp_avg"], alpha=-lr)


class Rprop(Optimizer):
    """Rprop (Riedmiller and Braun, 1993): step sizes that grow while the gradient keeps its sign and shrink when it changes."""

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
        _start(state, param, "prev")
        if fresh:
            state["step_size"] = _C.full_like(grad, group["lr"])
        (shrink, grow), agreement = group["etas"], grad.mul(state["prev"])
        factor = _C.ones_like(grad).masked_fill_(agreement > 0, grow).masked_fill_(agreement < 0, shrink)
        state["step_size"].mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(agreement < 0, 0.0)
        param.addcmul_(grad.sign(), state["step_size"], value=-1)
        state["prev"].copy_(grad)
