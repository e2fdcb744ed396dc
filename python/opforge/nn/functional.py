"""The functions of neural networks: those of the core, and the few that are made of them here."""

from __future__ import annotations

from .. import _core as _C

globals().update((name, getattr(_C.nn, name)) for name in dir(_C.nn) if not name.startswith("_"))

from .._calls.arguments import names_arguments as _names_arguments  # noqa: E402
from ._attention_helpers import (  # noqa: E402, F401
    _canonical_mask,
    _get_softmax_dim,
    _in_projection,
    _in_projection_packed,
    _none_or_dtype,
)
from ._losses import LOSSES as _LOSSES  # noqa: E402
from ._windows import (  # noqa: E402, F401
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    interpolate,
    local_response_norm,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)

globals().update(_LOSSES)


def _in_place(name):
    """The activation `name` that writes into its input."""
    function = getattr(_C.nn, name)

    def apply(input, *args, **kwargs):
        return function(input, *args, inplace=True, **kwargs)

    apply.__name__ = apply.__qualname__ = f"{name}_"
    apply.__doc__ = f"`{name}` in place."
    return apply


relu_, elu_, celu_, selu_, leaky_relu_, hardtanh_, threshold_ = map(
    _in_place, ("relu", "elu", "celu", "selu", "leaky_relu", "hardtanh", "threshold")
)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU whose slope is drawn from `U(lower, upper)` for each element in training, and is their mean otherwise."""
    if not training:
        return _C.nn.leaky_relu(input, (lower + upper) / 2, inplace)
    slope = _C.empty_like(input, requires_grad=False).uniform_(lower, upper).masked_fill_(input.detach() >= 0, 1.0)
    return input.mul_(slope) if inplace else input * slope


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """`rrelu` in place."""
    return rrelu(input, lower, upper, training, True)


def _implicit_dim(input):
    """The dimension that softmax takes if none is named; any for what is no tensor, which softmax itself refuses."""
    return 0 if getattr(input, "ndim", 0) in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """`exp(x) / Σ exp(x)` along `dim`; name it: without it is 0 or 1, by the number of dimensions."""
    return _C.nn.softmax(input, _implicit_dim(input) if dim is None else dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """[`softmax`] of `-x`."""
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """`log(softmax(x))` along `dim`, see [`softmax`]."""
    return _C.nn.log_softmax(input, _implicit_dim(input) if dim is None else dim, dtype=dtype)


@_names_arguments
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Connectionist temporal classification (Graves et al., 2006); the lengths are tensors or sequences of integers."""
    input_lengths, target_lengths = (
        lengths if isinstance(lengths, _C.Tensor) else _C.tensor(list(lengths), dtype=_C.int64)
        for lengths in (input_lengths, target_lengths)
    )
    return _C.nn.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)


@_names_arguments
def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """`triplet_margin_loss` with any `distance_function(a, b)`; it is `pairwise_distance` unless given."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss: margin={margin}, expected a number above 0")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise ValueError("triplet_margin_with_distance_loss: anchor, positive and negative must have as many dimensions as each other")
    distance = _C.nn.pairwise_distance if distance_function is None else distance_function
    far = distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    loss = (distance(anchor, positive) - far + margin).clamp(min=0)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


@_names_arguments
def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """The cross entropy of `input Wᵀ + b`, whose classes are the first dimension of `W` `(C, .., in_features)`: `target` is as for
    `cross_entropy`. PyTorch's `options`, which save memory, are not supported."""
    if options is not None:
        raise ValueError("linear_cross_entropy: options are not supported, only None")
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = _C.nn.linear(input, linear_weight.reshape(-1, linear_weight.shape[-1]), bias)
    scores = scores.reshape(*input.shape[:-1], *linear_weight.shape[:-1])
    ignored = -100 if ignore_index is None else ignore_index
    return _C.nn.cross_entropy(scores, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing)


def multi_head_attention_forward(*args, **kwargs):
    """The attention of `nn.MultiheadAttention` as a function: see `nn/attention/multihead.py`, where it is written."""
    from .attention.multihead import multi_head_attention_forward as forward

    return forward(*args, **kwargs)


def _with_indices(name):
    """The pooling `name` that gives places too, whatever `return_indices` says, as PyTorch's function of this name does."""

    def pool(*args, **kwargs):
        kwargs.pop("return_indices", None)
        return globals()[name](*args, **kwargs, return_indices=True)

    pool.__name__ = pool.__qualname__ = f"{name}_with_indices"
    pool.__doc__ = f"`{name}`, and the places of the greatest elements."
    return pool


adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices = map(
    _with_indices, ("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
)
fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices = map(_with_indices, ("fractional_max_pool2d", "fractional_max_pool3d"))


# Composed elsewhere, and imported when they are first used.
_LAZY = {"conv_tbc": "layers", "grouped_mm": "products", "native_channel_shuffle": "layers"}


def __getattr__(name: str):
    import importlib

    if name in _LAZY:
        return getattr(importlib.import_module(f".._functional.{_LAZY[name]}", __package__), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_LAZY})
