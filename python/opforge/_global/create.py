"""Functions that make tensors, with `placement` and `sbp`: `randn(4, 5, placement=.., sbp=..)`. Random numbers are those of one process."""

from __future__ import annotations

from .. import _core
from ..autograd.grad_mode import no_grad
from .convert import text

_CREATING = set(
    """
    arange empty eye full linspace logspace ones rand randint randn randperm zeros ones_like zeros_like full_like empty_like rand_like randn_like
    randint_like new_zeros new_ones new_full new_empty
    """.split()
)


def create(name, args, options):
    """The result of a function of that name, on a placement. Raises TypeError for functions that do not make tensors, and where one of both is missing."""
    placement, sbp = options.pop("placement", None), options.pop("sbp", None)
    if name not in _CREATING:
        raise TypeError(f"{name}(): got an unexpected keyword argument 'placement' (functions that make tensors take it)")
    if placement is None or sbp is None:
        raise TypeError(f"{name}(): placement and sbp are given together")
    if options.get("device") is not None:
        raise TypeError(f"{name}(): device is the placement's")
    distribution = text(name, placement, sbp)
    requires_grad = options.pop("requires_grad", False)
    function = getattr(_core, name, None) or getattr(_core.Tensor, name)
    with no_grad():
        made = _core._make_in(distribution, lambda: function(*args, **options, device=placement.device))
    return made.requires_grad_(requires_grad)
