"""What training loops and recurrent networks need around modules, and other ways to hold weights."""

from __future__ import annotations

from ..._package import functions_stay
from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
    "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize", "prune", "remove_spectral_norm", "remove_weight_norm", "rnn",
    "skip_init", "spectral_norm", "stateless", "vector_to_parameters", "weight_norm",
]  # fmt: skip

functions_stay(__name__, "spectral_norm", "weight_norm")

# What stands on modules, which stand on this package: imported when it is first used.
_SUBMODULES = ("fusion", "init", "memory_format", "parametrizations", "parametrize", "prune", "stateless")
_LAZY = {
    "convert_conv2d_weight_memory_format": "memory_format",
    "convert_conv3d_weight_memory_format": "memory_format",
    "fuse_conv_bn_eval": "fusion",
    "fuse_conv_bn_weights": "fusion",
    "fuse_linear_bn_eval": "fusion",
    "fuse_linear_bn_weights": "fusion",
    "skip_init": "init",
}


def __getattr__(name: str):
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _LAZY:
        value = globals()[name] = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
        return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
