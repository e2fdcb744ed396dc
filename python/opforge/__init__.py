"""opforge: tensors, operators, autograd and neural networks, under the names that PyTorch has.

>>> import opforge as torch
"""

from __future__ import annotations

import importlib as _importlib

from . import _core
from ._size import Size

_core.set_size_class(Size)
_core.set_package_folder(__path__[0])

# What of the core is for this package alone.
_PRIVATE = _core._hidden | {
    "CustomOp",
    "ExportedGraph",
    "GraphFunction",
    "SavedTensor",
    "backward",
    "bench_operator",
    "catalogue",
    "check_operator",
    "grad",
    "inline_source",
    "record_function",
    "schema_parameters",
    "set_grad_mode",
    "set_package_folder",
    "set_size_class",
}
globals().update({name: value for name, value in vars(_core).items() if name[0] != "_" and name not in _PRIVATE})

from . import _subclass  # noqa: E402, F401
from ._functions import (  # noqa: E402
    bartlett_window,
    blackman_window,
    broadcast_shapes,
    from_file,
    hamming_window,
    hann_window,
    hash_tensor,
    histogramdd,
    is_same_size,
    kaiser_window,
    lu,
    pca_lowrank,
    scalar_tensor,
    svd_lowrank,
    tensordot,
)

# Changes in place that are functions too.
_IN_PLACE = """
abs acos acosh addmv arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil clamp clamp_max clamp_min clip cos cosh deg2rad detach
erf erfc exp exp2 expm1 fill fix floor frac gcd i0 index_put lcm ldexp log log10 log1p log2 logit nan_to_num neg negative rad2deg reciprocal relu round
rsqrt sigmoid sin sinc sinh sqrt square tan tanh trunc xlogy zero
"""
globals().update({f"{name}_": getattr(_core.Tensor, f"{name}_") for name in _IN_PLACE.split()})

# The submodules that the core module has too are found by their files.
for _name in ("fft", "nn", "linalg", "special"):
    globals().pop(_name, None)

__version__: str = _core.__version__

_SUBMODULES = """
amp
array_api
autograd
compiler
cuda
custom
distributions
export
fft
graph
library
linalg
mindspore
nn
optim
overrides
profiler
special
utils
""".split()
# Autocast's state.
_AUTOCAST = """
autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_dtype is_autocast_cache_enabled is_autocast_enabled
set_autocast_cache_enabled set_autocast_dtype set_autocast_enabled
"""
_OLDER_AUTOCAST = """
get_autocast_cpu_dtype get_autocast_gpu_dtype is_autocast_cpu_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_gpu_dtype
"""
# Names that are imported when they are first used, and the modules that have them.
_LAZY = {
    "CustomOp": "custom",
    "check": "custom",
    "compile": "graph",
    "custom_op": "custom",
    "load_inline": "custom",
    "save": "serialization",
    "load": "serialization",
    "no_grad": "autograd.grad_mode",
    "enable_grad": "autograd.grad_mode",
    "set_grad_enabled": "autograd.grad_mode",
    "inference_mode": "autograd.grad_mode",
    **dict.fromkeys(_AUTOCAST.split(), "amp.autocast_mode"),
    **dict.fromkeys(_OLDER_AUTOCAST.split(), "amp._older"),
}


def __getattr__(name: str):
    """Imports submodules when they are first used."""
    if name in _SUBMODULES:
        return _importlib.import_module(f".{name}", __name__)
    if name in _LAZY:
        value = getattr(_importlib.import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value
    if name.startswith("_foreach_"):
        return getattr(_importlib.import_module("._functional.foreach", __name__), name)
    raise AttributeError(f"module 'opforge' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_SUBMODULES, *_LAZY})
