"""Muon: momentum whose steps are made orthogonal."""

from __future__ import annotations

import math

from .. import _core as _C
from .optimizer import Optimizer, check_range

# What the learning rate is multiplied by for a matrix of `rows` and `columns`.
_ADJUSTMENTS = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
    "spectral_unclamped": lambda rows, columns: math.sqrt(rows / columns),
}


class Muon(Optimizer):
    """Muon (Jordan et al., 2024), for matrices alone: `b ← momentum * b + (1 - momentum) * g`, and the step is the orthogonal matrix nearest to
    `b`, or, with `nesterov`, to `momentum * b + (1 - momentum) * g`.

    It is found by `ns_steps` of a Newton-Schulz iteration in bfloat16 with `ns_coefficients`. `adjust_lr_fn` says how steps grow with the matrix:
    `"original"` by `sqrt(max(1, rows / columns))`, the default, `"match_rms_adamw"` by `0.2 sqrt(max(rows, columns))`, and
    `"spectral_unclamped"` by `sqrt(rows / columns)`. The parameter shrinks by `lr * weight_decay` of itself.
    """

    def __init__(
        self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7,
        ns_steps=5, adjust_lr_fn=None,
    ):  # fmt: skip
        check_range("learning rate", lr)
        check_range("momentum value", momentum)
        check_range("weight_decay value", weight_decay)
        if adjust_lr_fn is not None and adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(f"Invalid adjust_lr_fn: {adjust_lr_fn!r}, expected None or one of {', '.join(_ADJUSTMENTS)}")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "ns_coefficients": ns_coefficients,
            "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(f"Muon: a parameter of shape {tuple(param.shape)}, expected 2 dimensions")

    def _update_one(self, param, grad, state, group):
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if not state:
            state["momentum_buffer"] = _C.zeros_like(grad)
        buffer = state["momentum_buffer"].lerp_(grad, 1 - group["momentum"])
        step = grad.lerp(buffer, group["momentum"]) if group["nesterov"] else buffer
        step = _orthogonalized(step, group["ns_coefficients"], group["ns_steps"], group["eps"])
        scale = _ADJUSTMENTS[group["adjust_lr_fn"] or "original"](*param.shape)
        param.mul_(1 - group["lr"] * group["weight_decay"])
        param.add_(step.to(param.dtype), alpha=-group["lr"] * scale)


def _orthogonalized(matrix, coefficients, steps, eps):
    """About `U Vᵀ` of the matrix's singular value decomposition: each step maps singular values by `a s + b s³ + c s⁵`."""
    if steps >= 100:
        raise ValueError(f"Muon: ns_steps={steps}, expected less than 100")
    if len(coefficients) != 3:
        raise ValueError(f"Muon: ns_coefficients={coefficients}, expected three numbers")
    a, b, c = coefficients
    x = matrix.to(_C.bfloat16)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = _C.addmm(x, _C.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
