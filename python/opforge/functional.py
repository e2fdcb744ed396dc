"""Functions of `opforge` under the name of the file that PyTorch has them in."""

from __future__ import annotations

import opforge

from .overrides import handle_torch_function, has_torch_function, has_torch_function_unary, has_torch_function_variadic

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod", "cdist",
    "chain_matmul", "einsum", "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
    "lu", "meshgrid", "norm", "pca_lowrank", "split", "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index",
]  # fmt: skip


def __getattr__(name):
    if name in ("istft", "stft", *__all__):
        return getattr(opforge, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
