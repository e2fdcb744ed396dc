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
masked
mindspore
nested
nn
optim
overrides
profiler
sbp
signal
sparse
special
utils
wgpu
""".split()

# Under the names that PyTorch's packages import: much of it answers that something is not there.
SUBMODULES += """
_C _VF __config__ _custom_ops _dynamo _functorch _guards _subclasses _tensor _tensor_str _utils accelerator ao as_torch backends cpu distributed
functional futures fx hub jit mps multiprocessing onnx ops quantization quasirandom random return_types serialization storage testing torch_version types version xpu
""".split()

# By the module that has them.
_LAZY = {
    "_C": "DeviceObjType ListType PyTorchFileReader PyTorchFileWriter TensorType",
    "_absent.dtypes": """
        float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 complex32 chalf qint8 qint32 quint8 quint4x2 quint2x4
        uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7
    """,
    "_absent.removed": "eig lstsq matrix_rank solve symeig",
    "_global.placement": "placement",
    "_assertions": """
        _assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all
        _check_tensor_all_with _check_type _check_value _check_with _has_compatible_shallow_copy_type
        _shape_as_tensor sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum
    """,
    "_functional.control": "cond while_loop",
    "_functional.copies": """
        alias_copy as_strided_copy as_strided_scatter detach_copy diagonal_copy expand_copy permute_copy select_copy slice_copy slice_inverse split_copy
        split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsafe_chunk unsafe_split unsafe_split_with_sizes
        unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy
    """,
    "_functional.factors": "ormqr",
    "_functional.fake_quantize": "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine",
    "_functional.layers": """
        _log_softmax_backward_data _segment_reduce _softmax_backward_data _weight_norm
        affine_grid_generator alpha_dropout_ batch_norm bilinear binary_cross_entropy_with_logits binomial constant_pad_nd conv_tbc
        cosine_embedding_loss ctc_loss dropout_ embedding embedding_renorm_ feature_alpha_dropout_ feature_dropout_ frobenius_norm grid_sampler
        grid_sampler_2d grid_sampler_3d group_norm hinge_embedding_loss instance_norm kl_div margin_ranking_loss native_batch_norm
        native_channel_shuffle native_dropout native_group_norm native_layer_norm norm_except_dim nuclear_norm poisson_nll_loss rrelu rrelu_
        triplet_margin_loss
    """,
    "_functional.memory": "is_nonzero resize_as_",
    "_functional.products": "_grouped_mm",
    "_functional.variants": "conj_physical_ empty_permuted fill nonzero_static put range triangular_solve",
    "_tensors.attributes": "get_device is_conj is_distributed is_inference is_neg is_signed",
    "_tensors.layouts": """
        layout strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged
        memory_format contiguous_format preserve_format channels_last channels_last_3d legacy_contiguous_format
    """,
    "_settings": """
        are_deterministic_algorithms_enabled get_deterministic_debug_mode get_device_module get_float32_matmul_precision get_num_interop_threads
        is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_deterministic_debug_mode set_float32_matmul_precision
        set_flush_denormal set_num_interop_threads set_warn_always use_deterministic_algorithms
    """,
    "_tensors.typed": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor set_default_tensor_type
        typename
    """,
    "amp.grad_scaler": "GradScaler",
    "amp._older": """
        get_autocast_cpu_dtype get_autocast_gpu_dtype is_autocast_cpu_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_gpu_dtype
    """,
    "amp.autocast_mode": """
        autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_dtype is_autocast_cache_enabled
        is_autocast_enabled set_autocast_cache_enabled set_autocast_dtype set_autocast_enabled
    """,
    "autograd.anomaly_mode": "is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled",
    "autograd.grad_mode": "enable_grad inference_mode is_inference_mode_enabled no_grad set_grad_enabled",
    "cuda.events": "Event",
    "cuda.streams": "Stream",
    "custom": "CustomOp check custom_op load_inline",
    "distributions._gamma": "_sample_dirichlet _standard_gamma",
    "distributions._rejection": "binomial",
    "func": "vmap",
    "futures": "Future",
    "graph": "compile",
    "jit": "ScriptModule",
    "nn.functional": "celu_ selu_ threshold_",
    "random": "fork_rng",
    "serialization": "load save",
    "sparse": """
        _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo dsmm sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor
        sparse_csr_tensor spmm
    """,
    "storage": "Storage StorageBase TypedStorage",
    "types": "SymBool SymFloat SymInt",
}
LAZY = {name: module for module, names in _LAZY.items() for name in names.split()}
