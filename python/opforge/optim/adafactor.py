"""Adafactor."""

from __future__ import annotations

from .. import _core as _C
from .optimizer import Optimizer, check_range


class Adafactor(Optimizer):
    """Adafactor (Shazeer and Stern, 2018): scales steps by running mean squares of gradients, which for matrices are kept as one row and one
    column each; memory grows with the sum of the lengths, not with their product.

    At step `t`, `1 - t^beta2_decay` is the decay of the mean squares, `min(lr, 1 / sqrt(t))` the step relative to the root mean square of the
    parameter (at least `eps[1]`), and `d` the greatest root mean square of a scaled gradient. `eps[0]` keeps divisors from 0; None stands for
    the dtype's machine epsilon. The parameter shrinks by `lr * weight_decay` of itself.
    """

    _scalars = ("step",)

    def __init__(
        self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None, maximize=False,
    ):  # fmt: skip
        check_range("learning rate", lr)
        if beta2_decay > 0:
            raise ValueError(f"Invalid beta2_decay: {beta2_decay}, expected 0 or less")
        if eps[0] is not None:
            check_range("epsilon1", eps[0])
        check_range("epsilon2", eps[1])
        check_range("clipping threshold d", d, low=1.0)
        check_range("weight_decay", weight_decay)
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update_one(self, param, grad, state, group):
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if not state:
            state.update({"step": 0, **_mean_squares(grad)})
        step = state["step"] = int(state["step"]) + 1
        tiny = _C.finfo(param.dtype).eps if group["eps"][0] is None else group["eps"][0]
        rate = max(group["eps"][1], _rms(param)) * min(group["lr"], step**-0.5)
        if group["weight_decay"]:
            param.mul_(1 - group["lr"] * group["weight_decay"])
        variance = _brought_up_to(state, grad, step ** group["beta2_decay"], tiny)
        update = grad * variance.clamp(min=tiny * tiny).rsqrt()
        param.add_(update, alpha=-rate / max(1.0, _rms(update) / group["d"]))


def _mean_squares(grad):
    """The state that begins: zeros for rows and columns of the last two dimensions, or for all elements of a vector."""
    if grad.dim() < 2:
        return {"variance": _C.zeros_like(grad)}
    *batch, rows, columns = grad.shape
    return {"row_var": grad.new_zeros([*batch, rows, 1]), "col_var": grad.new_zeros([*batch, 1, columns])}


def _brought_up_to(state, grad, weight, tiny):
    """The estimate of `grad²`, after the means in `state` have moved towards it by `weight`."""
    square = grad * grad
    if grad.dim() < 2:
        return state["variance"].lerp_(square, weight)
    row, column = state["row_var"], state["col_var"]
    row.lerp_(square.mean(-1, keepdim=True), weight)
    column.lerp_(square.mean(-2, keepdim=True), weight)
    return (row @ column).div_(row.mean(-2, keepdim=True).clamp_(min=tiny))


def _rms(tensor):
    """The root mean square, a number; 0 of no elements."""
    return tensor.norm().item() / max(tensor.numel(), 1) ** 0.5
