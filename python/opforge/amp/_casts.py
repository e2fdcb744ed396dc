"""What autocast makes of the arguments of each function, as PyTorch documents it ("Autocast Op Reference", "CPU Op-Specific Behavior" and "CUDA
Op-Specific Behavior").

Float tensors of any dtype but float64 are eligible. Calls with `out=` and changes in place are as they are outside of autocast. A function that PyTorch
composes of listed ones in one call, such as `einsum`, has the arguments cast as they would be in it.
"""

from __future__ import annotations

import functools
import importlib
import re

from .. import _core

# On the CPU in the lower precision.
_LOWER = """
matmul mm bmm addmm addbmm baddbmm linear conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d prelu
scaled_dot_product_attention chain_matmul tensordot tensordot_over matrix_power affine_grid
lstm rnn_tanh rnn_relu rnn_tanh_cell rnn_relu_cell
"""
_LOWER_LINALG = "vecdot matmul multi_dot matrix_power"
# In float32.
_FULL = """
avg_pool3d max_pool3d adaptive_avg_pool3d adaptive_max_pool3d max_unpool1d max_unpool2d max_unpool3d fractional_max_pool2d fractional_max_pool3d
grid_sample polar prod quantile nanquantile stft cdist trace view_as_complex
cholesky_inverse cholesky_solve inverse lu lu_solve orgqr ormqr pinverse geqrf svd triangular_solve
binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss smooth_l1_loss huber_loss nll_loss cross_entropy poisson_nll_loss kl_div
cosine_embedding_loss hinge_embedding_loss margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss multilabel_margin_loss ctc_loss
"""
_FULL_LINALG = """
cond matrix_rank solve lu_factor lu_factor_ex cholesky cholesky_ex svdvals svd eig eigh eigvals eigvalsh inv inv_ex qr lstsq householder_product tensorinv tensorsolve
"""
# In the dtype of the first, if that is a lower precision; so PyTorch's kernels take them.
_LIKE_FIRST = "lstm_cell gru gru_cell"
# In the widest dtype of the arguments.
_WIDEST = "cat concat concatenate stack hstack vstack dstack column_stack index_copy"

# The same on CUDA.
_CUDA_LOWER = """
__matmul__ __rmatmul__ matmul mm mv bmm addbmm addmm addmv addr baddbmm linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d prelu
scaled_dot_product_attention chain_matmul lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
"""
_CUDA_LOWER_LINALG = "matmul multi_dot vecdot"
_CUDA_FULL = """
__pow__ __rpow__ __rtruediv__ __rdiv__ acos asin cosh cumprod cumsum dist erfinv exp expm1 log log10 log1p log2 norm pow prod reciprocal renorm rsqrt sinh
sum tan group_norm layer_norm rms_norm log_softmax softmax softmin softplus normalize pdist cdist cosine_similarity logsumexp
binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy hinge_embedding_loss kl_div l1_loss margin_ranking_loss mse_loss
multilabel_margin_loss multi_margin_loss nll_loss poisson_nll_loss smooth_l1_loss soft_margin_loss triplet_margin_loss huber_loss ctc_loss
"""
_CUDA_WIDEST = _WIDEST + " addcdiv addcmul atan2 bilinear cross dot vdot grid_sample index_put scatter_add"


def _is_eligible(value):
    return isinstance(value, _core.Tensor) and value.is_floating_point() and value.dtype is not _core.float64


def _map(change, value):
    """The value with `change` made to its eligible tensors; lists and tuples are looked into."""
    if _is_eligible(value):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(_map(change, item) for item in value)
    return value


def _change(change, args, kwargs):
    return [_map(change, value) for value in args], {name: _map(change, value) for name, value in kwargs.items()}


def _to_lower(lower, args, kwargs):
    return _change(lower, args, kwargs)


def _to_full(lower, args, kwargs):
    return _change(lambda tensor: tensor.to(_core.float32), args, kwargs)


def _to_widest(lower, args, kwargs):
    found = []
    _change(lambda tensor: found.append(tensor.dtype), args, kwargs)
    if len(set(found)) < 2:
        return args, kwargs
    widest = functools.reduce(_core.promote_types, found)
    return _change(lambda tensor: tensor.to(widest), args, kwargs)


def _to_first(lower, args, kwargs):
    first = next((value for value in (*args, *kwargs.values()) if isinstance(value, _core.Tensor)), None)
    is_lower = _is_eligible(first) and first.dtype is not _core.float32
    return _change(lambda tensor: tensor.to(first.dtype), args, kwargs) if is_lower else (args, kwargs)


def _of_einsum(lower, args, kwargs):
    """Lower where operands are multiplied and summed over an index that they share: the others are no products of matrices."""
    equation = args[0] if args else kwargs.get("equation")
    return _to_lower(lower, args, kwargs) if not isinstance(equation, str) or _contracts(equation) else (args, kwargs)


def _contracts(equation):
    operands, arrow, result = re.sub(r"\s|\.\.\.", "", equation).partition("->")
    operands = [set(operand) for operand in operands.split(",")]
    shared = {index for index in set().union(*operands) if sum(index in operand for operand in operands) > 1}
    return bool(shared - set(result) if arrow else shared)


def _of_inner(lower, args, kwargs):
    """Products of matrices are lower; of vectors not."""
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, _core.Tensor)]
    return (args, kwargs) if all(tensor.dim() < 2 for tensor in tensors) else _to_lower(lower, args, kwargs)


def _of_pad(lower, args, kwargs):
    """What repeats or reflects edges is full, but reflections of volumes."""
    mode = args[2] if len(args) > 2 else kwargs.get("mode", "constant")
    width = args[1] if len(args) > 1 else kwargs.get("pad", ())
    is_full = mode == "replicate" or mode == "reflect" and len(width) < 6
    return _to_full(lower, args, kwargs) if is_full else (args, kwargs)


def _refused(lower, args, kwargs):
    raise RuntimeError(
        "binary_cross_entropy is unsafe to autocast: it needs float32 and its argument is mostly a lower precision's sigmoid. "
        "binary_cross_entropy_with_logits and BCEWithLogitsLoss are safe."
    )


_EVERYWHERE = {
    "cpu": [
        (_LOWER, _to_lower), (_FULL, _to_full), (_LIKE_FIRST, _to_first), (_WIDEST, _to_widest),
        ("einsum", _of_einsum), ("inner", _of_inner), ("pad", _of_pad),
    ],
    "cuda": [
        (_CUDA_LOWER, _to_lower), (_CUDA_FULL, _to_full), (_CUDA_WIDEST, _to_widest),
        ("einsum tensordot tensordot_over", _of_einsum), ("inner", _of_inner), ("binary_cross_entropy", _refused),
    ],
}  # fmt: skip
_OF_LINALG = {"cpu": [(_LOWER_LINALG, _to_lower), (_FULL_LINALG, _to_full)], "cuda": [(_CUDA_LOWER_LINALG, _to_lower)]}


@functools.cache
def _rules(device_type):
    """The functions and methods whose arguments change on a type of devices, and how."""
    # The last two have what is composed in Python.
    spaces = (_core, _core.nn, _core.Tensor, *map(importlib.import_module, ("opforge", "opforge.nn.functional")))
    rules = {}
    for names, rule in _EVERYWHERE[device_type]:
        rules.update((getattr(space, name), rule) for name in names.split() for space in spaces if hasattr(space, name))
    for names, rule in _OF_LINALG[device_type]:
        rules.update((getattr(_core.linalg, name), rule) for name in names.split() if hasattr(_core.linalg, name))
    if device_type == "cpu":
        rules.update((value, _to_full) for name, value in vars(_core.fft).items() if name.endswith(("fft", "fft2", "fftn")))
    return rules


def _device_type(values):
    """The type of the devices that a call is for: that of its first tensor."""
    for value in values:
        found = value.device.type if isinstance(value, _core.Tensor) else _device_type(value) if type(value) in (list, tuple) else None
        if found is not None:
            return found
    return None


def cast(lowers, function, args, kwargs):
    """The arguments as autocast has them; `lowers` has, for each type of devices with autocast, what casts a tensor to the lower precision."""
    is_known = any(function in _rules(device_type) for device_type in lowers)
    if not is_known or kwargs.get("out") is not None:
        return args, kwargs
    device_type = _device_type((*args, *kwargs.values()))
    rule = _rules(device_type).get(function) if device_type in lowers else None
    return (args, kwargs) if rule is None else rule(lowers[device_type], args, kwargs)
