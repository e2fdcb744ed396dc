"""Adam for gradients of which most rows are nothing."""

from __future__ import annotations

from .optimizer import Optimizer, check_betas, start


class SparseAdam(Optimizer):
    """Adam that changes only the rows, along the first dimension, that a gradient has, and their moments: for `Embedding(sparse=True)`.

    Gradients are dense, whatever made them: a row of zeros is taken as one that the gradient has not. (In PyTorch it is there if it was looked up, and
    dense gradients are an error.) With `m` and `v` as in Adam, `p ← p - lr sqrt(1 - β₂ᵗ) / (1 - β₁ᵗ) m / (sqrt(v) + eps)`; `t` counts all steps.

    >>> table = opforge.nn.Embedding(5, 2, sparse=True)
    >>> optimizer = SparseAdam(table.parameters())
    >>> before = table.weight.detach().clone()
    >>> table(opforge.tensor([1, 3])).sum().backward()
    >>> optimizer.step()
    >>> (table.weight != before).any(1).tolist()
    [False, True, False, True, False]
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        if lr <= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if eps <= 0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _update_one(self, param, grad, state, group):
        step = start(state, param, "exp_avg", "exp_avg_sq")
        beta1, beta2 = group["betas"]
        rows = (grad != 0).reshape(len(grad), -1).any(1).nonzero().squeeze(1)
        grad = grad.index_select(0, rows)
        mean = state["exp_avg"].index_select(0, rows).lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].index_select(0, rows).lerp_(grad * grad, 1 - beta2)
        state["exp_avg"].index_copy_(0, rows, mean)
        state["exp_avg_sq"].index_copy_(0, rows, square)
        size = group["lr"] * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        param.index_add_(0, rows, mean / (square.sqrt() + group["eps"]), alpha=-size)
