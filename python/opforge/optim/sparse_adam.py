"""Adam for gradients in a sparse layout."""

from __future__ import annotations

from .optimizer import Optimizer, check_betas


class SparseAdam(Optimizer):
    """Adam that would change only what a gradient in a sparse layout holds. Gradients are dense here, whatever made them, so `step` is an error,
    as it is in PyTorch for dense gradients: use `Adam`.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        if lr <= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if eps <= 0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _update_one(self, param, grad, state, group):
        raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
