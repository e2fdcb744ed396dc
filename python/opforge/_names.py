"""The submodules of the package, and its names that are imported when they are first used: both cost nothing until then."""

SUBMODULES = """
amp
array_api
autograd
compiler
cuda
custom
distributions
export
fft
func
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

# Under the names that PyTorch's packages import: much of it answers that something is not there.
SUBMODULES += """
_C _custom_ops _dynamo _tensor _utils accelerator ao as_torch backends cpu distributed functional fx hub jit mps multiprocessing onnx ops quantization
random return_types serialization storage testing torch_version types version xpu
""".split()

# By the module that has them.
_LAZY = {
    "_absent_dtypes": """
        float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 complex32 chalf qint8 qint32 quint8 quint4x2 quint2x4
        uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7
    """,
    "_accelerators": "Event Stream",
    "_assertions": """
        _assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_type _check_value _check_with
        _shape_as_tensor sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum
    """,
    "_layouts": """
        layout strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged
        memory_format contiguous_format preserve_format channels_last channels_last_3d legacy_contiguous_format
    """,
    "_settings": """
        are_deterministic_algorithms_enabled get_deterministic_debug_mode get_device_module get_float32_matmul_precision get_num_interop_threads
        is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_deterministic_debug_mode set_float32_matmul_precision
        set_flush_denormal set_num_interop_threads set_warn_always use_deterministic_algorithms
    """,
    "_typed": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor set_default_tensor_type
        typename
    """,
    "amp._older": """
        get_autocast_cpu_dtype get_autocast_gpu_dtype is_autocast_cpu_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_gpu_dtype
    """,
    "amp.autocast_mode": """
        autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_dtype is_autocast_cache_enabled
        is_autocast_enabled set_autocast_cache_enabled set_autocast_dtype set_autocast_enabled
    """,
    "autograd.anomaly_mode": "is_anomaly_check_nan_enabled is_anomaly_enabled",
    "autograd.grad_mode": "enable_grad inference_mode no_grad set_grad_enabled",
    "custom": "CustomOp check custom_op load_inline",
    "func": "vmap",
    "graph": "compile",
    "jit": "ScriptModule",
    "random": "fork_rng",
    "serialization": "load save",
    "storage": "Storage TypedStorage",
    "types": "SymBool SymFloat SymInt",
}
LAZY = {name: module for module, names in _LAZY.items() for name in names.split()}
