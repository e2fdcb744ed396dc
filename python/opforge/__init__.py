"""opforge: tensors, operators, autograd and neural networks, under the names that PyTorch has.

>>> import opforge as torch
"""

from __future__ import annotations

import importlib as _importlib

from . import _core
from ._tensors.size import Size

_core.set_size_class(Size)
_core.set_package_folder(__path__[0])

# What of the core is for this package alone.
_PRIVATE = _core._hidden | {
    "CustomOp",
    "ExportedGraph",
    "GraphFunction",
    "SavedTensor",
    "at_the_end_of_backward",
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

from ._calls import subclass as _subclass  # noqa: E402, F401  these give the class what it has in Python
from ._tensors import format as _format, methods as _methods  # noqa: E402, F401
from ._calls.functions import (  # noqa: E402
    bartlett_window, blackman_window, broadcast_shapes, from_file, hamming_window, hann_window, hash_tensor, histogramdd, is_same_size, kaiser_window, lobpcg, lu,
    in_place as _in_place, pca_lowrank, scalar_tensor, svd_lowrank, tensordot,
)  # fmt: skip
from .random import manual_seed, seed, set_rng_state  # noqa: E402

# Changes in place that are functions too.
_IN_PLACE = """
abs acos acosh addmv arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil clamp clamp_max clamp_min clip cos cosh deg2rad detach
erf erfc exp exp2 expm1 fill fix floor frac gcd i0 index_put lcm ldexp log log10 log1p log2 logit nan_to_num neg negative rad2deg reciprocal relu round
rsqrt sigmoid sin sinc sinh sqrt square tan tanh trunc xlogy zero
"""
globals().update({f"{name}_": _in_place(f"{name}_") for name in _IN_PLACE.split()})

from ._tensors import attributes as _tensor_attributes  # noqa: E402, F401  it gives them to the class

# The submodules that the core module has too are found by their files; these losses have other parameters here than in `nn.functional`.
for _name in "fft nn linalg special cosine_embedding_loss hinge_embedding_loss margin_ranking_loss triplet_margin_loss".split():
    globals().pop(_name, None)

__version__: str = _core.__version__
detach = _core.Tensor.detach
newaxis = None

from ._names import LAZY as _LAZY  # noqa: E402
from ._names import SUBMODULES as _SUBMODULES  # noqa: E402


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
