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

from . import _tensor_attributes  # noqa: E402, F401  it gives them to the class

# The submodules that the core module has too are found by their files.
for _name in ("nn", "linalg", "special"):
    globals().pop(_name, None)

__version__: str = _core.__version__

_SUBMODULES = ("autograd", "compiler", "cuda", "custom", "export", "graph", "library", "linalg", "mindspore", "nn", "optim", "profiler", "special", "utils")
# Under the names that PyTorch's packages import: much of it answers that something is not there.
_SUBMODULES += (
    "__config__", "_C", "_custom_ops", "_dynamo", "_subclasses", "_tensor", "_tensor_str", "_utils", "accelerator", "ao", "as_torch", "backends", "cpu", "distributed", "functional", "futures", "fx", "hub", "jit", "mps",
    "multiprocessing", "onnx", "ops", "overrides", "quantization", "random", "return_types", "serialization", "storage", "testing", "torch_version",
    "types", "version", "xpu",
)  # fmt: skip
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
    **dict.fromkeys("layout strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged".split(), "_layouts"),
    **dict.fromkeys("memory_format contiguous_format preserve_format channels_last channels_last_3d legacy_contiguous_format".split(), "_layouts"),
    **dict.fromkeys("BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor".split(), "_typed"),
    **dict.fromkeys("IntTensor LongTensor ShortTensor set_default_tensor_type typename".split(), "_typed"),
    **dict.fromkeys("SymBool SymFloat SymInt".split(), "types"),
    **dict.fromkeys("_assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all".split(), "_assertions"),
    **dict.fromkeys("_check_type _check_value _check_with _shape_as_tensor".split(), "_assertions"),
    **dict.fromkeys("sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum".split(), "_assertions"),
    **dict.fromkeys("are_deterministic_algorithms_enabled get_deterministic_debug_mode get_device_module".split(), "_settings"),
    **dict.fromkeys("get_float32_matmul_precision get_num_interop_threads is_warn_always_enabled".split(), "_settings"),
    **dict.fromkeys("is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode set_float32_matmul_precision".split(), "_settings"),
    **dict.fromkeys("set_flush_denormal set_num_interop_threads set_warn_always use_deterministic_algorithms".split(), "_settings"),
    **dict.fromkeys("float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2".split(), "_absent_dtypes"),
    **dict.fromkeys("complex32 chalf qint8 qint32 quint8 quint4x2 quint2x4 uint1 uint2 uint3 uint4 uint5 uint6 uint7".split(), "_absent_dtypes"),
    **dict.fromkeys("int1 int2 int3 int4 int5 int6 int7".split(), "_absent_dtypes"),
    "fork_rng": "random",
    "PyTorchFileReader": "_C",
    "Event": "_accelerators",
    "Stream": "_accelerators",
    "ScriptModule": "jit",
    "Storage": "storage",
    "TypedStorage": "storage",
}


def __getattr__(name: str):
    """Imports submodules when they are first used."""
    if name in _SUBMODULES:
        return _importlib.import_module(f".{name}", __name__)
    if name in _LAZY:
        value = getattr(_importlib.import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'opforge' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_SUBMODULES, *_LAZY})
