"""Losses with the parameters `size_average` and `reduce`, which came before `reduction`, where PyTorch has them."""

from __future__ import annotations

import functools
import warnings

from .. import _core as _C
from .._calls.intercept import shown
from .._calls.tracing import is_compiling

# Their parameters, as positions count; the core knows those before `size_average` by position, and the others by name.
_PARAMETERS = """
binary_cross_entropy: input target weight size_average reduce reduction
binary_cross_entropy_with_logits: input target weight size_average reduce reduction pos_weight
cosine_embedding_loss: input1 input2 target margin size_average reduce reduction
cross_entropy: input target weight size_average ignore_index reduce reduction label_smoothing
hinge_embedding_loss: input target margin size_average reduce reduction
kl_div: input target size_average reduce reduction log_target
l1_loss: input target size_average reduce reduction weight
margin_ranking_loss: input1 input2 target margin size_average reduce reduction
mse_loss: input target size_average reduce reduction weight
multi_margin_loss: input target p margin weight size_average reduce reduction
multilabel_margin_loss: input target size_average reduce reduction
multilabel_soft_margin_loss: input target weight size_average reduce reduction
nll_loss: input target weight size_average ignore_index reduce reduction
poisson_nll_loss: input target log_input full size_average eps reduce reduction
smooth_l1_loss: input target size_average reduce reduction beta
soft_margin_loss: input target size_average reduce reduction
triplet_margin_loss: anchor positive negative margin p eps swap size_average reduce reduction
"""


def legacy_reduction(size_average, reduce):
    """The reduction that the two truth values mean, each true if it is None, with a warning that it should be named instead."""
    reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    text = f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead."
    warnings.warn(text, stacklevel=4)
    return reduction


def _with_legacy(name, parameters):
    """The loss `name` of the core with all parameters by position, and the two."""
    core, known = getattr(_C.nn, name), parameters.index("size_average")

    @functools.wraps(core)
    def loss(*args, **kwargs):
        if len(args) <= known and "size_average" not in kwargs and "reduce" not in kwargs:
            return core(*args, **kwargs)
        if len(args) > len(parameters):
            raise TypeError(f"{name}() takes up to {len(parameters)} positional arguments but {len(args)} were given")
        named = dict(zip(parameters[known:], args[known:]))
        twice = [key for key in named if key in kwargs]
        if twice:
            raise TypeError(f"{name}() got multiple values for argument '{twice[0]}'")
        options = named | kwargs
        size_average, reduce = options.pop("size_average", None), options.pop("reduce", None)
        if size_average is not None or reduce is not None:
            options["reduction"] = legacy_reduction(size_average, reduce)
        return core(*args[:known], **options)

    return shown(loss)


def _has_negative(var):
    """Whether an element is below 0. Where elements cannot be read, in graphs and on the device meta, they count as right."""
    if isinstance(var, _C.Tensor):
        return not (is_compiling() or var.is_meta) and bool((var.detach() < 0).any())
    return isinstance(var, (int, float)) and var < 0


@shown
@functools.wraps(_C.nn.gaussian_nll_loss)
def _gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean", **options):
    if _has_negative(var):
        raise ValueError("var has negative entry/entries")
    return _C.nn.gaussian_nll_loss(input, target, var, full=full, eps=eps, reduction=reduction, **options)


LOSSES = {name: _with_legacy(name, words.split()) for name, _, words in (line.partition(":") for line in _PARAMETERS.split("\n") if line)}
LOSSES["gaussian_nll_loss"] = _gaussian_nll_loss
